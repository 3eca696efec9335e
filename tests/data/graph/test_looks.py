"""Two files that are a graph, and two that are not."""

from pathlib import Path

import pytest

from seqloom.data.graph import looks_like_graph

NODES = "id\tlabel\tfeatures\na\tx\t1\nb\ty\t2\nc\tx\t1\n"


@pytest.mark.parametrize(
    ("nodes", "edges", "is_one"),
    [
        (NODES, "a\tb\nb\tc\n", True),
        (NODES, "source\ttarget\na\tb\nb\tc\n", True),
        (NODES, "a\tb\nb\tc\nb\tnobody\n", True),  # a slip is told by who reads it
        (NODES, "x\ty\nz\ty\n", False),
        (NODES, "", False),
        ("id\tname\na\tx\nb\ty\n", "a\tb\n", False),  # nothing is said of the nodes
        ("the house\na dog\n", "das Haus\nein Hund\n", False),
        ("", "a\tb\n", False),
    ],
)
def test_a_graph_is_told_by_its_ids(tmp_path: Path, nodes: str, edges: str, is_one: bool) -> None:
    (tmp_path / "n.tsv").write_text(nodes)
    (tmp_path / "e.tsv").write_text(edges)
    assert looks_like_graph(str(tmp_path / "n.tsv"), str(tmp_path / "e.tsv")) is is_one


def test_what_is_no_file_is_no_graph(tmp_path: Path) -> None:
    assert not looks_like_graph("-", str(tmp_path / "no.tsv"))
