"""Recipes compared on one graph: the same nodes are kept from all of them."""

from pathlib import Path

import pytest

from seqloom.jobs.compare import compare
from seqloom.jobs.comparing import work
from seqloom.jobs.comparing.command import Compare
from seqloom.jobs.comparing.worker import done
from seqloom.jobs.deciding.asked import Budget
from seqloom.settings import UserError
from tests.cli.run import run
from tests.jobs.graph import write_graph

RECIPES = ("gat", "graph-transformer-small")
QUICK = ("evaluation.trials=100", "evaluation.resamples=100", "model.width=16", "training.optimiser.rate=0.01")
FILES = ("nodes.tsv", "edges.tsv")
NOTE = "10 nodes are scored"


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, "work_apart", done)  # starting another process takes seconds
    write_graph(Path())


def command(**more: object) -> Compare:
    asked = {"systems": RECIPES, "data": FILES, "budget": Budget("epochs", 40), "changes": QUICK, **more}
    return Compare(**asked)  # type: ignore[arg-type]


def test_scores_are_those_of_evaluate_on_the_test_nodes() -> None:
    found = compare(command(), view="none")
    assert not found.failed
    assert (found.test, found.notes[0]) == ("nodes of nodes.tsv edges.tsv", NOTE)
    assert found.notes[1] == (
        "gat: its schedule is not the recipe's (constant, warm-up 0 steps) but one that is fitted to the run "
        "(cosine, warm-up 5%)"
    )
    assert found.report is not None
    assert found.report.examples == 10
    assert found.record()["per_second"] == "examples"
    assert {part.slice.by for part in found.report.slices} <= {"neighbours of the node"}
    runs = [f"runs/compare/runs/{name}" for name in RECIPES]
    for name, folder in zip(RECIPES, runs, strict=True):
        scored = run("evaluate", folder, "--data", *FILES, "--metrics", "accuracy")
        assert f"{found.scores[name]['accuracy']:.2f}" in scored.out
    assert found.scores[RECIPES[1]]["accuracy"] > 90
    again = compare(command(), view="none")
    assert again.scores == found.scores, "what is done is read again"


def test_without_nodes_for_the_test_those_of_the_validation_are_scored() -> None:
    write_graph(Path(), split=False)
    found = compare(command(systems=("gat",), changes=(*QUICK, "data.held_out=0.2")), view="none")
    assert found.report is not None
    assert found.report.examples == 8
    note, _ = sorted(found.notes, key=lambda said: "schedule" in said)
    assert note.startswith("8 nodes are scored: those of the validation, which chose the model too")


def test_what_cannot_be_compared() -> None:
    assert run("train", "gat", "--data", *FILES, "--set", "training.steps=1", "--out", "runs/g").code == 0
    for asked, why in (
        (
            command(systems=("runs/g",), budget=None),
            "runs/g: of graphs, recipes are compared here; of runs, `seqloom evaluate A B --data nodes.tsv edges.tsv` "
            "tests the difference",
        ),
        (command(test=FILES), "--valid and --test: of a graph the column split says which nodes are valid and test"),
        (command(ensemble=("all",)), "--ensemble: is not of systems that label nodes; leave it out"),
    ):
        with pytest.raises(UserError) as found:
            compare(asked, view="none")
        assert str(found.value) == why
