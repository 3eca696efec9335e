"""From a request to tickets, and from what they hear to answers; whoever goes away gives up his places."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.looking.notes import unread
from seqloom.serving.desk import Desk
from seqloom.serving.log import Log
from seqloom.serving.refusal import RefusalError, refusal_of
from seqloom.serving.settings import ServingSettings
from seqloom.serving.ticket import Event, Failed, Going, Said, Ticket
from seqloom.settings import UserError

T = TypeVar("T")
Receive = Callable[[], Awaitable[Any]]
UNREAD = 32  # tokens that wait to be sent, each with the text before it


@dataclass(frozen=True)
class Wish:
    """One input, and how it is to be answered. number: its place in the request, on which chance hangs."""

    question: Question
    number: int
    settings: GenerationSettings
    attention: bool = False
    watched: bool = False
    stops: tuple[str, ...] = ()


class Pending:
    """What was asked, and what is heard of it. notes: what should be known of each input."""

    def __init__(self, asked: Sequence[Prepared], notes: Sequence[tuple[str, ...]], log: Log) -> None:
        self.asked, self.notes, self.log = asked, notes, log
        self._events: asyncio.Queue[tuple[int, Event]] = asyncio.Queue()
        self._unread = [0] * len(asked)

    def hear(self, place: int, event: Event) -> None:
        """To a slow reader not every token is told by itself: the next one to be told brings all text before it."""
        if not isinstance(event, Going) or self._unread[place] < UNREAD:
            self._unread[place] += 1
            self._events.put_nowait((place, event))

    @property
    def read(self) -> int:
        """Tokens of all inputs."""
        return sum(len(one.item.source) for one in self.asked if one.item is not None)

    def noted(self, each: int = 1) -> dict[str, list[str]]:
        """What should be known of the inputs, as a field of an answer: words that the vocabulary does not have, what
        was left out. Not there, where there is nothing to tell. each: so many inputs after each other are the same."""
        own = self.notes[::each]
        told = [f"input {at}: {note}" if len(own) > 1 else note for at, notes in enumerate(own, 1) for note in notes]
        return {"notes": told} if told else {}

    async def heard(self) -> AsyncIterator[tuple[int, Going | Said]]:
        """Each input's number with what is known of it, until all have their answers."""
        left = len(self.asked)
        while left:
            place, event = await self._events.get()
            self._unread[place] -= 1
            if isinstance(event, Failed):
                raise refusal_of(event.error, self.log)
            left -= isinstance(event, Said)
            yield place, event

    async def said(self) -> list[Said]:
        """The answers to all inputs, in their order."""
        found: dict[int, Said] = {}
        async for place, event in self.heard():
            if isinstance(event, Said):
                found[place] = event
        return [found[place] for place in range(len(self.asked))]


@asynccontextmanager
async def pending(
    desk: Desk, inputs: int, wishes: Callable[[], list[Wish]], limits: ServingSettings, log: Log
) -> AsyncIterator[Pending]:
    """wishes: of so many inputs; made in the desk's own thread, as cutting long texts takes its time."""
    if inputs > limits.inputs:
        raise RefusalError(422, f"{inputs} inputs, but a request may have {limits.inputs} (serving.inputs)")
    loop = asyncio.get_running_loop()
    desk.promise(inputs)
    tickets = list[Ticket]()
    try:
        made, asked, notes = await loop.run_in_executor(desk.preparing, _prepared, desk, wishes, limits)
        waiting = Pending(asked, notes, log)

        def tell(place: int, event: Event) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                loop.call_soon_threadsafe(waiting.hear, place, event)

        for place, (wish, one) in enumerate(zip(made, asked, strict=True)):
            hear = partial(tell, place)
            tickets.append(Ticket(one, wish.settings, hear, wish.attention, wish.watched, wish.stops))
        desk.put(tickets)
    except BaseException:
        desk.forgo(inputs)
        raise
    try:
        yield waiting
    finally:
        for ticket in tickets:
            ticket.gone = True


def _prepared(
    desk: Desk, wishes: Callable[[], list[Wish]], limits: ServingSettings
) -> tuple[list[Wish], list[Prepared], list[tuple[str, ...]]]:
    try:
        made = wishes()
    except UserError as error:
        raise RefusalError(422, str(error)) from None
    desk.model.look_over([wish.question for wish in made])
    asked = [_one(desk, place, wish, limits) for place, wish in enumerate(made, 1)]
    return made, asked, [unread(one, desk.model.task.codecs.source) for one in asked]


def _one(desk: Desk, place: int, wish: Wish, limits: ServingSettings) -> Prepared:
    if (wish.question.longest or 0) > limits.max_tokens:
        raise RefusalError(422, f"input {place}: answers have at most {limits.max_tokens} tokens (serving.max_tokens)")
    try:
        one = desk.model.prepare(wish.question, wish.number, wish.settings)
    except UserError as error:
        raise RefusalError(422, f"input {place}: {error}") from None
    if one.item is None:
        return one
    steps = len(one.question.source) if desk.model.reads_series else len(one.item.source)
    tokens = steps + one.cut
    if tokens > limits.input_tokens:
        most = limits.input_tokens
        raise RefusalError(422, f"input {place}: {tokens} tokens, but at most {most} are read (serving.input_tokens)")
    return replace(one, item=replace(one.item, longest=min(one.item.longest, limits.max_tokens)))


async def attended(receive: Receive, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What comes of the work; it is given up when whoever asked is gone, or the time is over."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if leaving.done():
            raise RefusalError(499, "the client has gone")
        raise RefusalError(408, f"not answered within {seconds:g} seconds (serving.seconds); ask for less at once")
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(leaving, working, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
