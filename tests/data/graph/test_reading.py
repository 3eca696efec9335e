"""Files of nodes and edges in all their forms; every fault by its file and line."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from seqloom.data.graph import Graph, read_graph
from seqloom.data.reading import DataError
from seqloom.settings import UserError

NODES = "id\tsplit\tlabel\tfeatures\na\ttrain\tx\t0 2\nb\ttrain\ty\t1\nc\tval\tx\t2:0.5 0\nd\t\t\t\n"
EDGES = "a\tb\nb\tc\n"


def made(
    folder: Path, nodes: str = NODES, edges: str = EDGES, ending: str = ".tsv", edge_ending: str = ".tsv"
) -> list[str]:
    paths = [folder / f"nodes{ending}", folder / f"edges{edge_ending}"]
    paths[0].write_text(nodes)
    paths[1].write_text(edges)
    return list(map(str, paths))


def matrix(graph: Graph) -> list[list[float]]:
    found = np.zeros((len(graph), graph.features))
    found[graph.row_P, graph.column_P] = graph.value_P
    return found.tolist()


def edges(graph: Graph) -> list[tuple[str, str]]:
    return [(graph.ids[s], graph.ids[t]) for s, t in zip(graph.source_E, graph.target_E, strict=True)]


def test_a_graph_of_sparse_features(tmp_path: Path) -> None:
    graph, skipped = read_graph(*made(tmp_path))
    assert (graph.ids, graph.labels) == (("a", "b", "c", "d"), ("x", "y", "x", ""))
    assert graph.parts == ("train", "train", "valid", "other")
    assert matrix(graph) == [[1, 0, 1], [0, 1, 0], [1, 0, 0.5], [0, 0, 0]]
    assert edges(graph) == [("a", "b"), ("b", "c")]
    assert not skipped.total


@pytest.mark.parametrize(
    ("nodes", "ending"),
    [
        ("id,label,f1,f2\na,x,0.5,0\nb,y,-1,2\n", ".csv"),
        ('id,label,features\na,x,"0.5,0"\nb,y,"-1,2"\n', ".csv"),
        ("id,label,x,y\na,x,0.5,0\nb,y,-1,2\n", ".csv"),
        ("node\tclass\tfeatures\na\tx\t0.5,0\nb\ty\t-1,2\n", ".tsv"),
        ('{"id": "a", "label": "x", "features": [0.5, 0]}\n{"id": "b", "label": "y", "features": [-1, 2]}\n', ".jsonl"),
        ('{"id": "a", "label": "x", "x": {"0": 0.5}}\n{"id": "b", "label": "y", "x": {"1": 2, "0": -1}}\n', ".jsonl"),
    ],
)
def test_forms_of_features(tmp_path: Path, nodes: str, ending: str) -> None:
    graph, _ = read_graph(*made(tmp_path, nodes, "a\tb\n", ending))
    assert matrix(graph) == [[0.5, 0], [-1, 2]]
    assert graph.parts == ("train", "train")


def test_texts_become_counts_of_their_words(tmp_path: Path) -> None:
    nodes = "id\tlabel\ttext\na\tx\tDeep graphs, deep nets\nb\ty\tgraphs of words\nc\tx\tdeep words\n"
    graph, _ = read_graph(*made(tmp_path, nodes, ""))
    assert graph.words == ("deep", "graphs", "words")  # those of a single text tell nothing of another
    assert matrix(graph) == [[2, 1, 0], [0, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("a b\nb c\n", ".txt"),
        ("# two edges\na b 0.5\nb c 1\n", ".txt"),
        ("source,target\na,b\nb,c\n", ".csv"),
        ("to\tfrom\nb\ta\nc\tb\n", ".tsv"),
        ('{"source": "a", "target": "b"}\n\n{"source": "b", "target": "c"}\n', ".jsonl"),
    ],
)
def test_forms_of_edges(tmp_path: Path, text: str, ending: str) -> None:
    graph, _ = read_graph(*made(tmp_path, edges=text, edge_ending=ending))
    assert edges(graph) == [("a", "b"), ("b", "c")]


def test_numbers_are_ids_in_json_too(tmp_path: Path) -> None:
    nodes = "".join(json.dumps({"id": n, "label": n % 2, "features": [n]}) + "\n" for n in range(3))
    graph, _ = read_graph(*made(tmp_path, nodes, "0\t1\n", ".jsonl"))
    assert graph.ids == ("0", "1", "2")
    assert graph.labels == ("0", "1", "0")


HEAD = "id\tsplit\tlabel\tfeatures\n"


@pytest.mark.parametrize(
    ("nodes", "edges", "why"),
    [
        (NODES, "a\tb\nb\tz\n", "edges.tsv:2: an edge to 'z', which is no node of .*nodes.tsv; remove it, or add the"),
        (NODES, "a\tb\nb\n", "edges.tsv:2: an edge has two ends"),
        (HEAD + "a\ttrain\tx\t1\na\ttrain\tx\t1\n", EDGES, "nodes.tsv:3: the id 'a' stands in line 2 too"),
        (
            HEAD + "a\ttrain\tx\t1,2\nb\ttrain\tx\t1,2,3\n",
            EDGES,
            "nodes.tsv:3: 3 features, but the nodes before have 2",
        ),
        (HEAD + "a\ttrain\tx\tone\n", EDGES, "nodes.tsv:2: a feature's number should be 0, 1, 2, …, but is 'one'"),
        (
            HEAD + f"a\ttrain\tx\t{'9' * 5000}\n",
            EDGES,
            "nodes.tsv:2: a feature's number should be below 10,000,000, but is 9+; mend the line",
        ),
        (HEAD + "a\ttrain\tx\t1,nan\n", EDGES, "nodes.tsv:2: a feature should be a number, but is nan"),
        (
            HEAD + "a\ttrain\tx\t1\nb\tvalid\tz\t1\n",
            EDGES,
            "nodes.tsv:3: the label 'z' of a valid node is of no training",
        ),
        (HEAD + "a\ttrain\tx\t1\nb\ttest\t\t1\n", EDGES, "nodes.tsv:3: a test node without a label"),
        (HEAD + "a\ttrain\t\t1\n", EDGES, "nodes.tsv:2: a node to train on without a label"),
        (HEAD + "a\ttest\tx\t1\n", EDGES, "nodes.tsv: nothing to learn from: no node has the split train"),
        ("id\tlabel\tfeatures\na\t\t1\n", EDGES, "nodes.tsv: nothing to learn from: no node has a label"),
        (HEAD + "a\ttrian\tx\t1\n", EDGES, "nodes.tsv:2: the split should be .* but is 'trian'; write train"),
        (HEAD + "a\ttrain\tx\n", EDGES, "nodes.tsv:2: 3 columns, but the header has 4"),
        (HEAD + "\ttrain\tx\t1\n", EDGES, "nodes.tsv:2: the id is empty"),
        (HEAD, EDGES, "nodes.tsv: no node in it"),
        (
            "a\ttrain\tx\t1\n",
            EDGES,
            "nodes.tsv:1: no column is called id; .* and this one begins with 'a', 'train', 'x', '1'",
        ),
        ("id\tid\tlabel\na\tb\tx\n", EDGES, "nodes.tsv:1: the column 'id' is named twice"),
        ("id\tlabel\tfeatures\na\tx\t\n", "", "nodes.tsv: no node has a feature"),
    ],
)
def test_faults_say_where(tmp_path: Path, nodes: str, edges: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_graph(*made(tmp_path, nodes, edges))


@pytest.mark.parametrize(
    ("nodes", "why"), [('{"id": 1\n', "nodes.jsonl:1: no JSON"), ("[1]\n", "nodes.jsonl:1: expected an object")]
)
def test_faults_of_json(tmp_path: Path, nodes: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_graph(*made(tmp_path, nodes, EDGES, ".jsonl"))


def test_what_is_bad_can_be_left_out(tmp_path: Path) -> None:
    nodes = NODES + "a\ttrain\tx\t1\ne\ttrain\tx\tone\n"
    graph, skipped = read_graph(*made(tmp_path, nodes, EDGES + "b\te\nb\n"), bad="skip")
    assert len(graph) == 4
    assert edges(graph) == [("a", "b"), ("b", "c")]
    assert skipped.counts == {
        "an id twice": 1,
        "features that are no numbers": 1,
        "an edge to a missing node": 1,
        "no edge": 1,
    }


def test_saved_and_loaded(tmp_path: Path) -> None:
    graph, _ = read_graph(*made(tmp_path))
    graph.save(tmp_path)
    again = Graph.load(tmp_path)
    assert again.fingerprint == graph.fingerprint
    assert (again.ids, again.parts) == (graph.ids, graph.parts)
    assert matrix(again) == matrix(graph)
    other, _ = read_graph(*made(tmp_path, edges="a\tb\n"))
    assert other.fingerprint != graph.fingerprint


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    graph, _ = read_graph(*made(tmp_path))
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(UserError) as found:
        graph.save(tmp_path)
    assert str(found.value) == f"{tmp_path}/graph.npz: cannot be written: No space left on device"


def test_texts_in_quotes_may_go_over_several_lines(tmp_path: Path) -> None:
    nodes = 'id;label;text\r\na;x;"one\r\ntwo; one"\r\nb;y;"two"\r\nb;y;again\r\n'
    with pytest.raises(DataError, match=r"nodes\.csv:5: the id 'b' stands in line 4 too"):
        read_graph(*made(tmp_path, nodes, "a,b\n", ".csv", ".csv"))
    graph, skipped = read_graph(*made(tmp_path, nodes, "a,b\n", ".csv", ".csv"), bad="skip")
    assert (graph.ids, graph.words) == (("a", "b"), ("two",))
    assert skipped.total == 1
