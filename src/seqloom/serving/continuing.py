"""Prompts through the engine: answered as a whole, or part by part."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

from starlette.requests import Request

from seqloom.serving.asking import Pending, attended, pending
from seqloom.serving.prompting import Prompting
from seqloom.serving.refusal import RefusalError
from seqloom.serving.service import Service
from seqloom.serving.shelf import Book
from seqloom.serving.stream import Stream
from seqloom.serving.ticket import Said

Parts = Callable[[Pending], AsyncIterator[str]]
Sorry = Callable[[RefusalError], str]


async def whole(it: Service, request: Request, book: Book, prompting: Prompting) -> tuple[Pending, list[Said]]:
    """All that was written, in the order of the prompts."""
    _look_at(it, request, book, prompting)

    async def work() -> tuple[Pending, list[Said]]:
        async with AsyncExitStack() as held:
            waiting = await _begun(it, book, prompting, held)
            return waiting, await waiting.said()

    return await attended(request.receive, it.settings.seconds, work())


async def streamed(
    it: Service, request: Request, book: Book, prompting: Prompting, parts: Parts, media_type: str, sorry: Sorry
) -> Stream:
    """Once it is in the queue, so that whoever is refused hears of it by the status."""
    _look_at(it, request, book, prompting)
    began, held = time.monotonic(), AsyncExitStack()
    try:
        waiting = await attended(request.receive, it.settings.seconds, _begun(it, book, prompting, held))
    except BaseException:
        await held.aclose()
        raise
    left = max(0.0, it.settings.seconds - (time.monotonic() - began))
    return Stream(parts(waiting), held, media_type, left, sorry)


def _look_at(it: Service, request: Request, book: Book, prompting: Prompting) -> None:
    it.about(request, book.name, prompting.inputs)
    if book.kind not in ("translate", "language"):  # labels and gaps are not written
        raise RefusalError(422, f"model {book.name!r} writes no text ({book.kind}); ask it with POST /v1/predict")
    if not prompting.prompts:
        raise RefusalError(422, "prompt: an empty list; give one at least")


async def _begun(it: Service, book: Book, prompting: Prompting, held: AsyncExitStack) -> Pending:
    """In the queue; when `held` is closed, the places are given up."""
    desk = await held.enter_async_context(it.shelf.use(book))
    work = pending(desk, prompting.inputs, lambda: prompting.wishes(desk), it.settings, it.log)
    return await held.enter_async_context(work)
