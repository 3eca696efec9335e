"""Whatever the OpenAPI description allows, and what lies beside it, is answered without a 5xx."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from tests.jobs.asked_runs import Runs
from tests.jobs.graph import write_graph
from tests.jobs.series import write_forecaster, write_series
from tests.serving.live import Live

RUNS = ("pairs", "text", "tags", "classes", "masked", "documents")
MODELS = [*RUNS, "sales", "graph", "nobody", ""]
ROWS = [{"date": f"2024-01-{day:02d}", "sold": None if day == 9 else 1.5 * day} for day in range(1, 31)]
CSV = "date,sold\n" + "\n".join(f"{row['date']},{row['sold']}" for row in ROWS)
LAYERS = ["encoder.blocks.0.mixer", "decoder.blocks.0.cross", "decoder.blocks.0", "head", "nowhere"]
INPUTS = [
    *["ab", "the film", "a [MASK] b", "", 3, ["the", "film"], [1.0, None], [[1, 2]], [[[1, 2]]], {"node": 1}, {}],
    *[{"source": "ab", "must": ["b"]}, {"source": "ab", "must": 5}, {"source": [1]}, {"values": [[1.0]]}],
    *[{"csv": "/etc/passwd"}, {"csv": ""}, {"csv": "a,b\n1"}, {"csv": CSV}, {"csv": f"{CSV}\nnan,inf,1e999"}],
    *[{"rows": ROWS}, {"rows": []}, {"rows": [{}]}, {"rows": ROWS, "series": "x"}, {"csv": CSV, "column": "nope"}],
    *[{"values": [[1e308]] * 30}, {"csv": CSV.replace("-05", "-04")}, "n3"],
]
NAMES = ("/v1/predict", "/v1/completions", "/v1/chat/completions", "/api/generate", "/api/chat", "/api/show",
         "/v1/models", "/v1/models/{model}", "/api/tags", "/api/ps", "/api/version", "/healthz",
         "/metrics", "/studio/api/models", "/studio/api/flow", "/studio/api/answer", "/studio/api/trace",
         "/studio/api/box", "/studio/api/attention", "/studio/api/influence", "/studio/api/beam", "/studio/api/write",
         "/studio/api/training")  # fmt: skip


@pytest.fixture(scope="module")
def live(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Models of text, of tables and of a graph."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        write_series(folder / "a.csv")
        write_forecaster(folder / "r.toml")
        write_graph(folder)
        train(Command("r.toml", ("a.csv",), out=Path("sales")), view="none")
        short = ("training.steps=5", "model.width=16")
        train(Command("gat", ("nodes.tsv", "edges.tsv"), out=Path("graph"), changes=short), view="none")
    with Live([*(runs[name] for name in RUNS), folder / "sales", folder / "graph"]) as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("view", ["answer", "trace", "box", "attention", "influence", "beam", "write"])
def test_every_input_to_every_model(live: Live, view: str) -> None:
    """Whatever kind of input a model does not take is refused, by every view of it."""
    taken = set()
    for model, given in product([*RUNS[:5], "sales", "graph"], INPUTS):
        asked = {"model": model, "input": given} | ({"box": "head"} if view == "box" else {})
        if model in ("pairs", "text"):
            asked["settings"] = {"longest": 3}
        answer = live.post(f"/studio/api/{view}", asked)
        assert answer.status_code in (200, 422), f"{model} {given!r}: {answer.status_code} {answer.text}"
        if answer.status_code == 200 and not answer.text.startswith('{"error"'):
            taken.add(model)
    unseen = {"beam": {"tags", "classes", "masked", "graph"}, "influence": {"graph"}}
    assert {*RUNS[:5], "graph"} - unseen.get(view, set()) <= taken


def test_every_path_is_tried(live: Live) -> None:
    assert set(live.client.get("/openapi.json").json()["paths"]) == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("path", NAMES)
def test_no_failure(live: Live, path: str) -> None:
    """HYPOTHESIS_PROFILE=explore tries many more."""
    description = _with_names(live.client.get("/openapi.json").json())
    description["paths"] = {path: description["paths"][path]}
    (result,) = schemathesis.openapi.from_dict(description).get_all_operations()
    operation = result.ok()
    _try(operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE), live)
    if operation.body:
        _try(operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE), live)


def _try(strategy: Any, live: Live) -> None:
    many = max(15, hypothesis.settings.default.max_examples)

    @hypothesis.given(case=strategy)
    @hypothesis.settings(max_examples=many, suppress_health_check=list(HealthCheck))
    def check(case: Any) -> None:
        if isinstance(case.body, dict) and "prompt" in case.body and "options" not in case.body:
            case.body.setdefault("max_tokens", 5)  # answers may be long, but need not be here
        answer = case.call(base_url=live.url)
        assert answer.status_code < 500, f"{case.body!r}: {answer.text}"

    check()


def _with_names(description: Any) -> Any:
    """Models that there are, so that requests get further than their names."""
    for schema in description["components"]["schemas"].values():
        fields = schema.get("properties", {})
        names = {"model": MODELS, "layer": LAYERS, "box": LAYERS, "input": INPUTS}
        fields |= {name: {"enum": some} for name, some in names.items() if name in fields}
    return description
