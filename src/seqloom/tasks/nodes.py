"""One label for each node of a graph, of which only some are known."""
# N nodes  F features  E edges

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.graph import Graph
from seqloom.data.graph.graph import Floats
from seqloom.data.graph.laplacian import laplacian_positions
from seqloom.data.ragged import Longs, Ragged
from seqloom.layers.layout import Edges
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import over_source, sequence_loss
from seqloom.tasks.settings import Laplacian, Nodes
from seqloom.tasks.subgraph import Subgraphs
from seqloom.tasks.task import Goals, Task
from seqloom.text import Labels

TINY = np.finfo(np.float32).tiny


SEED = "seed"
"""A column that training adds: what the signs of an example's positions are drawn by."""


def vectors_of(settings: Nodes) -> int:
    """How many numbers say where a node stands."""
    return settings.positions.vectors if isinstance(settings.positions, Laplacian) else 0


def placed(graph: Graph, settings: Nodes, known: Graph | None = None) -> Graph:
    """The graph with the positions that the task wants. known: one whose positions are taken, where it is the same."""
    vectors = vectors_of(settings)
    if not vectors:
        return replace(graph, position_NK=None)
    kept_NK = None if known is None or not _same(graph, known) else known.position_NK
    if kept_NK is None or kept_NK.shape[1] != vectors:
        kept_NK = laplacian_positions(graph, vectors)
    return replace(graph, position_NK=kept_NK)


def _same(graph: Graph, other: Graph) -> bool:
    """Whether the same nodes are joined."""
    ends = (graph.source_E, other.source_E), (graph.target_E, other.target_E)
    return graph.ids == other.ids and all(np.array_equal(one, another) for one, another in ends)


class NodesTask(Task):
    """The whole graph is one sequence, in training and later; only the goals are those of a part of its nodes.
    In training and validation, it may also be read in parts that no edge joins.

    The graph belongs to the run, as the vocabulary of a text does: an example says which nodes are asked for.
    """

    shape = "tags"
    columns = ("source", "target")
    scores = ("loss", "accuracy")

    def __init__(self, settings: Nodes, codecs: Codecs) -> None:
        assert isinstance(codecs.target, Labels)
        assert codecs.graph is not None
        self.settings, self.codecs, self.labels = settings, codecs, codecs.target
        self.graph: Graph = codecs.graph
        kept = 0 if self.graph.position_NK is None else self.graph.position_NK.shape[1]
        assert kept == vectors_of(settings)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "encoder-only":
            return f"nodes reads a graph and labels its nodes: it needs an encoder-only model, not {model.family}"
        if model.input.kind != "features" or model.output.kind != "tags":
            return (
                "it reads features and writes tags (input.kind = 'features', output.kind = 'tags'), and the model "
                f"reads {model.input.kind}, writes {model.output.kind}"
            )
        if model.output.chain:
            return "nodes of a graph do not follow each other, as words do: set output.chain = false"
        return None

    @property
    def marks(self) -> int:
        return 0

    def vary(self, examples: Examples, seeds: Sequence[int], longest: int | None) -> Examples:
        """An eigenvector's sign is chance: in training, each island's are turned around by chance.

        The authors' code turns those of all graphs of a batch together.
        """
        if not vectors_of(self.settings):
            return examples
        seed = Ragged.of(np.array(seeds, np.uint64), np.ones(len(seeds), np.int64))
        return replace(examples, columns={**examples.columns, SEED: seed})

    def sizes(self) -> Sizes:
        return Sizes(self.graph.features + vectors_of(self.settings), len(self.labels))

    @property
    def neighbours(self) -> float:
        """That a node sees, on average."""
        return len(self._edges.row_E) / max(len(self.graph), 1)

    def batch(self, examples: Examples) -> Batch:
        target, node_M = examples.columns["target"], examples.columns["source"].values_N
        if SEED in examples.columns:
            source = self._subgraphs.side(node_M, self._signs(examples))
        else:
            source = self._whole if self.whole else self._subgraphs.side(node_M)
        return Batch(examples, source, None, goals(target), int((target.values_N >= 0).sum()))

    def _signs(self, examples: Examples) -> Floats:
        """sign_MK: -1 or 1 of each vector; the same for all nodes of an island."""
        nodes, each = examples.columns["source"], []
        for row, seed in enumerate(examples.columns[SEED].values_N.tolist()):
            islands, place_M = np.unique(self.graph.island_N[nodes[row]], return_inverse=True)
            draw = np.random.Generator(np.random.Philox(seed))
            sign_IK = draw.choice(np.array([-1, 1], np.float32), (len(islands), vectors_of(self.settings)))
            each.append(sign_IK[place_M])
        return np.concatenate(each)

    def side(self) -> Side:
        """All of the graph."""
        return self._whole

    def sides(self, most: int) -> Iterator[tuple[Longs, Side]]:
        """All of the graph, where it is read in parts so many nodes at a time, and which nodes these are."""
        if self.whole:
            yield np.arange(len(self.graph)), self._whole
            return
        node_N = np.argsort(self.graph.island_N, kind="stable")
        end_I = np.cumsum(np.bincount(self.graph.island_N))  # an island is never cut
        for node_M in np.split(node_N, end_I[:-1][np.diff(end_I // most) > 0]):
            yield node_M, self._subgraphs.side(node_M)

    @property
    def whole(self) -> bool:
        """Whether the graph is one batch."""
        return self.settings.batches == "whole"

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, EncoderOnly)
        return sequence_loss(model, over_source(model), batch, goals)

    @cached_property
    def _whole(self) -> Side:
        return self._subgraphs.side(np.arange(len(self.graph)))

    @cached_property
    def _subgraphs(self) -> Subgraphs:
        graph = self.graph
        value_P = graph.value_P
        if self.settings.normalise == "rows":
            sum_N = np.bincount(graph.row_P, np.abs(value_P), len(graph)).astype(np.float32)
            value_P = (value_P / np.maximum(sum_N[graph.row_P], TINY)).astype(np.float32)
        return Subgraphs(graph, value_P, self._edges)

    @cached_property
    def _edges(self) -> Edges:
        """Who reads whom: a target its source; both of them each other, where edges have no direction."""
        source_E, target_E = torch.from_numpy(self.graph.source_E), torch.from_numpy(self.graph.target_E)
        query, key = [target_E], [source_E]
        if not self.settings.directed:
            query, key = [target_E, source_E], [source_E, target_E]
        if self.settings.self_loops:
            every = torch.arange(len(self.graph))
            query, key = [*query, every], [*key, every]
        query_E, key_E = torch.cat(query), torch.cat(key)
        return Edges.of(torch.zeros_like(query_E), query_E, key_E)
