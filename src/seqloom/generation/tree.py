"""What a search considered on its way, as it happened: every candidate of every step, kept or not, and what ended."""
# A = 1 item  K hypotheses  C candidates  E that end

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from seqloom.generation.beam import NOTHING, Candidates
from seqloom.generation.contract import Written
from seqloom.generation.length import penalty
from seqloom.generation.settings import LengthSettings


@dataclass(frozen=True)
class Node:
    """A token behind the tokens of its parents. kept: it was followed. finished: an answer ended here."""

    id: int
    parent: int | None
    step: int
    token: int
    log_prob: float
    total: float
    """Of the log_probs from the beginning to here."""
    group: int
    """Of a diverse beam; 0 where there are none."""
    kept: bool
    finished: bool


@dataclass(frozen=True)
class Ending:
    """An answer that ended at a node, or was cut behind it. score = total / penalty(length) + coverage."""

    node: int | None
    total: float
    length: int
    """Tokens, the end mark included."""
    score: float
    coverage: float
    ended: bool


class Tree:
    """Of one search for one item. Filled by `Writing`; reading the numbers off the device costs what it costs."""

    def __init__(self, length: LengthSettings) -> None:
        self.length = length
        self.nodes: list[Node] = []
        self.endings: list[Ending] = []
        self._rows: list[int | None] = []  # the node at which each hypothesis stands
        self._before: list[int | None] = []  # and stood before the last step
        self._step = 0

    def step(self, considered: Candidates, going: Candidates, ended: Candidates, score_AC: Tensor, groups: int) -> None:
        """One step of the only item: what was considered, what of it goes on, and what ended with which scores."""
        follows, ends = _real(going), _real(ended)
        size = max(1, going.total_AC.shape[1] // groups)
        known: dict[tuple[int, int], int] = {}
        for (origin, token), (log_prob, total, _) in _real(considered).items():
            known[origin, token] = len(self.nodes)
            parent = self._rows[origin] if self._rows else None
            kept, finished = (origin, token) in follows, (origin, token) in ends
            node = len(self.nodes), parent, self._step, token, log_prob, total, origin // size, kept, finished
            self.nodes.append(Node(*node))
        self._step += 1
        scores = score_AC[0].tolist()
        for key, (_, total, place) in ends.items():
            self._end(known[key], total, self._step, scores[place], ended=True)
        rows: list[int | None] = [None] * going.total_AC.shape[1]
        for key, (_, _, place) in follows.items():
            rows[place] = known[key]
        self._before, self._rows = self._rows, rows

    def cut(self, origin_E: Sequence[int], total_E: Sequence[float], score_E: Sequence[float], steps: int) -> None:
        """Hypotheses as they stood before this step: nothing may follow them."""
        for origin, total, score in zip(origin_E, total_E, score_E, strict=True):
            node = self._before[origin] if self._before else None
            self._end(node, total, max(1, steps), score, ended=False)

    def _end(self, node: int | None, total: float, length: int, score: float, ended: bool) -> None:
        coverage = score - total / penalty(self.length, float(length))
        self.endings.append(Ending(node, total, length, score, coverage, ended))

    def tokens(self, ending: Ending) -> tuple[int, ...]:
        """Of an answer, without the end mark."""
        found, at = list[int](), ending.node
        while at is not None:
            found.append(self.nodes[at].token)
            at = self.nodes[at].parent
        whole = tuple(reversed(found))
        return whole[:-1] if ending.ended else whole

    def place(self, written: Written) -> int:
        """Which of the endings an answer of this search is; of equal texts the one that it was ranked by."""
        alike = [
            place
            for place, ending in enumerate(self.endings)
            if ending.ended == written.ended and self.tokens(ending) == written.tokens
        ]
        return max(alike, key=lambda place: self.endings[place].score)


def _real(candidates: Candidates) -> dict[tuple[int, int], tuple[float, float, int]]:
    """Of places that hold something: origin and token, with the log_prob, the total and the place."""
    parts = (part[0].tolist() for part in (candidates.origin_AC, candidates.token_AC))
    numbers = (part[0].tolist() for part in (candidates.log_prob_AC, candidates.total_AC))
    each = enumerate(zip(*parts, *numbers, strict=True))
    return {
        (origin, token): (log_prob, total, place) for place, (origin, token, log_prob, total) in each if total > NOTHING
    }
