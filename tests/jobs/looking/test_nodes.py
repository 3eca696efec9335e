"""The nodes of a graph, looked at."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

import seqloom
from seqloom.inspect.changes import HeadChange
from seqloom.jobs.answering.node_labeller import probabilities as probabilities_of
from seqloom.jobs.look import Look, LookRequest, kind_of
from seqloom.jobs.looking import nodes
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.tasks.nodes import NodesTask
from tests.cli.run import run
from tests.jobs.graph import write_graph
from tests.jobs.lines.test_node_labels import SHORT
from tests.jobs.look_checks import check_documents


def probabilities(model: Model) -> Tensor:
    task = model.task
    assert isinstance(task, NodesTask)
    return probabilities_of(task, model.networks, model.device)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("graph")
    write_graph(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        assert run("train", "gat", "--data", "nodes.tsv", "edges.tsv", "--out", "g", *SHORT).code == 0
    return seqloom.load(Path(folder / "g"))


def test_a_node_and_those_it_learns_from(model: Model) -> None:
    look = Look(model, LookRequest("n3"))
    answer = look.answer()
    assert kind_of(model) == "graph"
    assert answer.graph is not None
    first = answer.graph.nodes[0]
    whole_NV = probabilities(model)
    assert (first.name, first.label, answer.text) == ("n3", "b", first.said)
    assert first.probability == pytest.approx(float(whole_NV[3].max()), abs=1e-6)
    torch.testing.assert_close(look.traced.scores[0].softmax(-1), whole_NV[3], rtol=0, atol=1e-6)
    for node in answer.graph.nodes:  # also those at the edge of what is shown
        assert node.probability == pytest.approx(float(whole_NV[int(node.name[1:])].max()), abs=1e-6)
    assert {node.name for node in answer.graph.nodes} <= {f"n{number}" for number in range(1, 40, 2)}
    weights = {(a, b): weight for a, b, weight in answer.graph.edges}
    own = look.traced.parts("encoder.blocks.1.mixer").weights_BHTS[0].mean(0)
    for (a, b), weight in weights.items():
        assert weight == pytest.approx(float(own[b, a]), abs=1e-6)
    assert not look.trace().notes
    check_documents(look)


def test_its_number_is_its_name_too(model: Model) -> None:
    assert Look(model, LookRequest(3)).answer() == Look(model, LookRequest({"node": "n3"})).answer()


def test_a_node_that_learns_from_more_than_is_shown(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "MOST", 4)
    look = Look(model, LookRequest("n3"))
    answer = look.answer()
    assert answer.graph is not None
    assert len(answer.graph.nodes) == 4
    assert answer.score == pytest.approx(float(probabilities(model)[3].max()), abs=1e-6)
    assert look.trace().notes == ("'n3' learns from more nodes than are shown: these numbers are of the nearest alone",)


def test_its_loss_and_a_head_that_is_off(model: Model) -> None:
    loss = Look(model, LookRequest("n3", target="a")).answer().loss
    assert loss is not None
    assert loss.total == pytest.approx(-float(probabilities(model)[3].log()[0]), abs=1e-5)
    before = Look(model, LookRequest("n3")).answer()
    off = Look(model, LookRequest("n3", changes=(HeadChange(layer="encoder.blocks.0.mixer", head=0),))).answer()
    assert off.score != pytest.approx(before.score, abs=1e-7)
    assert Look(model, LookRequest("n3")).answer() == before


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (LookRequest("n333"), "no node 'n333'; did you mean 'n33'"),
        (LookRequest(40), "its number from 0 to 39, but is 40"),
        (LookRequest(True), "a node's id"),
        (LookRequest("n3", target="z"), "no such label: 'z'"),
        (LookRequest("n3", target=1), "target should be a label"),
    ],
)
def test_what_is_wrong_is_said(model: Model, request_: LookRequest, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Look(model, request_).answer()
