"""Forecasts and nodes over HTTP are those of `seqloom predict`."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from tests.jobs.graph import write_graph
from tests.jobs.series import write_forecaster, write_series
from tests.serving.live import Live


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_series(folder / "a.csv", shops=("north", "south"))
    write_forecaster(folder / "r.toml")
    write_graph(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        train(Command("r.toml", ("a.csv",), out=Path("sales")), view="none")
        short = ("training.steps=5", "model.width=16")
        train(Command("gat", ("nodes.tsv", "edges.tsv"), out=Path("graph"), changes=short), view="none")
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Live]:
    with Live([place / "sales", place / "graph"]) as live:
        yield live


def rows_of(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        plain = ("date", "shop")
        return [
            {name: value if name in plain else float(value) for name, value in row.items()}
            for row in csv.DictReader(lines)
        ]


def test_a_table_is_forecast(server: Live, place: Path) -> None:
    expected = seqloom.load(place / "sales").forecast(place / "a.csv")
    text = (place / "a.csv").read_text(encoding="utf-8")
    given, rows = server.predict([{"csv": text, "id": 7}, {"rows": rows_of(place / "a.csv")}])
    assert [one["series"] for one in given] == ["north", "south"]
    assert all(one["id"] == 7 for one in given)
    for one, same, other in zip(given, rows, expected, strict=True):
        assert one["times"] == list(other.times)
        assert one["values"] == same["values"]
        for column, name in enumerate(other.columns):
            said = one["values"][name]
            assert said["mean"] == pytest.approx(other.mean[:, column].tolist())
            assert said["quantiles"]["0.9"] == pytest.approx(other.quantile(0.9)[:, column].tolist())


def test_what_should_be_known_of_a_table_is_told(server: Live, place: Path) -> None:
    text = (place / "a.csv").read_text(encoding="utf-8").replace("south", "west")
    answer = server.post("/v1/predict", {"inputs": [{"csv": text}]}).json()
    assert answer["notes"] == ["input 1: not in training, so scaled by their own values: 'west'"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"inputs": ["x"]}, 'input 1: this model forecasts tables; send {"csv": '),
        ({"inputs": [{"csv": "a,b\n1,2\n"}]}, "input 1:1: no column 'date'; the columns are a, b"),
        (
            {"inputs": [{"csv": "date,shop,warm,wet\n2024-13-41,north,1,2\n"}]},
            "input 1:2: date: '2024-13-41' is no time",
        ),
        ({"inputs": [{"csv": ""}]}, "input 1: empty"),
        ({"inputs": [{"rows": []}]}, "inputs.0.rows: should be at least 1 long"),
        (
            {"inputs": [{"rows": [{"date": True}]}]},
            "inputs.0.rows.0.date: should be text or a whole number or a number",
        ),
        ({"inputs": [{"rows": [{"date": "2024-01-01"}, {"warm": 1}]}]}, "input 1: row 2 has 'warm', which the first"),
        ({"n_best": 2}, '"n_best": 2: a forecast is numbers, all said at once; leave it out'),
        ({"sample": True}, '"sample": a forecast is numbers'),
        ({"scores": True}, "scores: a forecast is numbers"),
        ({"inputs": [{"csv": "a"}] * 65}, "65 inputs, but a request may have 64 (serving.inputs)"),
        (
            {"model": "graph", "inputs": [{"csv": "a"}]},
            "input 1: csv and rows are tables to be forecast, and this model",
        ),
        ({"model": "graph", "inputs": ["nobody"]}, "input 1: the graph that the model was trained with has no node"),
    ],
)
def test_faults(server: Live, asked: dict[str, Any], message: str) -> None:
    answer = server.post("/v1/predict", {"inputs": [{"csv": "date,shop,warm,wet\n"}], **asked})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(message), answer.text


@pytest.mark.parametrize("path", ["/v1/completions", "/api/generate"])
def test_a_forecaster_writes_no_text(server: Live, path: str) -> None:
    answer = server.post(path, {"model": "sales", "prompt": "x"})
    assert answer.status_code == 422
    assert "writes no text (forecast); ask it with POST /v1/predict" in json.dumps(answer.json())


def test_nodes_are_asked_for_by_their_ids(server: Live, place: Path) -> None:
    given = server.predict(["n3", {"source": "n0", "id": 1}], model="graph", n_best=2)
    expected = seqloom.load(place / "graph").predict(["n3", "n0"], n_best=2)
    for one, other in zip(given, expected, strict=True):
        assert [each["text"] for each in one] == [each.text for each in other]
        assert [each["probability"] for each in one] == pytest.approx([each.score for each in other], abs=1e-5)
    assert given[1][0]["id"] == 1
