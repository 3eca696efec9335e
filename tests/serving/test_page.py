"""The page tells every path, and asks no other host for anything."""

import re

from seqloom.serving.page import page
from tests.serving.live import Live


def test_it_tells_all(live: Live) -> None:
    schema = live.client.get("/openapi.json").json()
    answer = live.client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for name in schema["paths"]:
        assert f"{name}</code>" in answer.text
    assert "<code>n_best</code>" in answer.text
    assert "answers to each input, best first" in answer.text
    assert not re.search(r"(src|href)=\"?(https?:)?//", answer.text)
    assert "<script" not in answer.text


def test_names_are_text() -> None:
    schema = {"paths": {}, "components": {"schemas": {}}}
    assert "<code>&lt;b&gt;</code>" in page(schema, ["<b>"])


def test_the_description_is_offline(live: Live) -> None:
    text = live.client.get("/openapi.json").text
    assert not re.search(r"https?://(?!localhost)", text.replace("https://example.org", ""))
    assert {"/v1/predict", "/v1/completions", "/v1/chat/completions", "/v1/models", "/api/generate", "/api/tags",
            "/healthz", "/metrics"} <= set(live.client.get("/openapi.json").json()["paths"])  # fmt: skip
    assert live.client.get("/redoc").status_code == 404


def test_the_description_tells_the_errors_as_they_are(live: Live) -> None:
    description = live.client.get("/openapi.json").json()
    assert "HTTPValidationError" not in description["components"]["schemas"]
    for path, name in ("/v1/predict", "ErrorAnswer"), ("/api/generate", "ShortErrorAnswer"):
        answers = description["paths"][path]["post"]["responses"]
        assert {"200", "400", "404", "408", "413", "422", "429", "503"} <= set(answers)
        assert answers["422"]["content"]["application/json"]["schema"]["$ref"].endswith(f"/{name}")
