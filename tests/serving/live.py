"""A server for tests: a real one, in a thread of this process."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import uvicorn

from seqloom.serving.app import build_app
from seqloom.serving.server import SECTION, Server, listening, settings_of
from seqloom.serving.shelf import Shelf

PATIENCE = 300.0  # seconds, on a busy machine


class Live:
    """Listens at a free port. log: the lines that it said."""

    def __init__(
        self,
        runs: Iterable[Path],
        *changes: str,
        token: str | None = None,
        host: str = "127.0.0.1",
        lecture: bool = False,
    ) -> None:
        self.log: list[str] = []
        changes = (f"serving.lecture={str(lecture).lower()}", *changes)
        settings = settings_of([change for change in changes if change.startswith(SECTION)])
        others = [change for change in changes if not change.startswith(SECTION)]
        self.shelf = Shelf({run.name: run for run in runs}, settings, others, "cpu", self.log.append)
        app = build_app(self.shelf, settings, host, token, self.log.append)
        self.server = Server(
            uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=5)
        )
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with listening("127.0.0.1", 0) as listener:
            self.port = listener.getsockname()[1]
            self.loop.run_until_complete(self.server.serve([listener]))
        self.loop.close()

    def __enter__(self) -> Self:
        self._thread.start()
        until(lambda: self.server.started)
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def post(self, path: str, content: Any, **more: Any) -> httpx.Response:
        return self.client.post(path, json=content, **more)

    def predict(self, inputs: Any, **more: Any) -> Any:
        answer = self.post("/v1/predict", {"inputs": inputs, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()["outputs"]

    def do(self, work: Any) -> Any:
        """A coroutine in the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)


def until(true: Callable[[], object], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


@contextmanager
def paused(live: Live, name: str, steps: int) -> Iterator[None]:
    """A model writes so many steps, then waits until the block is left: whatever the machine, it is in the middle."""
    desk = live.shelf.books[name].desk
    assert desk is not None
    step, look, left, go_on = desk._step, desk._go_on, iter(range(steps)), threading.Event()

    def written(key: Any) -> None:
        assert next(left, None) is not None or go_on.wait(PATIENCE)
        step(key)

    def looked() -> None:
        assert all(errand.made < steps for errand in desk._errands) or go_on.wait(PATIENCE)
        look()

    desk._step, desk._go_on = written, looked  # type: ignore[method-assign]
    try:
        yield
    finally:
        desk._step, desk._go_on = step, look  # type: ignore[method-assign]
        go_on.set()


@contextmanager
def slowly(live: Live, name: str, seconds: float) -> Iterator[None]:
    """Each step of a model takes so long: something to be in the middle of."""
    desk = live.shelf.books[name].desk
    assert desk is not None
    real = desk._step

    def step(key: Any) -> None:
        time.sleep(seconds)
        real(key)

    desk._step = step  # type: ignore[method-assign]
    try:
        yield
    finally:
        desk._step = real  # type: ignore[method-assign]
