"""Whatever the OpenAPI description allows, and what lies beside it, is answered without a 5xx."""

from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck

from tests.serving.live import Live

MODELS = ["pairs", "text", "tags", "classes", "masked", "documents", "nobody", ""]
LAYERS = ["encoder.blocks.0.mixer", "decoder.blocks.0.cross", "decoder.blocks.0", "head", "nowhere"]
INPUTS = [
    *["ab", "the film", "a [MASK] b", "", 3, ["the", "film"], [1.0, None], [[1, 2]], [[[1, 2]]], {"node": 1}, {}],
    *[{"source": "ab", "must": ["b"]}, {"source": "ab", "must": 5}, {"source": [1]}, {"values": [[1.0]]}],
    {"csv": "/etc/passwd"},
]
NAMES = ("/v1/predict", "/v1/completions", "/v1/chat/completions", "/api/generate", "/api/chat", "/api/show",
         "/v1/models", "/v1/models/{model}", "/api/tags", "/api/ps", "/api/version", "/healthz",
         "/metrics", "/studio/api/models", "/studio/api/flow", "/studio/api/answer", "/studio/api/trace",
         "/studio/api/box", "/studio/api/attention", "/studio/api/beam", "/studio/api/write",
         "/studio/api/training")  # fmt: skip


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
