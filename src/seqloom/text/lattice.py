"""All ways to cut words into pieces, for many words at once."""
# W words  N nodes: the places before, between and behind the characters  E edges: pieces from one node to another

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Short = NDArray[np.int32]  # there are millions of edges
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """The edges that meet a node at one place of their words, grouped by node."""

    edges: Short
    groups: Ints  # where each node's edges begin
    nodes: Short


class Lattice:
    """Nodes and edges of words that lie in a long row of characters."""

    def __init__(self, pieces_at: Short, starts: Ints, lengths: Ints, whole: bool = True) -> None:
        """`pieces_at[i, n - 1]`: the piece of n characters from i on, or -1. `whole` false: no word is one piece."""
        self.first = np.cumsum(lengths + 1) - lengths - 1  # each word's first node
        self.last = self.first + lengths
        word = np.repeat(np.arange(len(lengths)), lengths)
        place = np.arange(len(word)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        found = pieces_at[starts[word] + place]
        long = np.arange(1, found.shape[1] + 1)
        left = (lengths[word] - place)[:, None]
        fits = (found >= 0) & (long <= left)
        if not whole:
            fits &= (long < left) | (place > 0)[:, None]
        row, column = np.nonzero(fits)
        self.piece: Short = found[row, column]
        self.word: Short = word[row].astype(np.int32)
        self.source: Short = (self.first[self.word] + place[row]).astype(np.int32)
        self.goal: Short = self.source + (column + 1).astype(np.int32)
        offset = place[row]
        self.forward = _stages(offset + column + 1, self.goal)
        self.backward = _stages(offset, self.source)[::-1]

    def expected(self, scores: Floats, counts: Floats) -> Floats:
        """How often each piece is used, over all ways to cut weighted by their probability (forward, backward)."""
        edge = scores[self.piece]
        before, behind = self._nodes(self.first), self._nodes(self.last)
        for stage in self.forward:
            before[stage.nodes] = _log_sum(before[self.source[stage.edges]] + edge[stage.edges], stage.groups)
        for stage in self.backward:
            behind[stage.nodes] = _log_sum(behind[self.goal[stage.edges]] + edge[stage.edges], stage.groups)
        share = np.exp(before[self.source] + edge + behind[self.goal] - before[self.last][self.word])
        return np.bincount(self.piece, share * counts[self.word], len(scores)).astype(np.float64)

    def best(self, scores: Floats) -> Floats:
        """The score of each word's best cut (Viterbi); -∞ where there is none."""
        edge, before = scores[self.piece], self._nodes(self.first)
        for stage in self.forward:
            paths = before[self.source[stage.edges]] + edge[stage.edges]
            before[stage.nodes] = np.maximum.reduceat(paths, stage.groups)
        return before[self.last]

    def _nodes(self, zero: Ints) -> Floats:
        nodes = np.full(int(self.last[-1]) + 1, -np.inf)
        nodes[zero] = 0
        return nodes


def _stages(place: Ints, node: Short) -> list[Stage]:
    order = np.lexsort((node, place)).astype(np.int32)
    cuts = np.flatnonzero(np.diff(place[order])) + 1
    stages = []
    for edges in np.split(order, cuts):
        groups = np.flatnonzero(np.diff(node[edges], prepend=-1))
        stages.append(Stage(edges, groups, node[edges][groups]))
    return stages


def _log_sum(x: Floats, groups: Ints) -> Floats:
    highest = np.maximum.reduceat(x, groups)
    sizes = np.diff(groups, append=len(x))
    return highest + np.log(np.add.reduceat(np.exp(x - np.repeat(highest, sizes)), groups))
