"""Listening: the port, the signals, a stop that finishes what was accepted."""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvicorn

from seqloom.serving.app import build_app
from seqloom.serving.log import Log
from seqloom.serving.settings import ServeSettings, ServingSettings
from seqloom.serving.shelf import Shelf
from seqloom.settings import UserError, loads

VARIABLE = "SEQLOOM_TOKEN"
SECTION = "serving."
IDLE = 4  # connections to each request that may be under way: some are kept for the next one


def serve(runs: Mapping[str, Path], host: str, port: int, changes: Sequence[str], device: str, log: Log) -> None:
    """Until SIGTERM or Ctrl-C. changes: as for --set, of [serving] and of [generation]."""
    settings = settings_of(changes)
    token = token_of(settings)
    with listening(host, port) as listener:
        others = [change for change in changes if not change.strip().startswith(SECTION)]
        shelf = Shelf(runs, settings, others, device, log)
        app = build_app(shelf, settings, host, token, log)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            limit_concurrency=IDLE * settings.connections,
            timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
        )
        for book in (book for book in shelf.books.values() if book.kind):
            later = "" if book.desk else ", loaded when it is asked"
            log(f"{book.name}: {book.kind}, {book.parameters:,} parameters{later}")
        port, guard = listener.getsockname()[1], "with" if token else "no"
        ready = partial(log, f"http://{_shown(host)}:{port} ({guard} token); Ctrl-C stops")
        asyncio.run(_run(Server(config, ready), listener, shelf, log))


class Server(uvicorn.Server):
    """Leaves signals to `_run`: uvicorn would raise them anew when all is done. ready: is called once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] = lambda: None) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready()

    def refuse(self) -> None:
        """No new connections from now on, not from uvicorn's next tick."""
        for each in getattr(self, "servers", ()):  # there are none while it starts
            each.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _run(server: Server, listener: socket.socket, shelf: Shelf, log: Log) -> None:
    loop, reloading = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def stop(kind: signal.Signals) -> None:
        server.refuse()
        log(
            "stops at once"
            if server.should_exit
            else "stops; what was accepted is finished, a second time stops at once"
        )
        server.handle_exit(signal.SIGINT, None)  # the second one ends the waiting

    def reload() -> None:
        task = loop.create_task(shelf.reload())
        reloading.add(task)
        task.add_done_callback(reloading.discard)

    for kind in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(kind, stop, kind)
    loop.add_signal_handler(signal.SIGHUP, reload)
    await server.serve([listener])


def settings_of(changes: Sequence[str]) -> ServingSettings:
    mine = [change for change in changes if change.strip().startswith(SECTION)]
    return loads("", ServeSettings, mine, name="seqloom serve").serving


def token_of(settings: ServingSettings) -> str | None:
    """From the environment, or from a file: a command line can be read by everybody on the machine."""
    if settings.token_file is not None:
        try:
            token, where = Path(settings.token_file).read_text(encoding="utf-8").strip(), settings.token_file
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise UserError(f"{settings.token_file}: the token cannot be read: {why}; see serving.token_file") from None
    elif VARIABLE in os.environ:
        token, where = os.environ[VARIABLE].strip(), VARIABLE
    else:
        return None
    if not token or not token.isascii() or any(sign.isspace() or not sign.isprintable() for sign in token):
        raise UserError(f"{where}: a token is one word of ASCII characters; openssl rand -hex 32 makes one")
    return token


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Before any model is loaded, so that a port that is taken is told at once."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError):
        raise UserError(f"--host {host}: is no address of this machine; 127.0.0.1 is this machine alone") from None
    except OverflowError:
        raise UserError(f"--port {port}: should be from 0 to 65535; 0 takes a free one") from None
    # asyncio sends small parts at once only where TCP is named: else head and body of an answer are 40 ms apart
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be listened at ({error.strerror})"
            raise UserError(f"--port {port}: {host}:{port} {why}; name another, or 0 for a free one") from None
        yield listener


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
