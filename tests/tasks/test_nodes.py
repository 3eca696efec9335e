"""Nodes of a graph: the whole graph is read, and the goals are those of a part."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.data.cache import Examples
from seqloom.data.graph import Graph, read_graph
from seqloom.data.ragged import Ragged
from seqloom.models import build_model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Codecs, Goals, Nodes, build_task
from seqloom.tasks.nodes import NodesTask, placed
from seqloom.text import Labels, Vocabulary, Words
from seqloom.text.labels import NONE

NODES = "id\tlabel\tfeatures\na\tx\t0 2\nb\ty\t1\nc\tx\t2:3 0\nd\t\t\n"


def graph_of(folder: Path) -> Graph:
    (folder / "n.tsv").write_text(NODES)
    (folder / "e.tsv").write_text("a\tb\nb\tc\na\tb\n")
    return read_graph(str(folder / "n.tsv"), str(folder / "e.tsv"))[0]


def task_of(folder: Path, **settings: object) -> NodesTask:
    chosen = Nodes.model_validate(settings)
    codecs = Codecs(Vocabulary.train(Words(), ["-"]), Labels(["x", "y"]), graph=placed(graph_of(folder), chosen))
    task = build_task(chosen, codecs, "encoder-only")
    assert isinstance(task, NodesTask)
    return task


def seen(task: NodesTask) -> set[tuple[str, str]]:
    """Who reads whom."""
    edges = task.side().layout.edges
    assert edges is not None
    ids = task.graph.ids
    return {(ids[q], ids[k]) for q, k in zip(edges.query_E.tolist(), edges.key_E.tolist(), strict=True)}


SELF = {(node, node) for node in "abcd"}


def test_edges_have_no_direction_unless_they_are_said_to(tmp_path: Path) -> None:
    assert seen(task_of(tmp_path)) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), *SELF}
    assert seen(task_of(tmp_path, directed=True)) == {("b", "a"), ("c", "b"), *SELF}
    assert seen(task_of(tmp_path, directed=True, self_loops=False)) == {("b", "a"), ("c", "b")}


def test_features_of_a_node_sum_to_one_and_a_node_may_have_none(tmp_path: Path) -> None:
    x = task_of(tmp_path).side().tokens_N
    x = x.to_dense() if x.is_sparse else x
    torch.testing.assert_close(x, torch.tensor([[0.5, 0, 0.5], [0, 1, 0], [0.25, 0, 0.75], [0, 0, 0]]))
    plain = task_of(tmp_path, normalise="none").side().tokens_N
    assert (plain.to_dense() if plain.is_sparse else plain)[2].tolist() == [1, 0, 3]


def examples(goal: list[int]) -> Examples:
    columns = {"source": Ragged.rows([range(len(goal))]), "target": Ragged.rows([goal])}
    return Examples(columns, np.zeros(1, np.int64), np.ones(1, np.int64))


def model_of(task: NodesTask) -> EncoderOnly:
    torch.manual_seed(1)
    settings = {
        "family": "encoder-only",
        "width": 8,
        "depth": 1,
        "input": {"kind": "features"},
        "output": {"kind": "tags"},
        "mixer": {"kind": "attention", "heads": 2, "score": "leaky-additive"},
    }
    model = build_model(ModelSettings.model_validate(settings), task.sizes())
    assert isinstance(model, EncoderOnly)
    return model.eval()


def test_the_loss_is_of_the_nodes_that_are_asked_for(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    model, batch = model_of(task), task.batch(examples([0, NONE, 1, NONE]))
    assert batch.count == 2
    assert batch.source is not None
    log_p = model.scores(model(batch.source.tokens_N, batch.source.layout)).log_softmax(-1)
    torch.testing.assert_close(task.loss(model, batch, Goals()), -(log_p[0, 0] + log_p[2, 1]))


def test_a_node_without_edges_reads_itself(tmp_path: Path) -> None:
    """Also without loops it has an answer: that of a node which nobody tells anything."""
    for self_loops in (True, False):
        task = task_of(tmp_path, self_loops=self_loops)
        side = task.side()
        scores = model_of(task).scores(model_of(task)(side.tokens_N, side.layout))
        assert torch.isfinite(scores).all()


def test_parts_are_read_as_in_the_whole(tmp_path: Path) -> None:
    """In any order: a part's nodes see each other, and nobody else."""
    task = task_of(tmp_path, batches="parts", self_loops=False)
    model, whole = model_of(task), task.side()
    assert task.graph.island_N.tolist() == [0, 0, 0, 1]
    every = model.scores(model(whole.tokens_N, whole.layout))
    for nodes in ([3], [0, 1, 2], [3, 0, 1, 2]):
        columns = {"source": Ragged.rows([nodes]), "target": Ragged.rows([[NONE] * len(nodes)])}
        side = task.batch(Examples(columns, np.zeros(1, np.int64), np.ones(1, np.int64))).source
        assert side is not None
        torch.testing.assert_close(model.scores(model(side.tokens_N, side.layout)), every[nodes])
    for most, parts in ((1, [[0, 1, 2], [3]]), (100, [[0, 1, 2, 3]])):
        assert [nodes.tolist() for nodes, _ in task.sides(most)] == parts


LAPLACIAN = {"kind": "laplacian", "vectors": 2}


def dense(x: torch.Tensor) -> torch.Tensor:
    return x.to_dense() if x.is_sparse else x


@pytest.mark.parametrize("batches", ["whole", "parts"])
def test_positions_are_further_features(tmp_path: Path, batches: str) -> None:
    plain = task_of(tmp_path, batches=batches)
    task = task_of(tmp_path, batches=batches, positions=LAPLACIAN)
    assert task.sizes() == replace(plain.sizes(), source=5)
    read = dense(task.side().tokens_N)
    assert torch.equal(read[:, :3], dense(plain.side().tokens_N))
    assert task.graph.position_NK is not None
    assert read[:, 3:].tolist() == task.graph.position_NK.tolist()


def test_training_turns_positions_around_and_nobody_else_does(tmp_path: Path) -> None:
    task = task_of(tmp_path, positions=LAPLACIAN)
    given, fixed = examples([0, 1, 0, NONE]), dense(task.side().tokens_N)

    def read(seed: int | None) -> torch.Tensor:
        varied = given if seed is None else task.vary(given, [seed], None)
        source = task.batch(varied).source
        assert source is not None
        return dense(source.tokens_N)

    assert torch.equal(read(None), fixed)
    turned = set()
    for seed in range(40):
        assert torch.equal(read(seed), read(seed)), "a run that goes on reads the same"
        assert torch.equal(read(seed)[:, :3], fixed[:, :3])
        signs = (read(seed)[:3, 3:] / fixed[:3, 3:]).nan_to_num(nan=1)  # the vector of a path's middle node is 0
        signs = signs[[0, 2]]
        assert torch.equal(signs[0], signs[1]), "all nodes of an island together"
        turned.add(tuple(signs[0].tolist()))
    assert turned == {(1, 1), (1, -1), (-1, 1), (-1, -1)}


def test_the_same_graph_keeps_its_positions(tmp_path: Path) -> None:
    settings = Nodes.model_validate({"positions": LAPLACIAN})
    graph = graph_of(tmp_path)
    known = replace(graph, position_NK=np.ones((4, 2), np.float32))
    assert placed(graph, settings, known).position_NK is known.position_NK
    other = placed(replace(graph, source_E=graph.target_E), settings, known)
    assert other.position_NK is not known.position_NK
    assert placed(known, Nodes()).position_NK is None


def test_a_model_that_reads_text_is_refused(tmp_path: Path) -> None:
    why = NodesTask.refuses(ModelSettings(family="encoder-only"))
    assert why is not None
    assert "input.kind = 'features'" in why
    assert NodesTask.refuses(model_of(task_of(tmp_path)).settings) is None


def test_islands_are_turned_around_each_by_itself(tmp_path: Path) -> None:
    """Of the whole graph in one batch, too."""
    task = task_of(tmp_path, positions={"kind": "laplacian", "vectors": 1})
    pairs = replace(task.graph, source_E=np.array([0, 2]), target_E=np.array([1, 3]))
    chosen = task.settings
    task = NodesTask(chosen, replace(task.codecs, graph=placed(replace(pairs, position_NK=None), chosen)))
    fixed, given = dense(task.side().tokens_N)[:, 3], examples([0, 1, 0, NONE])
    turned = set()
    for seed in range(40):
        source = task.batch(task.vary(given, [seed], None)).source
        assert source is not None
        signs = (dense(source.tokens_N)[:, 3] / fixed).tolist()
        assert (signs[0], signs[2]) == (signs[1], signs[3])
        turned.add((signs[0], signs[2]))
    assert turned == {(1, 1), (1, -1), (-1, 1), (-1, -1)}
