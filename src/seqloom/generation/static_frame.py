"""Items that are written together on buffers that stay where they are: they come, are written step by step, and go."""
# A items  K hypotheses to each  R = A·K rows

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.beam_books import BeamBooks
from seqloom.generation.contract import Item, StaticScorer, Written
from seqloom.generation.greedy_books import GreedyBooks
from seqloom.generation.on_its_way import OnItsWay, sent
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.static_intake import Intake
from seqloom.generation.tops import tops
from seqloom.layers.mixer import State
from seqloom.layers.recording import Recording, Tape
from seqloom.layers.static_state import Places, Rows, Size, first, move, put, settle, static_like

LOOK = 2  # steps between two looks at who is done
FEWEST = 16  # items: with fewer, a step is no faster


@dataclass(eq=False)
class Writ:
    """An item that is being written. begun, until: how many steps the frame had before its first one, and has had when
    it must be done."""

    item: Item
    place: int
    begun: int
    until: int


@dataclass(frozen=True)
class _Look:
    """Who was done behind some steps, of those who were written then. done_A is by the places that they had then.

    Who was done is done still, wherever it stands now, if it has not left; whoever has its place now is another.
    """

    writs: dict[int, Writ]
    done_A: OnItsWay


class Frame:
    """Room for so many items, of so many steps, over so many source positions."""

    @torch.inference_mode()
    def __init__(
        self,
        scorer: StaticScorer,
        settings: GenerationSettings,
        tape: Tape,
        example: State,
        items: int,
        steps: int,
        source: int,
    ) -> None:
        self.scorer, self.settings, self.tape = scorer, settings, tape
        self.fan = settings.beam
        device = scorer.device
        whole = items + 1  # the last place is for nobody
        self.places = Places.empty(whole, self.fan, steps, device)
        self.state = static_like(example, Size(whole, self.fan, steps, source, self.places))
        self.books: GreedyBooks | BeamBooks
        if self.fan == 1:
            self.books = GreedyBooks.empty(whole, steps, device)
        else:
            self.books = BeamBooks.empty(whole, settings, steps, device)
        self.intake = Intake(scorer, tape, (self.places, self.state, self.books), self.fan, items, source)
        self.never_V = torch.zeros(scorer.size, dtype=torch.bool, device=device)
        self.never_V.index_fill_(0, scorer.never_N, True)
        self.room = items  # items that there is room for
        self.count = items  # of these, as many take part
        self.writs: dict[int, Writ] = {}  # by their places
        self.steps = 0  # that were asked for, in all
        self._until = 0  # as many as the longest answers may take
        self._looks = deque[_Look]()  # that are on their way
        self._recordings: dict[int, Recording] = {}

    @property
    def free(self) -> list[int]:
        return [place for place in range(self.room) if place not in self.writs]

    @torch.inference_mode()
    def read(self, items: Sequence[Item]) -> bool:
        """These take free places. False: they do not, as they have to be started otherwise."""
        places = self.free[: len(items)]
        read = self.intake.begin(places, items)
        if read:
            self._taken(places, items)
        return read

    @torch.inference_mode()
    def begin(self, items: Sequence[Item], state: State, last_A: Tensor) -> None:
        """These take free places. state: as the scorer started them."""
        places = self.free[: len(items)]
        rows = Rows(sent(places, last_A.device), self.fan)
        self.places.begin(rows)
        put(self.state, rows, state)
        longest_A = sent([item.longest for item in items], last_A.device)
        self.books.begin(rows.items_A, longest_A, last_A)
        self._taken(places, items)

    def _taken(self, places: Sequence[int], items: Sequence[Item]) -> None:
        for place, item in zip(places, items, strict=True):
            self.writs[place] = Writ(item, place, self.steps, self.steps + item.longest + 1)
        self._limit()
        self._widen()

    def _limit(self) -> None:
        """Of those who are written now, the longest answers say how many steps there may be."""
        self._until = max((writ.until for writ in self.writs.values()), default=self.steps)

    def _widen(self) -> None:
        """As many take part as must, so that the last one does."""
        last = max(self.writs, default=0) + 1
        self.count = self.room
        while self.count // 2 >= max(last, FEWEST):
            self.count //= 2

    @torch.inference_mode()
    def narrow(self) -> None:
        """Those that are left move together, so that fewer rows take part."""
        count = self.count
        while count // 2 >= max(len(self.writs), FEWEST):
            count //= 2
        if count == self.count:
            return
        free = [place for place in self.free if place < count]
        far = [place for place in self.writs if place >= count]
        if far:
            to, origin = (Rows(sent(places, self.scorer.device), self.fan) for places in (free[: len(far)], far))
            move(self.state, to, origin)
            self.places.move(to, origin)
            move(self.books, Rows(to.items_A, 1), Rows(origin.items_A, 1))
            self.books.done_A.index_fill_(0, origin.items_A, True)
            for place, old in zip(free, far, strict=False):
                self.writs[place] = writ = self.writs.pop(old)
                writ.place = place
        self.count = count

    @torch.inference_mode()
    def run(self) -> None:
        """A few steps, if somebody may need them, and a look behind them; nobody waits for it."""
        steps = min(LOOK, self._until - self.steps)
        if steps <= 0:
            return
        if self.count not in self._recordings:
            self._recordings[self.count] = Recording(self._work(self.count), self.tape)
        for _ in range(steps):
            self._recordings[self.count].play()
        self.steps += steps
        self._looks.append(_Look(dict(self.writs), OnItsWay((self.books.done_A,))))

    def _work(self, count: int) -> "_Step":
        places, state = self.places.first(count * self.fan), first(self.state, count, self.fan)
        return _Step(self.scorer, places, state, first(self.books, count, 1), self.never_V, self.fan)

    @torch.inference_mode()
    def done(self) -> "Left":
        """Those that are done leave, and their places are free; their answers are on their way.

        The latest look is not waited for, so that the device has work meanwhile; unless there is none to ask for.
        """
        gone, later = dict[int, Writ](), 1 if self.steps < self._until else 0
        while len(self._looks) > later:
            gone |= self._gone(self._looks.popleft())
        if not self.writs:
            self._looks.clear()  # they have nothing to tell
        if not gone:
            return Left()
        self._limit()
        most = max(min(self.steps, writ.until) - writ.begun for writ in gone.values())
        with self.tape.aside():
            numbers = self.books.leave(sent(list(gone), self.scorer.device), most)
        return Left(self, [writ.item for writ in gone.values()], numbers)

    def _gone(self, look: _Look) -> dict[int, Writ]:
        """Who was done then and has not left before, by the places of then. Waits for the look.

        There the books stay as they were, whatever the device is at: no step changes what is done, who has moved since
        left a copy behind, and nobody begins once some have moved.
        """
        done = ((place, look.writs.get(place)) for place in look.done_A.read()[0].nonzero().flatten().tolist())
        gone = {place: writ for place, writ in done if writ is not None and self.writs.get(writ.place) is writ}
        for writ in gone.values():
            del self.writs[writ.place]
        return gone

    @torch.inference_mode()
    def clear(self) -> None:
        """Whoever is left is forgotten, and what was looked for."""
        self.books.done_A.fill_(True)
        self.writs.clear()
        self._looks.clear()


@dataclass(frozen=True)
class Left:
    """Items that are done, and what was written to them."""

    frame: Frame | None = None
    items: Sequence[Item] = ()
    numbers: OnItsWay | None = None

    def answers(self) -> Iterator[tuple[Item, list[Written]]]:
        """Waits for the device. Each answer is made when it is asked for."""
        if self.frame is None or self.numbers is None:
            return iter(())
        return zip(self.items, self.frame.books.written(self.numbers, self.frame.settings, self.items), strict=True)


@dataclass(frozen=True)
class _Step:
    """One more token to each hypothesis: all that it reads and writes is on the device, and stays where it is."""

    scorer: StaticScorer
    places: Places
    state: State
    books: GreedyBooks | BeamBooks
    never_V: Tensor
    fan: int

    @torch.inference_mode()
    def __call__(self) -> None:
        self.places.mark(self.fan)
        scores_RV, after = self.scorer.scores(self.books.last_R, self.state)
        log_prob_RC, token_RC = tops(scores_RV, self.never_V, 1 if self.fan == 1 else 2 * self.fan)
        goes_R, from_R = self.books.choose(log_prob_RC, token_RC, self.scorer.end)
        settle(self.state, after, from_R)
        self.places.advance(goes_R, from_R)
