"""What every request passes first: whether it may come in at all. It is counted and noted when it leaves."""

import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from seqloom.serving.log import Log
from seqloom.serving.metrics import Metrics
from seqloom.serving.refusal import RefusalError, busy
from seqloom.serving.settings import ServingSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = "/healthz"
"""Answers without a token: whoever looks whether the server lives need not know it."""
EVERY = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


class Gate:
    """Refuses foreign names and pages; notes what came of the others. host: the address that it listens at."""

    def __init__(self, app: App, settings: ServingSettings, host: str, metrics: Metrics, log: Log) -> None:
        self.app, self.settings, self.host, self.metrics, self.log = app, settings, host, metrics, log
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        scope.setdefault("state", {})

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                for name, value in EVERY.items():
                    headers.setdefault(name, value)
            await send(message)

        self.under_way += 1
        try:
            refusal = self._refusal(Headers(scope=scope)) or self._crowd(scope["path"])
            if refusal is not None:
                await refused(refusal, scope, receive, noted)
            else:
                await self.app(scope, receive, noted)
        except Exception as error:  # whoever asked has its answer, or cannot get any
            self.log(f"{scope['method']} {scope['path']}: {type(error).__name__}: {error}")
            if not status:
                await refused(RefusalError(500, "the server failed; its log says why"), scope, receive, noted)
        finally:
            self.under_way -= 1
            self._note(scope, status, time.monotonic() - began)

    def _refusal(self, headers: Headers) -> RefusalError | None:
        host = headers.get("host", "")
        if not self._known(host):
            shown, fix = host[:100], "set serving.hosts, if it is one of this server's"
            return RefusalError(403, f"{shown!r} is no name of this server: {fix}")
        origin = headers.get("origin")
        if origin is not None and not self._welcome(origin, host):
            return RefusalError(
                403, f"pages of {origin[:100]!r} may not ask this server: set serving.origins, if they may"
            )
        return None

    def _crowd(self, path: str) -> RefusalError | None:
        most = self.settings.connections
        if self.under_way <= most or path == OPEN:
            return None
        return busy(f"{most} requests are under way already (serving.connections); try again later", 1, 503)

    def _known(self, host: str) -> bool:
        """An address of numbers is no name that somebody else could point here."""
        name = _name(host)
        if name is None:
            return False
        known = {"localhost", self.host.lower(), *(each.lower() for each in self.settings.hosts)}
        return "*" in self.settings.hosts or name in known or name.endswith(".localhost") or _numbers(name)

    def _welcome(self, origin: str, host: str) -> bool:
        """A page of this very server, or one that is allowed; browsers tell of other pages where they are from."""
        allowed = self.settings.origins
        return "*" in allowed or origin in allowed or origin.partition("://")[2].lower() == host.lower()

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.add(route, status, seconds)
        if self.settings.log == "requests" or status >= 500:
            about = scope.get("state", {}).get("about", "")
            path = scope["path"][:100]
            self.log(f"{scope['method']} {path} {status or 'gone'} {seconds * 1000:.0f} ms{about and ' ' + about}")


class Keeper:
    """Lets in whoever carries the token; compared in a time that tells nothing of it. free: paths that need none."""

    def __init__(self, app: App, token: str, free: frozenset[str] = frozenset()) -> None:
        self.app, self.token, self.free = app, token.encode(), free | {OPEN}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else ""
        scheme, _, token = given.partition(" ")
        right = hmac.compare_digest(token.encode("latin-1"), self.token) and scheme.lower() == "bearer"
        if right or scope["type"] != "http" or scope["path"] in self.free:
            await self.app(scope, receive, send)
        else:
            why = "a token is needed: Authorization: Bearer …" if not given else "not the right token"
            await refused(RefusalError(401, why, {"WWW-Authenticate": "Bearer"}), scope, receive, send)


async def refused(refusal: RefusalError, scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse(refusal.content(scope["path"]), refusal.status, dict(refusal.headers or {}))
    await answer(scope, receive, send)


def _name(host: str) -> str | None:
    """Without the port; None: it is no host."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _numbers(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
