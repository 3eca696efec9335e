"""Whatever is sent, the answer is a 4xx that says what is wrong."""

import json
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from tests.serving.live import Live

PATHS = ["/v1/predict", "/v1/completions", "/v1/chat/completions", "/api/generate", "/api/chat", "/api/show"]
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"", b"no JSON", b"{", b"null", b"[]", b"3", b'"x"', b"\xff\xfe", b"{}", b"\x00", DEEP.encode(),
        b'{"a": ' * 5000 + b"1" + b"}" * 5000, b'{"inputs": NaN}', b'{"inputs": [NaN], "model": "text"}',
        b'{"inputs": ["a"], "n_best": ' + b"9" * 5000 + b"}", b'{"inputs": ["\\ud800"], "prompt": "\\ud800"}',
        b'{"inputs": "abc", "prompt": 3}', b'{"inputs": [null], "prompt": [null]}', b'{"inputs": {"a": 1}}',
        b'{"model": "text", "prompt": "\\u0000", "messages": [{"role": "user", "content": "\\u0000"}]}',
        b'{"inputs": ["a"], "n_best": 1.5}', b'{"inputs": ["a"], "n_best": "1"}', b'{"inputs": ["a"], "n_best": true}',
        b'{"inputs": ["a"], "sample": {"temperature": 1e999}}', b'{"inputs": ["a"], "n_best": -1}',
    ],
    ids=lambda body: body[:25],
)  # fmt: skip
def test_bodies_that_are_not_as_they_should_be(live: Live, path: str, body: bytes) -> None:
    answer = live.client.post(path, content=body)
    assert 400 <= answer.status_code < 500, answer.text
    error = answer.json()["error"]
    assert len(str(error)) < 1000
    assert error if path.startswith("/api/") else error["message"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("{", 400, "the body is no JSON: "),
        (DEEP, 400, "the body is no JSON: nested more than 100 deep"),
        ('{"inputs": [NaN]}', 400, "the body is no JSON: NaN is no number of JSON's"),
        ('{"inputs": ["a"], "n_bets": 2}', 422, "n_bets: there is no such field"),
        ("{}", 422, "inputs: is missing"),
        ('{"inputs": ["a"], "n_best": "2"}', 422, "n_best: should be a whole number"),
        ('{"inputs": [{"source": 3}]}', 422, "inputs.0.source: should be text"),
        ('{"inputs": [{"source": "a", "longst": 3}]}', 422, "inputs.0.longst: there is no such field"),
        ('{"inputs": [["a", 3]]}', 422, "inputs.0.1: should be text"),
        ('{"inputs": [[3, "a"]]}', 422, "inputs.0.1: should be a number"),
        ('{"inputs": [[[3], ["a"]]]}', 422, "inputs.0.1.0: should be a number"),
        ('{"inputs": [{"values": [3], "source": "a"}]}', 422, "inputs.0.source: there is no such field"),
        ("", 422, "the body is empty; send JSON such as"),
        ("[1]", 422, "the body should be a table; send JSON such as"),
        ('{"inputs": "a"}', 422, "inputs: should be a list"),
        ('{"inputs": ["a"], "sample": 3}', 422, "sample: should be true or false or a table"),
        ('{"inputs": ["a"], "n_best": 0}', 422, "n_best: should be at least 1"),
        ('{"inputs": [3]}', 422, "inputs.0: should be a text, a list of words or of numbers, or a table"),
        ('{"inputs": [null]}', 422, "inputs.0: should be a text, a list of words or of numbers, or a table"),
    ],
)
def test_what_is_said(live: Live, body: str, status: int, message: str) -> None:
    answer = live.client.post("/v1/predict", content=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_json_is_json_whatever_it_is_called(live: Live, kind: str) -> None:
    body = json.dumps({"inputs": ["ab"]}).encode()
    assert live.client.post("/v1/predict", content=body, headers={"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize("size", [2**20 + 1, 2**22])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_long_body_is_refused(live: Live, size: int, chunked: bool) -> None:
    body = b"x" * size
    parts = (body[at : at + 2**16] for at in range(0, size, 2**16))
    answer = live.client.post("/v1/predict", content=parts if chunked else body)
    assert answer.status_code == 413
    assert answer.json()["error"]["message"].startswith("the body has more than 1,048,576 bytes (serving.body)")
    assert live.predict(["ab"])


def test_an_endless_body_is_not_read_for_ever(live: Live) -> None:
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        while read < 2**28:
            read += 2**16
            yield b" " * 2**16

    with suppress(httpx.TransportError):
        assert live.client.post("/v1/predict", content=endless()).status_code == 413
    assert read < 2**26
    assert live.predict(["ab"])


def test_no_other_paths_and_methods(live: Live) -> None:
    for path in ("/v1/nothing", "/..%2f..%2fetc/passwd", "/static/../../recipe.toml", "/v1/predict/"):
        answer = live.client.get(path, follow_redirects=False)
        assert answer.status_code == 404
        assert "there is no such path" in answer.text
    assert live.client.get("/v1/predict").status_code == 405
    assert live.client.delete("/v1/predict").json()["error"]["message"] == "this path takes no such method"
    assert live.client.get("/v1/models/..%2f..%2fetc%2fpasswd").status_code == 404
