"""One label for each node of a graph, of which only some are known."""
# N nodes  F features  E edges

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.graph import Graph
from seqloom.data.ragged import Longs
from seqloom.layers.layout import Edges
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import sequence_loss
from seqloom.tasks.settings import Nodes
from seqloom.tasks.subgraph import Subgraphs
from seqloom.tasks.task import Goals, Task
from seqloom.text import Labels

TINY = np.finfo(np.float32).tiny


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
        return examples

    def sizes(self) -> Sizes:
        return Sizes(self.graph.features, len(self.labels))

    @property
    def neighbours(self) -> float:
        """That a node sees, on average."""
        return len(self._edges.row_E) / max(len(self.graph), 1)

    def batch(self, examples: Examples) -> Batch:
        target = examples.columns["target"]
        count = int((target.values_N >= 0).sum())
        return Batch(examples, self._side(examples.columns["source"].values_N), None, goals(target), count)

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

    def _side(self, node_M: Longs) -> Side:
        return self._whole if len(node_M) == len(self.graph) and self.whole else self._subgraphs.side(node_M)

    @property
    def whole(self) -> bool:
        """Whether the graph is one batch."""
        return self.settings.batches == "whole"

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, EncoderOnly)
        source = batch.source
        assert source is not None
        return sequence_loss(model, lambda: model(source.tokens_N, source.layout), batch, goals)

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
