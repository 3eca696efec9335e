"""The command as it is run: signals, ports, tokens."""

import asyncio
import errno
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from seqloom.serving.server import listening, settings_of, token_of
from seqloom.serving.settings import ServingSettings
from seqloom.settings import SettingsError, UserError
from tests.jobs.asked_runs import Runs
from tests.serving.live import PATIENCE, until

COMMAND = "import sys; from seqloom.cli import main; sys.argv[0] = 'seqloom'; main()"


class Child:
    """`seqloom serve …` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        until(lambda: self.url or self.process.poll() is not None, 5 * PATIENCE)  # Python and torch start first
        self.client = httpx.Client(base_url=self.url or "http://none", timeout=PATIENCE)

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)  # each line as soon as it comes

    @property
    def url(self) -> str | None:
        found = re.search(r"http://[\d.]+:\d+", "".join(self.lines))
        return found[0] if found else None

    def end(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reading.join(PATIENCE)
        return code


@contextmanager
def child(*words: str, **environment: str) -> Iterator[Child]:
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", *words, "--port", "0", "--device", "cpu"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    found = Child(process)
    try:
        yield found
    finally:
        found.client.close()
        process.kill()
        found.end()
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_what_was_accepted(runs: Runs, kind: signal.Signals) -> None:
    asked = {"model": "text", "prompt": "the film", "seed": 1, "max_tokens": 300}
    with child(str(runs["text"]), "--set", "generation.shortest=300", "--set", "serving.log=problems") as server:
        answers = list[httpx.Response]()

        def ask() -> None:
            answers.append(server.client.post("/v1/completions", json=asked))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: 'seqloom_writing{model="text"} 3' in server.client.get("/metrics").text)
        server.process.send_signal(kind)
        until(lambda: any("stops; what was accepted is finished" in line for line in server.lines))
        with pytest.raises(httpx.TransportError):
            httpx.post(f"{server.url}/v1/completions", json=asked)
        for thread in threads:
            thread.join(PATIENCE)
        assert [answer.status_code for answer in answers] == [200] * 3
        assert all(answer.json()["usage"]["completion_tokens"] == 300 for answer in answers)
        assert server.end() == 0
        assert "Traceback" not in "".join(server.lines)


@pytest.mark.slow
def test_a_stop_has_a_deadline(runs: Runs) -> None:
    words = ("--set", "generation.shortest=4000", "--set", "serving.stop_seconds=1")
    asked = {"model": "text", "prompt": "the"}
    with (
        child(str(runs["text"]), *words) as server,
        server.client.stream("POST", "/api/generate", json=asked) as answer,
    ):
        assert answer.status_code == 200
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == 0
        assert time.monotonic() - began < 15


@pytest.mark.slow
def test_a_hang_up_loads_the_runs_anew_and_the_environment_has_a_token(runs: Runs) -> None:
    with child(f"mine={runs['pairs']}", "--set", "serving.watch=0", SEQLOOM_TOKEN="s3cret") as server:
        server.process.send_signal(signal.SIGHUP)
        until(lambda: any("mine: loaded anew" in line for line in server.lines))
        assert server.client.get("/v1/models").status_code == 401
        server.client.headers["authorization"] = "Bearer s3cret"
        assert server.client.post("/v1/predict", json={"inputs": ["ab"]}).json()["model"] == "mine"
        assert "server" not in server.client.get("/healthz").headers
        assert "(with token)" in "".join(server.lines)
        assert "s3cret" not in "".join(server.lines)


def test_where_tokens_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEQLOOM_TOKEN", raising=False)
    assert token_of(ServingSettings()) is None
    file = tmp_path / "token"
    file.write_text("abc\n")
    assert token_of(ServingSettings(token_file=str(file))) == "abc"
    for text in ("", "a b", "ä"):
        file.write_text(text)
        with pytest.raises(UserError, match="token: a token is one word of ASCII characters"):
            token_of(ServingSettings(token_file=str(file)))
    with pytest.raises(UserError, match="the token cannot be read: No such file"):
        token_of(ServingSettings(token_file=str(tmp_path / "none")))
    monkeypatch.setenv("SEQLOOM_TOKEN", "")
    with pytest.raises(UserError, match="SEQLOOM_TOKEN: a token is one word"):
        token_of(ServingSettings())


def test_head_and_body_of_an_answer_do_not_wait_for_each_other() -> None:
    """asyncio sends small parts at once only where TCP is named; else a kept connection costs 40 ms an answer."""
    at_once: list[int] = []

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at_once.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async def meet(listener: socket.socket) -> None:
        async with await asyncio.start_server(met, sock=listener):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            await reader.read()
            writer.close()

    with listening("127.0.0.1", 0) as listener:
        asyncio.run(meet(listener))
    assert at_once
    assert at_once[0] != 0


def test_a_port_that_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(UserError, match=f"--port {port}: 127.0.0.1:{port} is taken; name another"),
            listening("127.0.0.1", port),
        ):
            pass


def test_a_port_that_is_taken_on_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS has another number for it."""

    def bind(_: socket.socket, address: object) -> None:
        raise OSError(48, "Address already in use")

    monkeypatch.setattr(errno, "EADDRINUSE", 48)
    monkeypatch.setattr(socket.socket, "bind", bind)
    with (
        pytest.raises(UserError, match=r"--port 80: 127\.0\.0\.1:80 is taken; name another"),
        listening("127.0.0.1", 80),
    ):
        pass


def test_a_host_that_is_none() -> None:
    with (
        pytest.raises(UserError, match=r"--host no\.such\.host\.invalid: is no address"),
        listening("no.such.host.invalid", 0),
    ):
        pass


def test_settings_that_there_are_not() -> None:
    with pytest.raises(SettingsError, match="has no setting 'quue'; did you mean 'queue'"):
        settings_of(["serving.quue=3"])
    with pytest.raises(SettingsError, match=r"--set serving.queue=0: \[serving\] queue"):
        settings_of(["serving.queue=0"])
    assert settings_of(['serving.hosts=["a"]', "generation.beam=2", "serving.chat.kind=named"]).hosts == ("a",)


@pytest.mark.slow
def test_without_a_run_there_is_the_lecture() -> None:
    with child() as server:
        assert any("lecture: translate, 1,014 parameters" in line for line in server.lines)
        asked = {"inputs": ["black cat sleeps"]}
        said = server.client.post("/v1/predict", json=asked).json()
        assert said["outputs"][0][0]["text"] == "chat noir dort"
        assert "<title>" in server.client.get("/").text
