"""What is looked at: an example as the model reads it, and the words that belong to its numbers."""
# T positions  V vocabulary

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqloom.inspect.trace import Example
from seqloom.jobs.answering.tags_of import tags_of
from seqloom.jobs.looking.documents import AnswerDocument, Loss, Option, Place, Step, TokenLoss
from seqloom.layers.chain import Links
from seqloom.text import Vocabulary

ALTERNATIVES = 5


@dataclass(frozen=True)
class Subject:
    """source, target, written: what stands at each position of these axes. vocabulary: names of what is scored.

    said: the answer, of what the model says of the example. begins: where the answer begins among what is written.
    forced: a target was given.
    """

    example: Example
    said: Callable[[Tensor], AnswerDocument]
    vocabulary: Callable[[], Sequence[str]]
    source: tuple[Place, ...] = ()
    target: tuple[Place, ...] = ()
    written: tuple[Place, ...] = ()
    begins: int = 0
    forced: bool = False
    notes: tuple[str, ...] = ()
    """What whoever looks should know."""
    rows: tuple[int, ...] | None = None
    """Positions that the answer is read from: one a word, one a gap; None: all, from where the answer begins."""
    links: Links | None = None
    """Of a model whose tags hang on each other: the loss is that of all of them together."""

    def loss(self, scores: Tensor) -> Loss | None:
        """Of the target, if one was given; scores_TV, or scores_V of one label for all."""
        if not self.forced or self.example.goal is None:
            return None
        goal_T = self.example.goal.cpu()
        rows_TV = (scores if scores.dim() == 2 else scores[None]).float()
        counted = [row for row in range(self.begins, len(goal_T)) if goal_T[row] >= 0]
        names, labels = self.vocabulary(), [int(goal_T[row]) for row in counted]
        (found,) = tags_of([rows_TV[counted].log_softmax(-1)], self.links, [labels])
        each = tuple(
            TokenLoss(Place(names[label], label), -log_prob, math.exp(log_prob))
            for label, log_prob in zip(labels, found.each, strict=True)
        )
        return Loss(-found.log_prob / max(len(each), 1), -found.log_prob, each)


def places(ids: Sequence[int], vocabulary: Vocabulary) -> tuple[Place, ...]:
    """▁ is a space; marks are in <>."""
    return tuple(Place(text, id) for text, id in zip(vocabulary.pieces(ids), ids, strict=True))


def steps(scores_TV: Tensor, goal: Sequence[int], vocabulary: Vocabulary) -> tuple[Step, ...]:
    """Each token of an answer, with what the model found likeliest in its place."""
    chances_TV = scores_TV.float().softmax(-1)
    best = chances_TV.topk(min(ALTERNATIVES, chances_TV.shape[-1]), -1)
    made = []
    for row, id in enumerate(goal):
        options = zip(places(best.indices[row].tolist(), vocabulary), best.values[row].tolist(), strict=True)
        alternatives = tuple(Option(token, chance) for token, chance in options)
        made.append(Step(places([id], vocabulary)[0], float(chances_TV[row, id]), alternatives))
    return tuple(made)


def tokens(ids: Sequence[int]) -> Tensor:
    return torch.tensor(list(ids), dtype=torch.int64)


def with_loss(answer: AnswerDocument, loss: Loss | None, notes: tuple[str, ...] = ()) -> AnswerDocument:
    return replace(answer, loss=loss, notes=notes)
