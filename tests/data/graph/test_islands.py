"""Parts of a graph that no edge joins."""

import random
from itertools import pairwise

import numpy as np
import pytest

from seqloom.data.graph.islands import islands


def searched(nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """The same by walking."""
    near: dict[int, set[int]] = {node: set() for node in range(nodes)}
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    found, number = [-1] * nodes, 0
    for node in range(nodes):
        todo = [node] if found[node] < 0 else []
        for here in todo:
            found[here] = number
            todo += [other for other in near[here] if found[other] < 0 and other not in todo]
        number += bool(todo)
    return found


def found(nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return islands(nodes, ends[:, 0], ends[:, 1]).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_of_any_graph(seed: int) -> None:
    draw = random.Random(seed)
    nodes = draw.randint(1, 60)
    edges = [(draw.randrange(nodes), draw.randrange(nodes)) for _ in range(draw.randint(0, nodes))]
    assert found(nodes, edges) == searched(nodes, edges)


def test_without_edges_each_node_is_one() -> None:
    assert found(3, []) == [0, 1, 2]


def test_a_long_chain_in_any_order() -> None:
    order = list(range(5000))
    random.Random(1).shuffle(order)
    assert set(found(5000, list(pairwise(order)))) == {0}
