"""Who may ask: names and pages of others are refused, and so is whoever lacks the token."""

from collections.abc import Iterator

import httpx
import openai
import pytest

from tests.jobs.asked_runs import Runs
from tests.serving.live import Live, until

TOKEN = "a-secret"


@pytest.fixture(scope="module")
def guarded(runs: Runs) -> Iterator[Live]:
    changes = ('serving.origins=["https://good.example"]', 'serving.hosts=["my.host"]')
    with Live([runs["pairs"]], *changes, token=TOKEN) as server:
        yield server


def asked(live: Live, **headers: str) -> httpx.Response:
    return live.post("/v1/predict", {"inputs": ["ab"]}, headers=headers)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("LOCALHOST:8000", 200), ("127.0.0.1:1", 200), ("[::1]:8000", 200), ("10.0.0.7", 200),
        ("studio.localhost", 200), ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil", 403),
        ("", 403), ("[::1", 403), ("a b", 403), ("my.host", 403),
    ],
)  # fmt: skip
def test_the_name_under_which_it_is_asked(live: Live, host: str, status: int) -> None:
    """A foreign page could point a name of its own at this machine (DNS rebinding)."""
    answer = asked(live, host=host)
    assert answer.status_code in (status, 400)  # what is no host at all does not come so far
    if status == 403 and answer.status_code == 403:
        assert "is no name of this server: set serving.hosts" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("origin", "status"), [("http://evil.example", 403), ("null", 403), ("http://127.0.0.1:1", 403), ("", 403)]
)
def test_pages_of_others_may_not_ask(live: Live, origin: str, status: int) -> None:
    answer = asked(live, origin=origin)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


def test_its_own_page_may_ask(live: Live) -> None:
    assert asked(live, origin=live.url).status_code == 200


def test_no_page_is_allowed_unless_said(live: Live) -> None:
    wish = {"origin": "https://good.example", "access-control-request-method": "POST"}
    assert live.client.options("/v1/predict", headers=wish).status_code == 403


def test_pages_that_are_allowed(guarded: Live) -> None:
    wish = {
        "origin": "https://good.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,x-stainless-os",
    }
    before = guarded.client.options("/v1/predict", headers=wish)
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == "https://good.example"
    answer = asked(guarded, origin="https://good.example", authorization=f"Bearer {TOKEN}")
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://good.example"
    refused = asked(guarded, origin="https://good.example")
    assert refused.status_code == 401  # and the page may read why
    assert refused.headers["access-control-allow-origin"] == "https://good.example"


def test_a_name_that_is_allowed(guarded: Live) -> None:
    assert asked(guarded, host="my.host:80", authorization=f"Bearer {TOKEN}").status_code == 200
    assert asked(guarded, host="other.host", authorization=f"Bearer {TOKEN}").status_code == 403


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer a-secre", "Bearer a-secret2", "Basic a-secret", "a-secret"])
@pytest.mark.parametrize(
    "path", ["/v1/predict", "/api/tags", "/v1/models", "/metrics", "/docs", "/openapi.json", "/no"]
)
def test_without_the_token_nothing_is_told(guarded: Live, given: str, path: str) -> None:
    answer = guarded.client.get(path, headers={"authorization": given} if given else {})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "pairs" not in answer.text


def test_a_token_that_is_no_ascii(guarded: Live) -> None:
    answer = guarded.client.get("/v1/models", headers=[(b"authorization", "Bearer ä".encode("latin-1"))])
    assert answer.status_code == 401


def test_whoever_looks_whether_it_lives_needs_no_token(guarded: Live) -> None:
    assert guarded.client.get("/healthz").json()["status"] == "ok"
    assert guarded.client.get("/healthz/../metrics").status_code == 401


def test_how_the_token_is_said(guarded: Live) -> None:
    for given in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
        assert guarded.client.get("/v1/models", headers={"authorization": given}).status_code == 200


def test_the_official_client_carries_it(guarded: Live) -> None:
    with openai.OpenAI(base_url=f"{guarded.url}/v1", api_key=TOKEN) as client:
        assert [model.id for model in client.models.list()] == ["pairs"]
    with (
        openai.OpenAI(base_url=f"{guarded.url}/v1", api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="not the right token"),
    ):
        client.models.list()


def test_the_log_says_nothing_of_what_was_asked(guarded: Live) -> None:
    guarded.log.clear()
    asked(guarded, authorization=f"Bearer {TOKEN}")
    guarded.client.get("/v1/models/%1b%5b31m%0aforged", headers={"authorization": f"Bearer {TOKEN}"})
    until(lambda: len(guarded.log) > 1 and "/v1/models/" in guarded.log[-1])  # a line follows its answer
    first, second = guarded.log[-2:]
    assert first.startswith("POST /v1/predict 200 ")
    assert first.endswith(" ms pairs 1")
    assert second.startswith("GET /v1/models/")
    assert "404" in second
    assert TOKEN not in "".join(guarded.log)


def test_every_answer_is_guarded(live: Live) -> None:
    headers = live.client.get("/healthz").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers or headers["server"] == "uvicorn"  # `serve` sends none
