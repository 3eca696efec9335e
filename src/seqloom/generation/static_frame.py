"""Items that are written together on buffers that stay where they are: they come, are written step by step, and go."""
# A items  K hypotheses to each  R = A·K rows

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.beam_books import BeamBooks
from seqloom.generation.contract import Item, StaticScorer, Written
from seqloom.generation.greedy_books import GreedyBooks
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.on_its_way import OnItsWay
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.static_intake import Intake
from seqloom.generation.tops import tops
from seqloom.layers.mixer import State
from seqloom.layers.recording import Recording, Tape
from seqloom.layers.static_state import Places, Rows, Size, first, move, put, settle, static_like

LOOK = 8  # steps between two looks at who is done, which make host and device wait for each other
FEWEST = 16  # items: with fewer, a step is no faster


@dataclass
class Writ:
    """An item that is being written. steps: that it has had."""

    item: Item
    steps: int = 0


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
        rows = Rows(torch.tensor(places, device=last_A.device), self.fan)
        self.places.begin(rows)
        put(self.state, rows, state)
        longest_A = torch.tensor([item.longest for item in items], device=last_A.device)
        self.books.begin(rows.items_A, longest_A, last_A)
        self._taken(places, items)

    def _taken(self, places: Sequence[int], items: Sequence[Item]) -> None:
        self.writs |= {place: Writ(item) for place, item in zip(places, items, strict=True)}
        self._widen()

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
            to, origin = (
                Rows(torch.tensor(places, device=self.scorer.device), self.fan) for places in (free[: len(far)], far)
            )
            move(self.state, to, origin)
            self.places.move(to, origin)
            move(self.books, Rows(to.items_A, 1), Rows(origin.items_A, 1))
            self.books.done_A.index_fill_(0, origin.items_A, True)
            for place, old in zip(free, far, strict=False):
                self.writs[place] = self.writs.pop(old)
        self.count = count

    @torch.inference_mode()
    def run(self) -> None:
        """Some steps: as many as can be done without looking, or as the longest answers may still take."""
        left = max(writ.item.longest + 1 - writ.steps for writ in self.writs.values())
        steps = min(LOOK, left)
        if self.count not in self._recordings:
            self._recordings[self.count] = Recording(self._work(self.count), self.tape)
        for _ in range(steps):
            self._recordings[self.count].play()
        for writ in self.writs.values():
            writ.steps += steps

    def _work(self, count: int) -> "_Step":
        places, state = self.places.first(count * self.fan), first(self.state, count, self.fan)
        return _Step(self.scorer, places, state, first(self.books, count, 1), self.never_V, self.fan)

    @torch.inference_mode()
    def done(self) -> "Left":
        """Those that are done leave, and their places are free; their answers are on their way. Waits for who it is."""
        done, bad = torch.stack((self.books.done_A, self.books.bad_A)).tolist()
        if any(bad[place] for place in self.writs):
            raise NoNumbersError
        gone = [place for place in self.writs if done[place]]
        if not gone:
            return Left()
        most = max(self.writs[place].steps for place in gone)
        numbers = self.books.leave(torch.tensor(gone, device=self.scorer.device), most)
        return Left(self, [self.writs.pop(place).item for place in gone], numbers)

    @torch.inference_mode()
    def clear(self) -> None:
        """Whoever is left is forgotten."""
        self.books.done_A.fill_(True)
        self.writs.clear()


@dataclass(frozen=True)
class Left:
    """Items that are done, and what was written to them."""

    frame: Frame | None = None
    items: Sequence[Item] = ()
    numbers: OnItsWay | None = None

    def answers(self) -> list[tuple[Item, list[Written]]]:
        """Waits for the device."""
        if self.frame is None or self.numbers is None:
            return []
        written = self.frame.books.written(self.numbers, self.frame.settings)
        return list(zip(self.items, written, strict=True))


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
