"""An answer as it is written: each token as soon as it is sure, with what else could have been there."""
# K hypotheses  R rows  V tokens

import math
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from seqloom.generation.beam import NOTHING
from seqloom.generation.contract import Item, Scorer, Written
from seqloom.generation.tree import Tree
from seqloom.generation.writing import Writing
from seqloom.jobs.answering.reranking import candidates_of
from seqloom.jobs.look import Look
from seqloom.jobs.looking.documents import Option, Step
from seqloom.jobs.looking.question import changes_target, prepared
from seqloom.jobs.looking.subject import ALTERNATIVES, places
from seqloom.jobs.looking.writing import changed_scorer, written_subject
from seqloom.text import END, Vocabulary

Ids = tuple[int, ...]
TREE = "tree"
"""Under which a look keeps the search for its answer: the tree, the winner's place, what was asked."""


def searched(look: Look, prefix: Sequence[int] = ()) -> Iterator[Step | None]:
    """Write the answer, if nobody did yet; then the look has it. None: a step that made nothing sure.

    Nothing hangs on the model between two steps: others may use it then. What is not written token by token, and what
    is only known at the end, comes without steps.
    """
    writer, known = look.model.writer, "subject" in vars(look)
    if known or writer is None or look.request.target is not None or (changes_target(look) and not prefix):
        return
    asked, settings = prepared(look, writer, prefix), look.settings
    assert asked.item is not None
    scorer = Telling(changed_scorer(writer, asked.item, settings, look.inner))
    tree = Tree(settings.length) if settings.sample is None and settings.rerank is None else None
    writing = Writing(scorer, candidates_of(settings), settings.replace_unknown, tree)
    writing.begin([asked.item])
    tells = settings.rerank is None and not settings.replace_unknown and writing.samples == 1
    steps = Steps(scorer, asked.item, writer.target)
    while True:
        before = _hypotheses(writing)
        with look.model.named():
            complete = writing.step()
        steps.keep(before)
        if complete:
            break
        new = steps.sure(writing) if tells else []
        yield from new
        if not new:
            yield None
    found = writing.answers(complete[0])
    if tree is not None:
        look.kept[TREE] = tree, tree.place(found[0]), asked
    if tells:
        yield from steps.rest(found[0])
    answer = writer.said(asked, found, settings)[0]
    look.subject = written_subject(writer, asked, answer, forced=False)


class Telling:
    """A scorer that remembers what it said last."""

    def __init__(self, inner: Scorer) -> None:
        self.inner, self.begin, self.end, self.size = inner, inner.begin, inner.end, inner.size
        self.last_RV: Tensor | None = None

    def start(self, items: Sequence[Item]) -> tuple[Any, Tensor]:
        return self.inner.start(items)

    def step(self, last_R: Tensor, state: Any, attention: bool) -> tuple[Tensor, Tensor | None, Any]:
        self.last_RV, attention_RS, state = self.inner.step(last_R, state, attention)
        return self.last_RV, attention_RS, state


class Steps:
    """What could be said behind each beginning that is still possible."""

    def __init__(self, scorer: Telling, item: Item, vocabulary: Vocabulary) -> None:
        self.scorer, self.item, self.vocabulary = scorer, item, vocabulary
        self._options: dict[Ids, list[tuple[int, float]]] = {}
        self._told: Ids = ()

    def keep(self, before: Sequence[Ids | None]) -> None:
        """Of each hypothesis as it stood, the likeliest tokens behind it."""
        assert self.scorer.last_RV is not None
        best = self.scorer.last_RV.topk(min(ALTERNATIVES, self.scorer.size), -1)
        for row, tokens in enumerate(before):
            if tokens is not None:
                chances = best.values[row].exp().tolist()
                self._options[tokens] = list(zip(best.indices[row].tolist(), chances, strict=True))

    def sure(self, writing: Writing) -> list[Step]:
        """The steps that no hypothesis can undo any more, and that were not told."""
        tokens = tuple(writing.sure())
        if len(tokens) <= len(self._told):
            return []
        row = next(row for row, ids in enumerate(_hypotheses(writing)) if ids is not None)
        log_probs = writing.hypotheses.log_probs_AKT[0, row, : len(tokens)].tolist()
        return self._steps(tokens, log_probs)

    def rest(self, written: Written) -> list[Step]:
        """What was not told of the answer; its end mark too."""
        tokens = (*written.tokens, END) if written.ended else written.tokens
        return self._steps(tokens, written.log_probs)

    def _steps(self, tokens: Ids, log_probs: Sequence[float]) -> list[Step]:
        new = [
            self._step(tokens[:place], tokens[place], log_probs[place]) for place in range(len(self._told), len(tokens))
        ]
        self._told = tokens
        self._options = {ids: options for ids, options in self._options.items() if len(ids) >= len(tokens)}
        return new

    def _step(self, before: Ids, token: int, log_prob: float) -> Step:
        options = self._options.get(before, [])
        alternatives = (Option(places([id], self.vocabulary)[0], chance) for id, chance in options if chance > 0)
        return Step(places([token], self.vocabulary)[0], math.exp(log_prob), tuple(alternatives))


def _hypotheses(writing: Writing) -> list[Ids | None]:
    """The tokens of each of the first item; None: a place that holds nothing."""
    h, steps = writing.hypotheses, writing.steps[0]
    rows = h.tokens_AKT[0, :, :steps].tolist()
    return [tuple(ids) if total > NOTHING else None for ids, total in zip(rows, h.total_AK[0].tolist(), strict=True)]
