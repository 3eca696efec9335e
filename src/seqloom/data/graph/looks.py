"""Whether two files are a graph, for who names no recipe."""

from itertools import islice
from pathlib import Path

from seqloom.data.graph.reading import ABOUT, EDGES, FROM, ID, NODES, TO, cell
from seqloom.data.graph.tables import Row, rows
from seqloom.data.reading.faults import DataError

FIRST = 100_000
"""Nodes that are read to know their ids."""
SAMPLE = 20
"""Edges that are looked at; of most of them both ends must be nodes."""


def looks_like_graph(nodes: str, edges: str) -> bool:
    """A file that says what its nodes are, in columns with names, and one of pairs of them."""
    if not (Path(nodes).is_file() and Path(edges).is_file()):
        return False
    try:
        ids = _ids(nodes)
        ends = _ends(edges) if ids else []
    except DataError:
        return False
    return sum(set(both) <= ids for both in ends) > len(ends) / 2


def _ids(nodes: str) -> set[str]:
    """None, where it is no file of nodes."""
    found = set[str]()
    for row in islice(rows(nodes, NODES, frozenset(ID)), FIRST):
        if not isinstance(row, Row):
            continue
        if cell(row, ID) is None or not any(name in row.cells for name in ABOUT):
            return set()
        found.add(str(cell(row, ID)).strip())
    return found


def _ends(edges: str) -> list[tuple[str, str]]:
    every = (row for row in rows(edges, EDGES, EDGES) if isinstance(row, Row))
    ends = [(cell(row, (*FROM, "1")), cell(row, (*TO, "2"))) for row in islice(every, SAMPLE)]
    return [(str(one).strip(), str(other).strip()) for one, other in ends]
