"""Other work for a desk's thread than tickets: done a part at a time, so that those who write wait for one part only.

It is done in that thread because looking into a model hangs hooks onto its layers, which no other thread may run
through meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.serving.log import Log
from seqloom.serving.refusal import refusal_of

if TYPE_CHECKING:
    from seqloom.serving.desk import Desk

END = object()  # behind the last part
UNREAD = 64  # parts that wait for a slow reader; then the work waits too


@dataclass(frozen=True)
class Until:
    """Nothing yet, and there is nothing to do before this is true. It is asked often, in the desk's thread."""

    true: Callable[[], bool]


NOW = Until(lambda: True)


class Errand:
    """parts: what is made, one after the other; None or Until: nothing yet. Between two of them the thread does other
    things, so that nothing may be left hanging on the model. hear: is called with each, with END, or with what went
    wrong, in the desk's thread."""

    def __init__(self, parts: Callable[[], Iterator[Any]], hear: Callable[[Any], None]) -> None:
        self._begin, self._parts, self._hear = parts, iter(()), hear
        self._begun, self._until = False, NOW
        self.gone = False
        """Nobody waits for it any more."""
        self.made, self.read = 0, 0  # parts: one is written by the desk's thread, the other by the reader's

    @property
    def waits(self) -> bool:
        """Its reader is slow, or somebody else has to do something first."""
        return not self.gone and (self.made - self.read >= UNREAD or not self._until.true())

    def go_on(self) -> bool:
        """One part more; False: that was all."""
        if self.gone:
            self._parts = iter(())
            return False
        try:
            if not self._begun:
                self._parts, self._begun = self._begin(), True
            part = next(self._parts, END)
        except Exception as error:  # whatever it is, it is this errand's
            self.fail(error)
            return False
        self._until = part if isinstance(part, Until) else NOW
        if part is not None and not isinstance(part, Until):
            self.made += 1
            self._hear(part)
        return part is not END

    def fail(self, error: Exception) -> None:
        self._hear(error)


class Hearing:
    """The parts of an errand, in the event loop."""

    def __init__(self, errand: Errand, parts: asyncio.Queue[Any], log: Log) -> None:
        self.errand, self._parts, self.log = errand, parts, log

    async def parts(self) -> AsyncIterator[Any]:
        while True:
            part = await self._parts.get()
            self.errand.read += 1
            if part is END:
                return
            if isinstance(part, Exception):
                raise refusal_of(part, self.log)
            yield part

    async def only(self) -> Any:
        """Of work that is one part."""
        async for part in self.parts():
            return part
        raise RuntimeError("an errand that brought nothing")


@asynccontextmanager
async def errand(
    desk: "Desk", parts: Callable[[], Iterator[Any]], log: Log, promised: bool = False
) -> AsyncIterator[Hearing]:
    """Refused if too many wait already, unless a place was promised. Whoever leaves gives it up."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Queue[Any] = asyncio.Queue()

    def hear(part: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(heard.put_nowait, part)

    work = Errand(parts, hear)
    desk.run(work, promised)
    try:
        yield Hearing(work, heard, log)
    finally:
        work.gone = True
