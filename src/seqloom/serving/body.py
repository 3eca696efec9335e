"""A request's JSON: as long as it may be, as deep as it may be, and of any content type.

Ollama's own examples send JSON as if it were a form. That a foreign page could send such a thing without asking is no
matter here: the gate refuses pages of other origins.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from seqloom.jobs.asked_lines import parsed
from seqloom.serving.refusal import RefusalError


class JsonRequest(Request):
    """Reads no more than `serving.body` bytes."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            most = self.app.state.service.settings.body
            said = self.headers.get("content-length", "")
            if said.isdecimal() and int(said) > most:
                raise _too_long(most)
            parts, size = list[bytes](), 0
            async for part in self.stream():
                size += len(part)
                if size > most:
                    raise _too_long(most)
                parts.append(part)
            self._body = b"".join(parts)
        return self._body

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


def _too_long(most: int) -> RefusalError:
    return RefusalError(
        413, f"the body has more than {most:,} bytes (serving.body); send less at once", {"Connection": "close"}
    )
