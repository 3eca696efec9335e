"""Answers that are sent while they are written."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

from starlette.responses import Response

from seqloom.serving.asking import attended
from seqloom.serving.refusal import RefusalError

EVENTS, LINES = "text/event-stream", "application/x-ndjson"
LAST = 1.0  # seconds for the last words to a reader that was too slow


class Stream(Response):
    """Ends when whoever listens is gone, or the time is over; then what is being written is given up.

    held: is closed in the end, whatever happens. sorry: the last part, where it says why there are no more.
    """

    def __init__(
        self,
        parts: AsyncIterator[str],
        held: AsyncExitStack,
        media_type: str,
        seconds: float,
        sorry: Callable[[RefusalError], str],
    ) -> None:
        super().__init__(media_type=media_type)
        self.parts, self.held, self.seconds, self.sorry = parts, held, seconds, sorry
        del self.headers["content-length"]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self.held:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            try:
                await attended(receive, self.seconds, self._send(send))
            except RefusalError as refusal:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST):
                        await send(_body(self.sorry(refusal)))
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST):
                await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Any) -> None:
        async for part in self.parts:
            await send(_body(part))


def _body(part: str) -> dict[str, Any]:
    return {"type": "http.response.body", "body": part.encode(), "more_body": True}
