"""A graph from end to end: two files → a run → a label for each node."""

import json
import sys
from pathlib import Path

import pytest

from seqloom.jobs.model import load
from tests.cli.run import run
from tests.jobs.graph import write_graph

SHORT = ("--set", "training.steps=60", "--set", "model.width=16", "--set", "training.validate_every=10")
SHORT = (*SHORT, "--set", "model.input.dropout=0.1")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    write_graph(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        done = run("train", "gat", "--data", "nodes.tsv", "edges.tsv", "--out", "runs/g", *SHORT)
    assert done.code == 0, done.error
    assert "a graph of 40 nodes and 160 edges, 3 features, 2 labels; 10 nodes to train on, 10 to validate" in done.error
    assert float(dict(line.split("\t") for line in done.out.splitlines())["test accuracy"]) == 100
    return folder


@pytest.fixture
def place(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return trained


def test_every_node_has_its_label_in_the_order_of_the_file(place: Path) -> None:
    done = run("predict", f"{place}/runs/g")
    assert done.code == 0, done.error
    assert done.out.splitlines() == [f"n{number}\t{'ab'[number % 2]}" for number in range(40)]


def test_formats(place: Path) -> None:
    lines = run("predict", f"{place}/runs/g", "--scores").out.splitlines()
    assert all(0.5 <= float(line.split("\t")[2]) <= 1 for line in lines)
    both = run("predict", f"{place}/runs/g", "--n-best", "2", "--format", "jsonl").out.splitlines()
    first = json.loads(both[0])
    assert (first["id"], first["label"]) == ("n0", "a")
    assert sum(one["score"] for one in first["n_best"]) == pytest.approx(1, abs=1e-5)


def test_nodes_by_their_ids(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ids.txt").write_text("n3\nn0\n")
    done = run("predict", f"{place}/runs/g", "ids.txt")
    assert (done.code, done.out) == (0, "b\na\n"), done.error
    assert "vocabulary" not in done.error, "a node's number is no token"
    with Path("ids.txt").open(encoding="utf-8") as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        assert run("predict", f"{place}/runs/g", "-").out == done.out
    model = load(place / "runs/g")
    answer = model.predict("n0", n_best=2)
    assert [one.text for one in answer] == ["a", "b"]
    assert sum(one.score for one in answer) == pytest.approx(1, abs=1e-5)
    assert model.score("n0", "a").log_prob == pytest.approx(answer[0].log_prob, abs=1e-6)


def test_a_file_is_not_written_over(place: Path) -> None:
    assert run("predict", f"{place}/runs/g", "--out", "labels.tsv").code == 0
    assert len(Path("labels.tsv").read_text().splitlines()) == 40
    again = run("predict", f"{place}/runs/g", "--out", "labels.tsv")
    assert again.code == 0
    assert again.error == "labels.tsv: already done\n"
    other = run("predict", f"{place}/runs/g", "--out", "labels.tsv", "--scores")
    assert other.code == 2
    assert "labels.tsv: is there already, and holds something else; name another --out" in other.error
    assert run("predict", f"{place}/runs/g", "--out", "labels.tsv", "--scores", "--force").code == 0


def test_the_same_command_goes_on_and_says_that_it_is_done(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(trained / "cache"))
    monkeypatch.chdir(trained)
    again = run("train", "gat", "--data", "nodes.tsv", "edges.tsv", "--out", "runs/g", *SHORT)
    assert again.code == 0, again.error
    assert "all steps are done" in again.error


def test_without_a_split_some_nodes_are_held_out(place: Path) -> None:
    write_graph(Path(), split=False)
    words = ("--data", "nodes.tsv", "edges.tsv", "--set", "training.steps=1", "--set", "data.held_out=0.2")
    done = run("train", "gat", *words)
    assert done.code == 0, done.error
    assert "32 nodes to train on, 8 to validate, 0 to test" in done.error
    assert "validation accuracy" in done.out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--data", "nodes.tsv"), "nodes.tsv: a graph is two files, its nodes and its edges"),
        (("--data", "edges.tsv", "nodes.tsv"), "the nodes come first, then the edges: --data nodes.tsv edges.tsv"),
        (("--data", "edges.tsv", "edges.tsv"), "edges.tsv edges.tsv: a graph is two files"),
        (("--data", "edges.tsv", "bad.tsv"), "edges.tsv:1: no column is called id"),
        (("--data", "slip.tsv", "edges.tsv"), "but is 'trian'; write train, or pass --skip-bad"),
        (("--data", "nodes.tsv", "no.tsv"), "no.tsv: no such file"),
        (("--data", "nodes.tsv", "edges.tsv", "--test", "nodes.tsv", "edges.tsv"), "the column split says which"),
        (("--data", "nodes.tsv", "bad.tsv"), "bad.tsv:1: an edge to 'nobody', which is no node of nodes.tsv"),
    ],
)
def test_mistakes(place: Path, words: tuple[str, ...], why: str) -> None:
    write_graph(Path())
    Path("bad.tsv").write_text("n1\tnobody\n")
    Path("slip.tsv").write_text(Path("nodes.tsv").read_text().replace("\ttrain\t", "\ttrian\t", 1))
    found = run("train", "gat", *words, "--out", "runs/x")
    assert found.code == 2
    assert why in found.error


def test_bad_edges_can_be_left_out(place: Path) -> None:
    write_graph(Path())
    Path("edges.tsv").write_text(Path("edges.tsv").read_text() + "n1\tnobody\n")
    words = ("--data", "nodes.tsv", "edges.tsv", "--set", "training.steps=1", "--skip-bad")
    done = run("train", "gat", *words)
    assert done.code == 0, done.error
    assert "1 left out: an edge to a missing node (edges.tsv:161)" in done.error


def test_a_score_with_its_interval(place: Path) -> None:
    done = run("evaluate", f"{place}/runs/g", "--data", f"{place}/nodes.tsv", f"{place}/edges.tsv")
    assert done.code == 0, done.error
    assert "10 nodes are scored" in done.error
    assert "100.00" in done.out
    assert "by neighbours of the node" in done.out
    assert "characters" not in done.out, "an id's length says nothing"


@pytest.mark.parametrize("turned", [False, True])
def test_runs_with_positions_and_without_are_scored_together(place: Path, turned: bool) -> None:
    files = "--data", f"{place}/nodes.tsv", f"{place}/edges.tsv"
    other = "--set", "task.positions.kind=laplacian", "--set", "task.positions.vectors=3", *SHORT
    assert run("train", "gat", *files, *other, "--out", "runs/placed").code == 0
    runs = [f"{place}/runs/g", "runs/placed"]
    done = run("evaluate", *(reversed(runs) if turned else runs), *files)
    assert done.code == 0, done.error
    assert done.out.count("accuracy") >= 2


def test_nodes_that_were_learnt_are_not_scored(place: Path) -> None:
    write_graph(Path(), split=False)
    done = run("train", "gat", "--data", "nodes.tsv", "edges.tsv", "--set", "training.steps=1", "--out", "runs/whole")
    assert "2 nodes to validate on: a score of so few says little; give more: name them in a column split" in done.error
    done = run("evaluate", "runs/whole", "--data", "nodes.tsv", "edges.tsv")
    assert done.code == 0, done.error
    assert "2 nodes are scored: those of the validation, which chose the model too" in done.error
    assert "whole: 2 examples" in done.out
    assert "; left out: 38 trained on" in done.error
    # the order of the file says nothing; nodes that are new are scored too
    header, *nodes = Path("nodes.tsv").read_text().splitlines()
    Path("turned.tsv").write_text("\n".join([header, *reversed(nodes)]) + "\n")
    turned = run("evaluate", "runs/whole", "--data", "turned.tsv", "edges.tsv")
    assert "2 nodes are scored: those of the validation" in turned.error
    Path("more.tsv").write_text("\n".join([header, "new\ta\t0 2", *nodes]) + "\n")
    more = run("evaluate", "runs/whole", "--data", "more.tsv", "edges.tsv")
    assert "3 nodes are scored: 2 of them of the validation" in more.error
    assert "; left out: 38 trained on" in more.error


def test_nodes_that_another_run_learnt_are_told(place: Path) -> None:
    files, turned = ("--data", f"{place}/nodes.tsv", f"{place}/edges.tsv"), {"train": "test", "test": "train"}
    rows = [line.split("\t") for line in Path(files[1]).read_text().splitlines()]
    Path("turned.tsv").write_text("".join("\t".join([a, turned.get(b, b), *c]) + "\n" for a, b, *c in rows))
    assert run("train", "gat", "--data", "turned.tsv", files[2], *SHORT, "--out", "runs/turned").code == 0
    told = "runs/turned: was trained on 10 of these nodes, so that its score is too good"
    assert told in run("evaluate", f"{place}/runs/g", "runs/turned", *files).error
    assert "too good" not in run("evaluate", f"{place}/runs/g", f"again={place}/runs/g", *files).error


def test_a_test_without_its_column_is_known_from_training(place: Path) -> None:
    write_graph(Path(), split=False)
    done = run("evaluate", f"{place}/runs/g", "--data", "nodes.tsv", "edges.tsv")
    assert done.code == 0, done.error
    assert "10 nodes are scored\n" in done.error


def test_nodes_that_were_all_learnt_are_scored_and_it_is_told(place: Path) -> None:
    header, *nodes = (place / "nodes.tsv").read_text().splitlines()
    Path("n.tsv").write_text("\n".join([header, *(line for line in nodes if "\ttrain\t" in line)]) + "\n")
    Path("e.tsv").write_text("n0\tn8\n")
    done = run("evaluate", f"{place}/runs/g", "--data", "n.tsv", "e.tsv")
    assert done.code == 0, done.error
    assert "10 nodes are scored: all of them were trained on" in done.error


def test_the_same_ids_in_another_graph_are_other_nodes(place: Path) -> None:
    Path("n.tsv").write_text("id\tlabel\tfeatures\nn0\ta\t0 1\nn1\tb\t0 1\n")
    Path("e.tsv").write_text("n0\tn1\n")
    done = run("evaluate", f"{place}/runs/g", "--data", "n.tsv", "e.tsv", "--metrics", "accuracy")
    assert done.code == 0, done.error
    assert "2 nodes are scored\n" in done.error


def test_other_graphs_of_the_same_features_are_scored_too(place: Path) -> None:
    Path("n.tsv").write_text("id\tlabel\tfeatures\nq\ta\t0 2\nr\tb\t1 2\ns\tb\t1\n")
    Path("e.tsv").write_text("r\ts\n")
    done = run("evaluate", f"{place}/runs/g", "--data", "n.tsv", "e.tsv", "--metrics", "accuracy")
    assert done.code == 0, done.error
    assert "3 nodes are scored" in done.error
    assert "100.00" in done.out
    Path("n.tsv").write_text("id\tlabel\tfeatures\nq\ta\t0 7\n")
    Path("e.tsv").write_text("q\tq\n")
    found = run("evaluate", f"{place}/runs/g", "--data", "n.tsv", "e.tsv")
    assert found.code == 2
    assert "n.tsv: has 8 features, and the model knows 3" in found.error
    Path("n.tsv").write_text("id\tlabel\ttext\nq\ta\tone word\nr\tb\tone word\n")
    found = run("evaluate", f"{place}/runs/g", "--data", "n.tsv", "e.tsv")
    said = "n.tsv: its nodes have texts, and the model knows them by numbers; give what it was trained with\n"
    assert (found.code, found.error) == (2, said)


def test_nodes_of_one_label(place: Path) -> None:
    write_graph(Path())
    Path("nodes.tsv").write_text(Path("nodes.tsv").read_text().replace("\tb\t", "\ta\t"))
    found = run("train", "gat", "--data", "nodes.tsv", "edges.tsv", "--out", "runs/x")
    assert (found.code, found.error.splitlines()[-1]) == (
        2,
        "nodes.tsv: all nodes to train on have one label, 'a', so that there is nothing to tell apart; is it the right "
        "column? Otherwise add nodes with another label",
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ids.txt",), "ids.txt:2: the graph that the model was trained with has no node 'm1'; "),
        (("--alignment",), "--alignment: a model of a graph labels all nodes"),
        (("--beam", "3"), "--beam 3: each node gets its likeliest label"),
    ],
)
def test_what_cannot_be_asked(place: Path, words: tuple[str, ...], why: str) -> None:
    Path("ids.txt").write_text("n1\nm1\n")
    found = run("predict", f"{place}/runs/g", *words)
    assert found.code == 2
    assert why in found.error


def test_a_graph_is_recognised(place: Path) -> None:
    write_graph(Path())
    words = ("--set", "training.steps=1", "--out", "runs/x")
    done = run("train", "--data", "nodes.tsv", "edges.tsv", *words)
    assert done.code == 0, done.error
    assert "no recipe named: the data looks like a graph: gat" in done.error
    assert "nodes: 40 nodes, all read together; 3 features → 2 labels" in done.error
    Path("edges.tsv").write_text("src\tdst\n" + Path("edges.tsv").read_text())
    done = run("check", "nodes.tsv", "edges.tsv")
    assert done.code == 0, done.out
    assert "a graph of 40 nodes and 160 edges" in done.out
    turned = run("train", "--data", "edges.tsv", "nodes.tsv", *words)
    assert turned.code == 2
    assert "the nodes come first" in turned.error


def test_nodes_without_an_edge_are_counted(place: Path) -> None:
    write_graph(Path())
    nodes = Path("nodes.tsv").read_text()
    row = nodes.splitlines()[-1].split("\t", 1)[1]
    Path("nodes.tsv").write_text(f"{nodes}lone\t{row}\n")
    found = run("check", "nodes.tsv", "edges.tsv")
    assert "\n1 node has no edge, and is known by its own features alone\n" in f"\n{found.out}", found.out
    Path("nodes.tsv").write_text(f"{nodes}lone\t{row}\nother\t{row}\n")
    found = run("check", "nodes.tsv", "edges.tsv")
    assert "\n2 nodes have no edge, and are known by their own features alone\n" in f"\n{found.out}", found.out


def test_all_faults_of_a_graph_are_told(place: Path) -> None:
    write_graph(Path())
    nodes, edges = Path("nodes.tsv").read_text(), Path("edges.tsv").read_text()
    Path("edges.tsv").write_text(edges + edges.splitlines()[0] + "\nn1\tnobody\nn2\n")
    Path("nodes.tsv").write_text(nodes + "bare\t\t\t\n")
    found = run("check", "nodes.tsv", "edges.tsv")
    assert found.code == 1
    assert "FAULT: training: an edge to a missing node" in found.out
    assert "edges.tsv:162" in found.out
    assert "FAULT: training: no edge" in found.out
    assert "warning: training: nodes without a feature and without an edge" in found.out
    assert "edges that stand there twice" in found.out
    Path("nodes.tsv").write_text(nodes.replace("\ta\t", "\tz\t", 2).replace("\tz\t", "\ta\t", 1))
    Path("edges.tsv").write_text(edges)
    found = run("check", "nodes.tsv", "edges.tsv")
    assert found.code == 1
    assert "the label 'z' of a valid node is of no training node" in found.out


def test_what_training_on_a_graph_takes(place: Path) -> None:
    """The budget of a batch, which is far larger than the graph, says nothing of it."""
    write_graph(Path())
    done = run("check", "nodes.tsv", "edges.tsv")
    (line,) = (line for line in done.out.splitlines() if "memory" in line)
    assert line.endswith("MB; the graph is one batch")
