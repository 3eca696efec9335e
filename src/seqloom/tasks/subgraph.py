"""Some nodes of a graph, as a model reads them: their features, and the edges among them."""
# N nodes of the graph  M nodes that are taken  P features that are not 0  E edges  K eigenvectors  Q positions not 0

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from seqloom.data.graph.graph import Floats, Graph
from seqloom.data.ragged import Longs
from seqloom.layers.layout import Edges, Packed, with_edges
from seqloom.tasks.batch import Side


@dataclass(frozen=True)
class Rows:
    """What belongs to each node, node after node: that of node n stands at begin_N1[n] … begin_N1[n + 1]."""

    begin_N1: Longs

    @classmethod
    def of(cls, node_P: Longs, nodes: int) -> Self:
        """node_P: whom each belongs to, in order."""
        return cls(np.searchsorted(node_P, np.arange(nodes + 1)))

    def of_nodes(self, node_M: Longs) -> tuple[Longs, Longs]:
        """Where what belongs to these nodes stands, and the place of each one's node among them."""
        begin_M = self.begin_N1[node_M]
        count_M = self.begin_N1[node_M + 1] - begin_M
        place_P = np.repeat(np.arange(len(node_M)), count_M)
        first_M = np.cumsum(count_M) - count_M
        return np.arange(len(place_P)) + (begin_M - first_M)[place_P], place_P


class Subgraphs:
    """Takes nodes out of a graph in time that grows with what is taken. No edge may lead out of them."""

    def __init__(self, graph: Graph, value_P: Floats, edges: Edges) -> None:
        """value_P: what is read of graph.value_P."""
        self.graph = graph
        order_P = np.lexsort((graph.column_P, graph.row_P))
        self.column_P, self.value_P = graph.column_P[order_P], value_P[order_P]
        self.features = Rows.of(graph.row_P[order_P], len(graph))
        self.key_E = edges.key_E.numpy()
        self.reads = Rows.of(edges.query_E.numpy(), len(graph))  # edges stand in the order of who reads

    def side(self, node_M: Longs, sign_MK: Floats | None = None) -> Side:
        """sign_MK: of the nodes' positions; None: as they are."""
        at_E, query_E = self.reads.of_nodes(node_M)
        place_N = np.zeros(len(self.graph), np.int64)
        place_N[node_M] = np.arange(len(node_M))
        query, key = torch.from_numpy(query_E), torch.from_numpy(place_N[self.key_E[at_E]])
        edges = Edges(torch.zeros_like(query), query, key)
        return Side(self._features(node_M, sign_MK), with_edges(Packed.of([len(node_M)]), edges))

    def _features(self, node_M: Longs, sign_MK: Floats | None) -> Tensor:
        """Positions are further features, so that one map reads both: as in the paper, the sum of two."""
        at_P, row_P = self.features.of_nodes(node_M)
        column_P, value_P, columns = self.column_P[at_P], self.value_P[at_P], self.graph.features
        if self.graph.position_NK is not None:
            position_MK = self.graph.position_NK[node_M]
            position_MK = position_MK if sign_MK is None else position_MK * sign_MK
            place_Q, vector_Q = position_MK.nonzero()
            row_P, column_P = np.append(row_P, place_Q), np.append(column_P, columns + vector_Q)
            value_P, columns = np.append(value_P, position_MK[place_Q, vector_Q]), columns + position_MK.shape[1]
        places, shape = torch.from_numpy(np.stack((row_P, column_P))), (len(node_M), columns)
        sparse = torch.sparse_coo_tensor(places, torch.from_numpy(value_P), shape, check_invariants=True).coalesce()
        return sparse.to_dense() if self.graph.dense else sparse
