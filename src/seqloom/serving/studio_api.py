"""/studio/api: what the page is told of the models, and of what goes on inside them (decision 0024).

All of it is made in the desk's own thread, a part at a time, between the steps of those who only want answers.
"""

import json
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from seqloom.jobs.lines.json_line import json_line
from seqloom.jobs.look import Look, flow
from seqloom.jobs.looking.beam import beam as searched_tree
from seqloom.jobs.looking.documents import to_json
from seqloom.jobs.looking.progress import Progress
from seqloom.serving.asking import attended
from seqloom.serving.body import JsonRoute
from seqloom.serving.desk import Desk
from seqloom.serving.errand import Hearing, Until, errand
from seqloom.serving.plain_json import PlainJson
from seqloom.serving.refusal import RefusalError
from seqloom.serving.service import Service, service
from seqloom.serving.stream import LINES, Stream
from seqloom.serving.studio_requests import OUTSIDE, AttentionRequest, BoxRequest, StudioRequest
from seqloom.settings import UserError
from seqloom.store import RunFolder

PATH = "/studio/api"
router = APIRouter(route_class=JsonRoute, prefix=PATH, tags=["the studio"])
Parts = Callable[[Desk], Iterator[Any]]
"""Work in the desk's thread: None or Until between its steps, and what came of it, as JSON."""


@router.get("/models", summary="The models, and what kind of input each takes")
async def models(request: Request) -> Any:
    """Those that are still training, and have no model yet, have an empty kind: only their training can be seen."""
    books = service(request).shelf.books.values()
    return PlainJson({"models": [{**book.entry, "training": await to_thread(book.trains)} for book in books]})


@router.get("/flow", summary="A model as boxes and edges, without an input")
async def draw(request: Request, model: str | None = None) -> Any:
    return await _one(request, model, lambda desk: iter([json_line(to_json(flow(desk.model)))]))


@router.post("/answer", summary="What the model says, each step with alternatives")
async def answer(asked: StudioRequest, request: Request) -> Any:
    return await _look(request, asked, "answer", Look.answer)


@router.post("/trace", summary="What every box made of the input, summed up")
async def trace(asked: StudioRequest, request: Request) -> Any:
    return await _look(request, asked, "trace", Look.trace)


@router.post("/box", summary="The matrices of one box, and its equation with these numbers")
async def box(asked: BoxRequest, request: Request) -> Any:
    name = f"box {asked.box} {asked.row} {asked.head}"
    return await _look(request, asked, name, lambda look: look.box(asked.box, asked.row, asked.head))


@router.post("/attention", summary="Where every layer and head looks")
async def attention(asked: AttentionRequest, request: Request) -> Any:
    name = f"attention {asked.weights} {asked.layer}"
    return await _look(request, asked, name, lambda look: look.attention(asked.weights, asked.layer))


@router.post("/influence", summary="What each token of the answer hangs on: each word of the input left out in turn")
async def influence(asked: StudioRequest, request: Request) -> Any:
    limits = service(request).settings

    def parts(desk: Desk) -> Iterator[Any]:
        look = asked.kept(desk, limits)
        asked.refuse_long(desk, look, limits, inside=True)
        yield from asked.found(desk, look)
        asked.refuse_long(desk, look, limits, inside=True)
        made: list[Any] = []
        for found in look.influences() if "influence" not in look.kept else ():
            made.append(found)
            yield None
        yield asked.written(desk, look, limits, "influence", lambda _: made[-1])

    return await _one(request, asked.model, parts)


@router.post("/beam", summary="The search for the answer: every candidate of every step")
async def beam(asked: StudioRequest, request: Request) -> Any:
    limits = service(request).settings

    def parts(desk: Desk) -> Iterator[Any]:
        look = asked.kept(desk, limits)
        yield from asked.found(desk, look)
        made: list[Any] = []
        for tree in searched_tree(look) if "beam" not in look.kept else ():
            made.append(tree)
            yield None
        yield asked.written(desk, look, limits, "beam", lambda _: made[-1])

    return await _one(request, asked.model, parts)


@router.post("/write", summary="The answer as it is written: lines of JSON")
async def write(asked: StudioRequest, request: Request) -> Any:
    """{"step": …} for each token as soon as it is sure, then {"answer": …}."""
    it, held = service(request), AsyncExitStack()

    def parts(desk: Desk) -> Iterator[Any]:
        look = asked.kept(desk, it.settings)
        told = 0
        for step in asked.searched(desk, look):
            if step is None or isinstance(step, Until):
                yield step
            else:
                told += 1
                yield json_line({"step": to_json(step)})
        answer = asked.written(desk, look, it.settings, "answer", Look.answer)
        yield from (json_line({"step": step}) for step in json.loads(answer)["steps"][told:])
        yield f'{{"answer": {answer.strip()}}}\n'

    async def begun() -> Hearing:
        return await _hearing(it, request, asked.model, parts, held)

    try:
        hearing = await attended(request.receive, it.settings.seconds, begun())
    except BaseException:
        await held.aclose()
        raise
    return Stream(_lines(hearing), held, LINES, it.settings.seconds, lambda no: json_line(no.content(PATH)))


@router.get("/training", summary="The curves of a run, also while it trains, and its attention as it took shape")
async def training(request: Request, model: str | None = None) -> Any:
    it = service(request)
    book = it.shelf.find(model)
    it.about(request, book.name, 0)
    if book.lecture:
        raise RefusalError(404, "the lecture's model came along trained: there is no training to be seen")
    if book.progress is None:
        book.progress = Progress(RunFolder(book.path))
    async with book.reading:
        try:
            return PlainJson(await to_thread(book.progress.document))
        except UserError as error:
            raise RefusalError(404, f"model {book.name!r}: {error}") from None


async def _look(request: Request, asked: StudioRequest, name: str, make: Callable[[Look], Any]) -> Response:
    """A document of a look, which is kept for the next one."""
    limits = service(request).settings

    def parts(desk: Desk) -> Iterator[Any]:
        look = asked.kept(desk, limits)
        asked.refuse_long(desk, look, limits, inside=name not in OUTSIDE)
        yield from asked.found(desk, look)
        yield asked.written(desk, look, limits, name, make)

    return await _one(request, asked.model, parts)


async def _one(request: Request, model: str | None, parts: Parts) -> Response:
    it = service(request)

    async def work() -> Any:
        async with AsyncExitStack() as held:
            return await (await _hearing(it, request, model, parts, held)).only()

    return Response(await attended(request.receive, it.settings.seconds, work()), media_type="application/json")


async def _hearing(it: Service, request: Request, model: str | None, parts: Parts, held: AsyncExitStack) -> Hearing:
    """The work has its place in the desk's queue; when `held` is closed, it is given up."""
    book = it.shelf.find(model)
    it.about(request, book.name, 1)
    desk = await held.enter_async_context(it.shelf.use(book))
    return await held.enter_async_context(errand(desk, lambda: parts(desk), it.log))


async def _lines(hearing: Hearing) -> AsyncIterator[str]:
    async for part in hearing.parts():
        yield part
