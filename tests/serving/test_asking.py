"""Limits of time and of the queue; whoever goes away gives up his places."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from seqloom.jobs.answering.answer import Answer, Question
from seqloom.jobs.answering.writing import Prepared
from seqloom.serving.asking import UNREAD, Pending
from seqloom.serving.desk import Desk
from seqloom.serving.errand import Errand
from seqloom.serving.prompting import Told
from seqloom.serving.ticket import Going, Said
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live, slowly, until

LONG = {"model": "text", "prompt": "the film", "seed": 1, "max_tokens": 1000}


@pytest.fixture(scope="module")
def small(runs: Runs) -> Iterator[Live]:
    """Little room, and little time."""
    changes = ("serving.queue=4", "serving.seconds=1.5", "generation.batch=2", "generation.shortest=200")
    with Live([runs["text"], runs["classes"]], *changes) as server:
        yield server


@pytest.fixture
def desk(small: Live) -> Iterator[Desk]:
    """Idle before and behind each test."""
    found = small.shelf.books["text"].desk
    assert found is not None
    until(lambda: found.waiting == found.writing == 0)
    yield found
    until(lambda: found.waiting == found.writing == 0)


def test_time_is_limited(small: Live, desk: Desk) -> None:
    with slowly(small, "text", 0.05):
        began = time.monotonic()
        answer = small.post("/v1/completions", LONG)
        assert answer.status_code == 408
        assert time.monotonic() - began < 10
        assert answer.json()["error"]["message"].startswith("not answered within 1.5 seconds (serving.seconds)")
        until(lambda: desk.writing == 0)


def test_the_time_of_a_stream_is_limited(small: Live, desk: Desk) -> None:
    with slowly(small, "text", 0.05):
        for path, last in ("/v1/completions", b'data: {"error"'), ("/api/generate", b'{"error"'):
            asked = {name: LONG[name] for name in ("model", "prompt")} | {"stream": True}
            answer = small.post(path, asked)
            assert answer.status_code == 200
            lines = [line for line in answer.content.split(b"\n") if line]
            assert len(lines) > 3
            assert lines[-1].startswith(last)
            assert b"not answered within" in lines[-1]


def test_a_full_queue_sends_others_away(small: Live, desk: Desk) -> None:
    """Two are written, four may wait."""
    statuses = list[int]()

    def ask() -> None:
        statuses.append(small.post("/v1/completions", LONG).status_code)

    with slowly(small, "text", 0.02):
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads[:2]:
            thread.start()
        until(lambda: desk.writing == 2)
        for thread in threads[2:]:
            thread.start()
        until(lambda: desk.waiting == 4)
        refused = small.post("/v1/completions", LONG)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert "4 inputs wait already" in refused.json()["error"]["message"]
        assert small.predict(["a book"], model="classes")  # others have their own
        for thread in threads:
            thread.join()
    assert set(statuses) <= {200, 408}


def test_more_than_the_queue_holds(small: Live, desk: Desk) -> None:
    assert small.post("/v1/completions", {**LONG, "n": 5}).status_code == 429


@pytest.mark.parametrize("path", ["/v1/completions", "/api/generate"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_killed_client_frees_its_place(small: Live, desk: Desk, path: str, stream: bool) -> None:
    asked = {name: LONG[name] for name in ("model", "prompt")} | {"stream": stream}
    body = httpx.Request("POST", small.url + path, json=asked).read()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with slowly(small, "text", 0.01):
        sockets = [socket.create_connection(("127.0.0.1", small.port)) for _ in range(4)]
        for each in sockets:
            each.sendall(head.encode() + body)
        until(lambda: desk.writing + desk.waiting == 4)
        began = time.monotonic()
        for each in sockets:
            each.close()
        until(lambda: desk.writing == desk.waiting == 0)
        assert time.monotonic() - began < 1.2  # well before its time would have been over


def post(live: Live, path: str, asked: dict[str, Any], room: int | None = None) -> socket.socket:
    """A request whose answer nobody reads. room: bytes that the client's side takes of it."""
    body = httpx.Request("POST", live.url, json=asked).read()
    client = socket.socket()
    if room is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.connect(("127.0.0.1", live.port))
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body)
    return client


@pytest.mark.parametrize("path", ["write", "beam", "influence"])
def test_a_killed_client_of_the_studio_is_not_worked_for(
    small: Live, desk: Desk, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, real = [0], Errand.go_on

    def slow(errand: Errand) -> bool:
        done[0] += 1
        time.sleep(0.02)
        return real(errand)

    monkeypatch.setattr(Errand, "go_on", slow)
    asked = {"model": "text", "input": f"the film {path}", "settings": {"shortest": 200, "longest": 200}}
    clients = [post(small, f"/studio/api/{path}", asked) for _ in range(3)]
    until(lambda: done[0] > 4)
    began = time.monotonic()
    for client in clients:
        client.close()
    until(lambda: not desk._errands)
    assert time.monotonic() - began < 1.2  # well before its time would have been over
    assert done[0] < 100


def test_a_slow_reader_of_the_studio_holds_up_nobody(small: Live, desk: Desk) -> None:
    asked = {"model": "text", "input": "the film", "settings": {"shortest": 400, "longest": 400, "beam": 1}}
    slow = post(small, "/studio/api/write", asked, room=1024)
    for _ in range(3):
        short = {"model": "text", "input": "film", "settings": {"shortest": 1, "longest": 5, "beam": 1}}
        assert small.post("/studio/api/answer", short).status_code == 200
        assert small.post("/v1/completions", {**LONG, "max_tokens": 25}).status_code == 200
    slow.close()
    until(lambda: not desk._errands)


def test_a_slow_reader_holds_up_nobody(small: Live, desk: Desk) -> None:
    body = httpx.Request("POST", small.url, json={"model": "text", "prompt": "the", "stream": True}).read()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    slow.connect(("127.0.0.1", small.port))
    slow.sendall(head.encode() + body)
    until(lambda: desk.writing > 0 or desk.counts.inputs["text"] > 0)
    for _ in range(5):
        assert small.post("/v1/completions", {**LONG, "max_tokens": 25}).status_code == 200
    until(lambda: desk.writing == 0)
    slow.close()


def test_a_body_that_never_comes(small: Live) -> None:
    with socket.create_connection(("127.0.0.1", small.port)) as half:
        half.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        half.settimeout(20)
        assert half.recv(100).startswith(b"HTTP/1.1 408")


def test_answers_are_cut_where_the_server_says(runs: Runs) -> None:
    with Live([runs["text"]], "serving.max_tokens=7", "generation.shortest=20") as server:
        ((one,),) = server.predict(["the film"], scores=True)
        assert one["ended"] is False
        assert len(one["pieces"]) == 7
        (choice,) = server.post("/v1/completions", {"model": "text", "prompt": "the"}).json()["choices"]
        assert choice["finish_reason"] == "length"


def test_only_so_many_requests_are_under_way(runs: Runs) -> None:
    with Live([runs["text"]], "serving.connections=2", "generation.shortest=200") as server:
        asked = {"model": "text", "prompt": "the"}
        with (
            slowly(server, "text", 0.02),
            server.client.stream("POST", "/api/generate", json=asked),
            server.client.stream("POST", "/api/generate", json=asked),
        ):
            refused = server.post("/v1/completions", LONG)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "2 requests are under way already (serving.connections)" in refused.text
            assert server.client.get("/healthz").status_code == 200
        until(lambda: server.post("/v1/completions", {**LONG, "max_tokens": 2}).status_code == 200)


def test_what_a_slow_reader_is_told() -> None:
    """Not every token waits for it, but no text is lost."""
    waiting = Pending([Prepared(0, Question("a"), None)], [()], lambda _: None)
    text = ""
    for number in range(1000):
        text += f"{number} "
        waiting.hear(0, Going(text, number))
    waiting.hear(0, Said([Answer(text)]))

    async def read() -> list[str]:
        told = Told(())
        return [
            told.last(event.text if isinstance(event, Going) else event.answers[0].text)
            async for _, event in waiting.heard()
        ]

    parts = asyncio.run(read())
    assert len(parts) == UNREAD + 1
    assert "".join(parts) == text
