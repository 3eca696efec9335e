"""A request's JSON: as long as it may be, as deep as it may be, and of any content type.

Ollama's own examples send JSON as if it were a form. That a foreign page could send such a thing without asking is no
matter here: the gate refuses pages of other origins.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from seqloom.jobs.lines.asked_json import parsed
from seqloom.serving.refusal import RefusalError

DRAINED = 16  # times `serving.body` that are read, and thrown away, of a body that is too long
PATIENCE = 2.0  # seconds for it
CLOSE = {"Connection": "close"}


class JsonRequest(Request):
    """Reads no more than `serving.body` bytes."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            settings = self.app.state.service.settings
            try:
                async with asyncio.timeout(settings.seconds):
                    self._body = await self._read(settings.body)
            except TimeoutError:
                message = f"the body did not come within {settings.seconds:g} seconds (serving.seconds)"
                raise RefusalError(408, message, CLOSE) from None
        return self._body

    async def _read(self, most: int) -> bytes:
        said = self.headers.get("content-length", "")
        parts, size, coming = list[bytes](), int(said) if said.isdecimal() else 0, self.stream()
        if size <= most:
            size = 0
            async for part in coming:
                size += len(part)
                if size > most:
                    break
                parts.append(part)
        if size > most:
            await _drained(coming, DRAINED * most)
            raise RefusalError(413, f"the body has more than {most:,} bytes (serving.body); send less at once", CLOSE)
        return b"".join(parts)

    async def json(self) -> Any:
        try:
            return parsed((await self.body()).decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise RefusalError(400, "the body is no UTF-8 text") from None
        except (json.JSONDecodeError, ValueError) as error:
            raise RefusalError(400, f"the body is no JSON: {error}") from None


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            others = [pair for pair in request.scope["headers"] if pair[0] != b"content-type"]
            scope = {**request.scope, "headers": [*others, (b"content-type", b"application/json")]}
            return await handler(JsonRequest(scope, request.receive))

        return handle


async def _drained(coming: AsyncIterator[bytes], most: int) -> None:
    """A connection that is closed while more comes is reset, and whoever sends hears nothing of the reason."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            async for part in coming:
                most -= len(part)
                if most < 0:
                    break
