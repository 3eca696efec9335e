"""Where nodes stand in a graph: eigenvectors of its Laplacian, which are to a graph what sinusoids are to a line."""
# N nodes  K eigenvectors  M nodes of an island

import numpy as np
import numpy.typing as npt

from seqloom.data.graph.graph import Floats, Graph
from seqloom.data.ragged import Longs
from seqloom.settings import UserError

MOST = 5000
"""Nodes of an island: all its eigenvectors are worked out, in a time that grows with the cube."""
NOTHING = 1e-2
"""Of a vector's largest number; smaller ones may be 0 but for rounding, and do not choose its sign."""

Doubles = npt.NDArray[np.float64]


def laplacian_positions(graph: Graph, vectors: int) -> Floats:
    """position_NK: the eigenvectors of I - D^(-1/2) A D^(-1/2) with the smallest eigenvalues above 0.

    Dwivedi and Bresson 2021, section 3.1. A has 1 for nodes that an edge joins, whatever its direction; no node is its
    own neighbour. Each island has its own vectors; one of fewer nodes than it takes has zeros instead. An
    eigenvector may be turned around: here its first number that is not small is positive.
    """
    node_N = np.argsort(graph.island_N, kind="stable")
    size_I = np.bincount(graph.island_N)
    if size_I.max(initial=0) > MOST:
        raise UserError(
            f"task.positions: {size_I.max():,} nodes of the graph hang together, and Laplacian positions are worked "
            f"out for up to {MOST:,}; do without: --set task.positions.kind=none"
        )
    place_N = np.empty(len(graph), np.int64)
    place_N[node_N] = np.arange(len(graph)) - np.repeat(np.cumsum(size_I) - size_I, size_I)
    position_NK = np.zeros((len(graph), vectors), np.float32)
    of_edge_E = graph.island_N[graph.source_E]
    edge_E = np.argsort(of_edge_E, kind="stable")
    edges = np.split(edge_E, np.cumsum(np.bincount(of_edge_E, minlength=len(size_I)))[:-1])
    for nodes, own in zip(np.split(node_N, np.cumsum(size_I)[:-1]), edges, strict=True):
        ends = place_N[graph.source_E[own]], place_N[graph.target_E[own]]
        found_MK = _of_island(len(nodes), *ends, vectors)
        position_NK[nodes, : found_MK.shape[1]] = found_MK
    return position_NK


def _of_island(nodes: int, source_E: Longs, target_E: Longs, vectors: int) -> Doubles:
    joined_MM = np.zeros((nodes, nodes))
    joined_MM[source_E, target_E] = joined_MM[target_E, source_E] = 1
    np.fill_diagonal(joined_MM, 0)
    root_M = np.sqrt(np.maximum(joined_MM.sum(0), 1))
    found_MM = np.linalg.eigh(np.eye(nodes) - joined_MM / root_M / root_M[:, None])[1]
    kept_MK = found_MM[:, 1 : 1 + vectors]  # what hangs together has the eigenvalue 0 once
    large_MK = np.abs(kept_MK) > NOTHING * np.abs(kept_MK).max(0)
    first_K = kept_MK[large_MK.argmax(0), np.arange(kept_MK.shape[1])]
    return kept_MK * np.where(first_K < 0, -1, 1)
