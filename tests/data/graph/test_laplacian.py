"""Laplacian positions: against what is known of paths, the equation itself, and a graph's parts."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from seqloom.data.graph import Graph, laplacian
from seqloom.data.graph.laplacian import laplacian_positions
from seqloom.settings import UserError


def graph_of(nodes: int, edges: list[tuple[int, int]]) -> Graph:
    ends, none = np.array(edges, np.int64).reshape(-1, 2), np.zeros(0, np.int64)
    ids = tuple(f"n{node}" for node in range(nodes))
    value_P = np.zeros(0, np.float32)
    return Graph(ids, ("",) * nodes, ("other",) * nodes, none, none, value_P, 1, ends[:, 0], ends[:, 1])


def path(nodes: int) -> list[tuple[float, list[float]]]:
    """Eigenvalues 1 - cos(πk / (n - 1)), vectors √degree · cos(πkj / (n - 1)) (Chung 1997, example 1.4)."""
    found = []
    for k in range(1, nodes):
        wave = [math.cos(math.pi * k * j / (nodes - 1)) * (1 if j in (0, nodes - 1) else 2**0.5) for j in range(nodes)]
        norm = math.sqrt(sum(x * x for x in wave))
        found.append((1 - math.cos(math.pi * k / (nodes - 1)), [x / norm for x in wave]))
    return found


def test_of_a_path() -> None:
    """Some edges stand there twice, in the other direction or lead to their own node: they change nothing."""
    edges = [*pairwise(range(9)), (3, 2), (4, 4)]
    found = laplacian_positions(graph_of(9, edges), 5)
    for vector, (_, wanted) in zip(found.T, path(9)[:5], strict=True):
        np.testing.assert_allclose(vector, wanted, atol=1e-6)  # whose first number is positive


def test_parts_have_vectors_of_their_own_and_small_ones_zeros() -> None:
    """A path of 4, a pair and a node alone, mixed."""
    found = laplacian_positions(graph_of(7, [(0, 2), (2, 4), (4, 6), (1, 5)]), 4)
    for vector, (_, wanted) in zip(found[[0, 2, 4, 6], :3].T, path(4), strict=True):
        np.testing.assert_allclose(vector, wanted, atol=1e-6)
    np.testing.assert_allclose(found[[1, 5]], [[0.5**0.5, 0, 0, 0], [-(0.5**0.5), 0, 0, 0]], atol=1e-6)
    assert not found[3].any()
    assert not found[:, 3].any()


def test_the_equation_holds_for_the_smallest_eigenvalues() -> None:
    draw = np.random.default_rng(1)
    edges = [*pairwise(range(30)), *((int(a), int(b)) for a, b in draw.integers(0, 30, (40, 2)))]
    joined = np.zeros((30, 30))
    for one, other in edges:
        joined[one, other] = joined[other, one] = one != other
    degree = joined.sum(0)
    laplace = np.array(
        [[(i == j) - joined[i, j] / math.sqrt(degree[i] * degree[j]) for j in range(30)] for i in range(30)]
    )
    values = np.sort(np.linalg.eigvals(laplace).real)
    found = laplacian_positions(graph_of(30, edges), 6).astype(np.float64)
    np.testing.assert_allclose(laplace @ found, found * values[1:7], atol=1e-5)
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-5)


def test_they_are_kept_with_the_graph(tmp_path: Path) -> None:
    plain = graph_of(3, [(0, 1), (1, 2)])
    placed = Graph(**{**vars(plain), "position_NK": laplacian_positions(plain, 2)})
    assert placed.fingerprint != plain.fingerprint
    for graph in (plain, placed):
        graph.save(tmp_path)
        again = Graph.load(tmp_path)
        assert again.fingerprint == graph.fingerprint
    assert again.position_NK is not None
    assert placed.position_NK is not None
    assert again.position_NK.tobytes() == placed.position_NK.tobytes()


def test_too_many_nodes_that_hang_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplacian, "MOST", 3)
    laplacian_positions(graph_of(6, [(0, 1), (1, 2), (3, 4), (4, 5)]), 2)
    with pytest.raises(UserError) as found:
        laplacian_positions(graph_of(5, list(pairwise(range(5)))), 2)
    assert str(found.value) == (
        "task.positions: 5 nodes of the graph hang together, and Laplacian positions are worked out for up to 3; "
        "do without: --set task.positions.kind=none"
    )
