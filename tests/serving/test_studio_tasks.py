"""Models that write no text, in the studio: labels, series, forecasts, graphs; each with the examples it keeps."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from tests.jobs.asked_runs import Runs
from tests.jobs.lines.test_node_labels import SHORT, write_graph
from tests.jobs.series import write_forecaster, write_series
from tests.jobs.test_series import RECIPE, _examples, _jsonl
from tests.serving.live import Live
from tests.serving.test_studio_api import API, ask, refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """runs/waves, runs/sales, runs/graph"""
    made = tmp_path_factory.mktemp("tasks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(made / "cache"))
        (made / "waves.toml").write_text(RECIPE)
        waves = _jsonl(made / "waves.jsonl", _examples(60))
        few = ["training.steps=4", "training.validate_every=4"]
        seqloom.train(made / "waves.toml", data=waves, out=made / "waves", view="none", changes=few)
        write_forecaster(made / "sales.toml")
        table = write_series(made / "sales.csv")
        seqloom.train(made / "sales.toml", data=table, out=made / "sales", view="none")
        write_graph(made)
        changes = [word for word in SHORT if "=" in word]
        files = [str(made / "nodes.tsv"), str(made / "edges.tsv")]
        seqloom.train("gat", data=files, out=made / "graph", view="none", changes=changes)
    return made


@pytest.fixture(scope="module")
def studio(folder: Path, runs: Runs) -> Iterator[Live]:
    names = [folder / "waves", folder / "sales", folder / "graph"]
    with Live([*names, *(runs[name] for name in ("tags", "chain", "classes", "masked"))]) as live:
        yield live


def entries(live: Live) -> dict[str, Any]:
    return {one["name"]: one for one in live.client.get(f"{API}/models").json()["models"]}


KINDS = {
    "waves": "series",
    "sales": "forecast",
    "graph": "graph",
    "tags": "words",
    "chain": "words",
    "classes": "text",
    "masked": "text",
}


@pytest.mark.parametrize("name", KINDS)
def test_its_own_example_is_answered_and_opened(studio: Live, name: str) -> None:
    about = entries(studio)[name]
    assert about["kind"] == KINDS[name]
    asked = {"model": name, "input": about["examples"][0]}
    answer = ask(studio, "answer", **asked)
    field = {
        "waves": "classes",
        "classes": "classes",
        "tags": "tags",
        "chain": "tags",
        "sales": "forecast",
        "graph": "graph",
    }
    assert name == "masked" or answer[field[name]]
    boxes = ask(studio, "trace", **asked)["boxes"]
    flow = studio.client.get(f"{API}/flow", params={"model": name}).json()
    assert set(boxes) == {box["id"] for box in flow["boxes"]}
    for id in boxes:
        made = ask(studio, "box", **asked, box=id)["values"]
        assert bool(made) == (id != "head.loss")  # nothing was given that it should say
    assert bool(ask(studio, "attention", **asked)["layers"]) == (name != "waves")  # a convolution weighs no places
    assert "there is no search" in refused(studio, "beam", **asked)
    *_, last = studio.post(f"{API}/write", asked).text.splitlines()
    assert last.startswith('{"answer"')


def test_a_series_is_labelled_as_predict_does(studio: Live, folder: Path) -> None:
    x = entries(studio)["waves"]["examples"][0]
    answer = ask(studio, "answer", model="waves", input=x)
    said = seqloom.load(folder / "waves").predict(np.array(x, np.float32), n_best=2)
    assert answer["classes"][0]["label"] == said[0].text
    assert answer["classes"][0]["probability"] == pytest.approx(said[0].score, abs=1e-4)
    assert answer == ask(studio, "answer", model="waves", input={"values": x})


def test_a_forecast_is_that_of_the_table(studio: Live, folder: Path) -> None:
    text = (folder / "sales.csv").read_text()
    answer = ask(studio, "answer", model="sales", input={"csv": text})
    (own,) = seqloom.load(folder / "sales").forecast(folder / "sales.csv")
    assert np.allclose(answer["forecast"]["point"], own.mean, rtol=1e-5)
    assert answer["forecast"]["times"] == list(own.times)


@pytest.mark.parametrize(
    ("model", "given", "why"),
    [
        ("sales", "/etc/passwd", "input"),
        ("sales", [[1.0, 2.0]], "the model looks back 24"),
        ("sales", {"csv": "a", "values": [[1.0]], "series": ""}, "one of them"),
        ("sales", {"cvs": "a"}, "input.cvs: there is no such field"),
        ("sales", {"times": ["x"], "values": [["a"]]}, r"input\.values"),
        ("graph", "nobody", "nobody"),
        ("graph", 10**9, "node"),
        ("graph", [1.0], "node"),
        ("waves", "a text", "input"),
        ("waves", [["a"]], r"input\.0\.0"),
        ("waves", [], "a series is an array of steps"),
        ("tags", {"source": "a", "must": 5}, r"input\.must"),
        ("tags", 5, "input should be text"),
    ],
)
def test_inputs_that_are_none(studio: Live, model: str, given: Any, why: str) -> None:
    message = refused(studio, "answer", model=model, input=given)
    assert re.search(why, message), message
    assert "root:" not in message


def test_a_table_as_predict_takes_it(studio: Live, folder: Path) -> None:
    text = (folder / "sales.csv").read_text()
    expected = ask(studio, "answer", model="sales", input={"csv": text})["forecast"]
    header, *lines = (line.split(",") for line in text.splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    for given in ({"csv": text}, {"rows": rows}):
        assert ask(studio, "answer", model="sales", input=given)["forecast"] == expected
    (said,) = studio.predict([{"csv": text}], model="sales")
    means = np.array([values["mean"] for values in said[0]["values"].values()])
    assert np.allclose(means.T, expected["point"], rtol=1e-5)


def test_a_series_that_has_no_name(studio: Live, folder: Path) -> None:
    table = {"csv": (folder / "sales.csv").read_text(encoding="utf-8"), "series": "x"}
    message = refused(studio, "answer", model="sales", input=table)
    assert "there is no series 'x'; " in message
    assert not message.endswith("there are ")
