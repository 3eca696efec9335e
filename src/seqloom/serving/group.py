"""Tickets that are written together: they join at any step, and leave as soon as they are done or given up."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from seqloom.generation.draft import Draft
from seqloom.generation.pace import STEPS
from seqloom.jobs.answering.writing import Writer, nothing_said, together
from seqloom.serving.ticket import Going, Said, Ticket, Together


class Group:
    def __init__(self, writer: Writer, key: Together) -> None:
        self.writer, self.attention = writer, key.attention
        self.writing = writer.writing(key.settings, key.attention, key.plain)
        self.tickets: dict[int, Ticket] = {}  # by the identity of their items
        self.final = self.writing.beam == 1 and self.writing.samples == 1
        """A token that was written stays as it is."""

    @property
    def most(self) -> int:
        """How many may be written together with those that are here."""
        each = (together(ticket.item, ticket.settings) for ticket in self.tickets.values() if ticket.item is not None)
        return min(each, default=sys.maxsize)

    def begin(self, tickets: Sequence[Ticket]) -> None:
        items = []
        for ticket in tickets:
            if ticket.item is None:
                ticket.hear(Said([nothing_said(ticket.asked)]))
            else:
                items.append(ticket.item)
                self.tickets[id(ticket.item)] = ticket
        self.writing.begin(items)

    def step(self, others: bool) -> int:
        """One more token to each, or some, and those that are done hear of it. How many tokens were written.

        others: somebody else waits for the turn.
        """
        self._let_go()
        heard = self.final and any(map(self._listens, self.writing.drafts))
        complete = self.writing.step(1 if others or heard else STEPS)
        for draft in complete:
            self._finish(draft)
        if self.final:
            self._tell()
        return self.writing.given

    def _let_go(self) -> None:
        """Those whom nobody waits for any more."""
        gone = {place for place, draft in enumerate(self.writing.drafts) if self.tickets[id(draft.item)].gone}
        keys = {id(self.writing.drafts[place].item) for place in gone}
        self.writing.leave(gone)
        for key in keys:
            del self.tickets[key]

    def _finish(self, draft: Draft) -> None:
        ticket = self.tickets.pop(id(draft.item))
        answers = self.writer.said(ticket.asked, self.writing.answers(draft), ticket.settings, self.attention)
        ends = [ticket.stop_at(answer.text) for answer in answers]
        cut = [
            answer if end is None else replace(answer, text=answer.text[:end])
            for answer, end in zip(answers, ends, strict=True)
        ]
        ticket.hear(Said(cut, any(end is not None for end in ends[:1])))

    def _tell(self) -> None:
        """What is written so far, to whoever listens or has said where to stop."""
        drafts = self.writing.drafts
        places = [place for place, draft in enumerate(drafts) if self._listens(draft)]
        done = set[int]()
        for place, written in zip(places, self.writing.so_far(places), strict=True):
            ticket = self.tickets[id(drafts[place].item)]
            text = self.writer.text(drafts[place].item, written.tokens)
            end = ticket.stop_at(text)
            if end is not None:
                del self.tickets[id(drafts[place].item)]
                (answer,) = self.writer.said(ticket.asked, [written], ticket.settings, self.attention)
                ticket.hear(Said([replace(answer, text=text[:end])], stopped=True))
                done.add(place)
            elif ticket.watched:
                ticket.hear(Going(text, len(written.tokens)))
        self.writing.leave(done)

    def _listens(self, draft: Draft) -> bool:
        ticket = self.tickets[id(draft.item)]
        return ticket.watched or bool(ticket.stops)
