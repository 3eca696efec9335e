"""Labels of a graph's nodes, which are asked for by their ids."""
# N nodes  V labels

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor

from seqloom.generation.contract import Item
from seqloom.generation.no_numbers import refuse_no_numbers
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Piece, Question, Scored
from seqloom.jobs.answering.wishes import refuse_wishes
from seqloom.jobs.answering.writing import Prepared
from seqloom.models.build import Model as Network
from seqloom.models.encoder_only import EncoderOnly
from seqloom.settings import UserError
from seqloom.settings.words import nearest, show
from seqloom.tasks.nodes import NodesTask

MOST = 50_000
"""Nodes that are read at once, where the graph has parts that no edge joins."""


@torch.no_grad()
def probabilities(task: NodesTask, networks: Sequence[Network], device: torch.device) -> Tensor:
    """p_NV of all nodes; of several networks the mean."""
    p_NV = torch.zeros(len(task.graph), len(task.labels))
    for node_M, side in task.sides(MOST):
        source, each = side.to(device), list[Tensor]()
        for network in networks:
            assert isinstance(network, EncoderOnly)
            scores = network.scores(network(source.tokens_N, source.layout)).float()
            refuse_no_numbers(scores)
            each.append(scores.softmax(-1))
        p_NV[torch.from_numpy(node_M)] = torch.stack(each).mean(0).cpu()
    return p_NV


class NodeLabeller:
    """Of the graph that the model was trained with, all of which is read at the first question."""

    def __init__(self, task: NodesTask, networks: Sequence[Network], device: torch.device) -> None:
        self.task, self.networks, self.device = task, networks, device
        self._numbers = {name: number for number, name in enumerate(task.graph.ids)}

    @cached_property
    def found_NV(self) -> Tensor:
        """The probabilities of all nodes."""
        return probabilities(self.task, self.networks, self.device)

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        refuse_wishes(question, "a label is chosen")
        name = question.source
        if not isinstance(name, str):
            raise UserError("a node is asked for by its id, a text, not by a list")
        if name.strip() not in self._numbers:
            near = nearest(name.strip(), self._numbers)
            fix = f"did you mean {near!r}?" if near else f"there are {len(self._numbers):,}, such as {self._some()}"
            raise UserError(f"the graph that the model was trained with has no node {show(name)}; {fix}")
        return Prepared(number, question, Item([self._numbers[name.strip()]], number, 0))

    def _some(self) -> str:
        return ", ".join(map(repr, self.task.graph.ids[:3]))

    def answer(
        self, asked: Sequence[Prepared], settings: GenerationSettings, attention: bool = False
    ) -> Iterator[tuple[int, list[Answer]]]:
        """Each number with its likeliest labels, best first."""
        names = self.task.labels.names
        for one in asked:
            best = self.found_NV[one.tokens[0]].topk(min(settings.n_best, len(names)))
            pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
            yield one.number, [self._answer(names[label], label, share) for share, label in pairs]

    def _answer(self, name: str, label: int, share: float) -> Answer:
        log_prob = math.log(share) if share > 0 else -math.inf
        return Answer(name, share, log_prob, (Piece(name, log_prob),), (label,))

    def score(self, pairs: Sequence[tuple[str, str | Answer | None]]) -> list[Scored]:
        return [self._scored(*pair) for pair in pairs]

    def _scored(self, name: str, label: str | Answer | None) -> Scored:
        if label is None:
            raise UserError("score needs a label too: score(id, label)")
        node = self.prepare(Question(name), 0, GenerationSettings()).tokens[0]
        (number,) = self.task.labels.encode([str(label)])
        log_prob = math.log(max(float(self.found_NV[node, number]), 1e-45))
        return Scored(log_prob, (Piece(str(label), log_prob),))
