"""One model and all that is asked of it: a queue of bounded length before one engine, whose rows never idle."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.answering.writing import Writer, together
from seqloom.jobs.model import Model
from seqloom.serving.counts import Counts
from seqloom.serving.errand import Errand
from seqloom.serving.group import Group
from seqloom.serving.looks import Looks
from seqloom.serving.refusal import RefusalError, busy
from seqloom.serving.ticket import Failed, Said, Ticket, Together
from seqloom.serving.weight import weight

AT_ONCE = 512  # inputs that are in work, if each of them is small
ERRANDS = 32  # that may wait, or be under way
PATIENCE = 0.05  # seconds, until it is looked again whether a slow reader has read
SLOWEST = 60.0  # seconds after which a client is asked to try again, at most


class Desk:
    """Tickets are answered in a thread of its own; those of like settings together, and each joins at once.

    changes: how it writes if a request says nothing, as for --set. queue: inputs that may wait. look_room: bytes that
    are kept of what was looked at.
    """

    def __init__(
        self, name: str, model: Model, changes: Sequence[str], queue: int, counts: Counts, look_room: float = 1e8
    ) -> None:
        self.name, self.model, self.changes, self.queue, self.counts = name, model, tuple(changes), queue, counts
        self.settings = generation_of(model.opened[0], changes)
        self.bytes = weight(model)
        self.looks = Looks(look_room)
        self.preparing = ThreadPoolExecutor(1, thread_name_prefix=f"prepare {name}")
        self._changed = threading.Condition()
        self._waiting: deque[Ticket] = deque()
        self._groups: dict[Together, Group] = {}
        self._errands: deque[Errand] = deque()
        self._promised = 0  # places of the queue that are taken, by tickets that wait or are being prepared
        self._closed = False
        self._each = 0.1  # seconds that an input took lately, when others were answered too
        self._spent = 0.0  # seconds of work since an input ended last
        self._thread = threading.Thread(target=self._work, name=f"desk {name}", daemon=True)
        self._thread.start()

    def promise(self, inputs: int) -> None:
        """Places in the queue; it is refused if there are none. The engine gives each up again, or `forgo`."""
        with self._changed:
            if self._closed:
                raise busy(f"model {self.name!r}: is being put away; try again", 1, 503)
            if self._promised + inputs > self.queue:
                seconds = min(SLOWEST, self._promised * self._each)
                raise busy(f"too many requests: {self._promised} inputs wait already; try again later", seconds)
            self._promised += inputs

    def forgo(self, inputs: int) -> None:
        with self._changed:
            self._promised -= inputs

    def put(self, tickets: Sequence[Ticket]) -> None:
        """Into the places that were promised."""
        with self._changed:
            if self._closed:
                raise RefusalError(503, f"model {self.name!r}: the server stops")
            self._waiting.extend(tickets)
            self._changed.notify()

    def run(self, errand: Errand, promised: bool = False) -> None:
        """Other work in the same thread, when it is its turn. promised: it has a place in the queue."""
        with self._changed:
            if self._closed:
                raise RefusalError(503, f"model {self.name!r}: the server stops")
            if not promised and len(self._errands) >= ERRANDS:
                raise busy(f"too many requests: {ERRANDS} looks into the model wait already; try again later", 1)
            self._errands.append(errand)
            self._changed.notify()

    @property
    def waiting(self) -> int:
        return self._promised

    @property
    def writing(self) -> int:
        """Inputs that are being answered."""
        return sum(len(group.tickets) for group in list(self._groups.values()))

    def close(self) -> None:
        """What is left fails; the model is let go of."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self.preparing.shutdown(cancel_futures=True)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._groups or self._closed or self._errands):
                    self._changed.wait()
                if self._closed:
                    break
                new = self._let_in()
            self._begin(new)
            for key in list(self._groups):
                self._step(key)
            self._go_on()
        for errand in self._errands:
            errand.fail(RefusalError(503, f"model {self.name!r}: the server stops"))
        left = [*self._waiting, *(ticket for group in self._groups.values() for ticket in group.tickets.values())]
        self._groups.clear()
        self._fail(left, RefusalError(503, f"model {self.name!r}: the server stops"))

    def _go_on(self) -> None:
        """One part of the errand whose turn it is; then it is the next one's."""
        with self._changed:
            errand = next((one for one in self._errands if not one.waits), None)
            if errand is None:
                if self._errands and not (self._waiting or self._groups):
                    self._changed.wait(PATIENCE)  # for slow readers, or whom else they wait for
                return
            self._errands.remove(errand)
        if errand.go_on():
            with self._changed:
                self._errands.append(errand)

    def _let_in(self) -> list[Ticket]:
        """Those for whom there is room, in their order: a long input has few others beside it, and waits for that.

        Those whom nobody waits for any more leave the queue.
        """
        before = len(self._waiting)
        self._waiting = deque(ticket for ticket in self._waiting if not ticket.gone)
        self._promised -= before - len(self._waiting)
        new, rows = list[Ticket](), self.writing
        most = min((group.most for group in self._groups.values()), default=AT_ONCE)
        while self._waiting:
            ticket = self._waiting[0]
            most = most if ticket.item is None else min(most, together(ticket.item, ticket.settings))
            if rows >= most:
                break
            new.append(self._waiting.popleft())
            rows += 1
        self._promised -= len(new)
        return new

    def _begin(self, new: Sequence[Ticket]) -> None:
        each: dict[Together, list[Ticket]] = {}
        for ticket in new:
            each.setdefault(ticket.together, []).append(ticket)
        for key, tickets in each.items():
            try:
                self._begin_together(key, tickets)
            except Exception as error:  # whatever it is, it is theirs, and of those whom they were to join
                group = self._groups.pop(key, None)
                others = [] if group is None else [one for one in group.tickets.values() if one not in tickets]
                self._fail([*tickets, *others], error)

    def _begin_together(self, key: Together, tickets: Sequence[Ticket]) -> None:
        writer = self.model.writer
        if writer is None:
            self._label(tickets)
            return
        if self._at_once(writer, key, tickets):
            self._write_at_once(writer, key, tickets)
            return
        if key not in self._groups:
            self._groups[key] = Group(writer, key)
        began = time.monotonic()
        self._groups[key].begin(tickets)
        self._spent += time.monotonic() - began

    def _label(self, tickets: Sequence[Ticket]) -> None:
        """Answers that are not written: all of them in one pass."""
        began = time.monotonic()
        asked = [replace(ticket.asked, number=number) for number, ticket in enumerate(tickets)]
        settings, attention = tickets[0].settings, tickets[0].attention
        for number, answers in self.model.answer(asked, settings, attention):
            tickets[number].hear(Said(answers))
        self._done(len(tickets), time.monotonic() - began)

    def _at_once(self, writer: Writer, key: Together, tickets: Sequence[Ticket]) -> bool:
        """Whether another engine writes them, or may: it cannot be looked at on the way, nor joined."""
        if self._groups or any(ticket.watched or ticket.stops for ticket in tickets):
            return False
        items = [ticket.item for ticket in tickets if ticket.item is not None]
        return bool(items) and writer.other_engine(items, key.settings, key.attention)

    def _write_at_once(self, writer: Writer, key: Together, tickets: Sequence[Ticket]) -> None:
        began = time.monotonic()
        asked = [replace(ticket.asked, number=number) for number, ticket in enumerate(tickets)]
        asked = [one if one.item is None else replace(one, item=replace(one.item, number=one.number)) for one in asked]
        with self.model.named():
            said = dict(writer.answer(asked, key.settings, key.attention))  # all of it, or they fail together
        for number, answers in said.items():
            tickets[number].hear(Said(answers))
        self.counts.add(self.name, tokens=sum(len(answers[0].tokens) for answers in said.values()))
        self._done(len(tickets), time.monotonic() - began)

    def _step(self, key: Together) -> None:
        began, group = time.monotonic(), self._groups[key]
        try:
            with self.model.named():
                before = len(group.tickets)
                written = group.step(others=len(self._groups) > 1 or bool(self._errands))
        except Exception as error:  # whatever it is, it is these tickets': the others go on
            self._fail(list(group.tickets.values()), error)
            del self._groups[key]
            return
        self.counts.add(self.name, tokens=written)
        self._done(before - len(group.tickets), time.monotonic() - began)
        if not group.tickets:
            del self._groups[key]

    def _done(self, inputs: int, seconds: float) -> None:
        """inputs: that ended in these seconds; what was worked for them before is theirs too."""
        self.counts.add(self.name, inputs)
        self._spent += seconds
        if inputs:
            self._each += 0.1 * (self._spent / inputs - self._each)
            self._spent = 0.0

    def _fail(self, tickets: Sequence[Ticket], error: Exception) -> None:
        self._spent = 0.0  # it says nothing of how long an answer takes
        for ticket in tickets:
            ticket.hear(Failed(error))
