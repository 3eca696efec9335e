"""Greedy writing and beam search on buffers that never move, so that a GPU does each step by heart.

The same answers as `Greedy` and `Writing` give. Those look at the tokens after each step, on the host; here the host
looks every few steps whether somebody was done, while the device goes on, and lets others take their places.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock

import torch
from torch import Tensor

from seqloom.generation.contract import Item, StaticScorer, Written
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.static_frame import FEWEST, Frame
from seqloom.layers.mixer import State
from seqloom.layers.recording import NotRecordedError, Tape
from seqloom.layers.static_state import NotStaticError, Places, Size, static_like

WINDOW = 16  # batches read ahead, to write together what is of like length
HANDED = 128  # answers that are handed out while the device does a run; or a quarter of all, if these are more
COHORTS = 2  # new ones begin when one part in so many of all places is free
STEPS, SOURCE = 64, 32  # of the smallest frame; larger ones are a power of two times as large
MUCH = 8  # times as large as it must be: a frame that is there already is used still
FRAMES = 4  # that are kept for the next time
BOOKS = 48  # bytes of a token in the books: its number and log_prob, in hypotheses, in answers, and while they fork
READ = 65_536  # tokens, filled up, that are read at once: what reading needs is more than what it leaves
SHARE = 0.5  # of the memory that is free: the most that a frame takes


def is_static(settings: GenerationSettings, attention: bool) -> bool:
    """Whether nothing is asked for but the likeliest token, or the likeliest answers."""
    steered = settings.coverage or settings.no_repeat or settings.shortest or attention or settings.groups > 1
    return settings.sample is None and not steered


@dataclass(frozen=True)
class _Kind:
    """Whatever a frame's recordings depend on."""

    items: int
    steps: int
    source: int
    beam: int
    n_best: int
    length: object

    def fits(self, other: "_Kind") -> bool:
        """Whether what needs this can be written in the other one, without much that is of no use."""
        alike = (self.beam, self.n_best, self.length) == (other.beam, other.n_best, other.length)
        pairs = (self.items, other.items), (self.steps, other.steps), (self.source, other.source)
        return alike and all(own <= has <= MUCH * own for own, has in pairs)


@dataclass(frozen=True)
class _Begun:
    """Items, and what the scorer starts them with."""

    items: Sequence[Item]
    state: State
    last_A: Tensor


class Static:
    """What one scorer writes. Frames are kept, as it takes longer to make them than to write a few answers.

    records: False: on a GPU, too, each step is asked for anew. note: hears why nothing can be recorded, if so.
    """

    def __init__(
        self, scorer: StaticScorer, *, records: bool = True, note: Callable[[str], None] = lambda text: None
    ) -> None:
        self.scorer, self.note = scorer, note
        self.tape = Tape(scorer.device, records)
        self.works = True
        """Until it turns out that this model cannot be written with so."""
        self._frames: dict[_Kind, Frame] = {}
        self._smaller: dict[_Kind, _Kind] = {}  # of what is wanted, what there was memory for
        self._free = Lock()  # one at a time: frames are shared

    def write(
        self, items: Iterable[Item], settings: GenerationSettings, unwritten: list[Item]
    ) -> Iterator[tuple[int, list[Written]]]:
        """Items without wishes, each with its number and its answers, best first, in the order in which they are done.

        unwritten: gets those that cannot be written so; all of them, while others are being written.
        """
        items = iter(items)
        if self._free.acquire(blocking=False):
            try:
                yield from self._written(items, settings, unwritten)
            finally:
                self._free.release()
        unwritten += items

    def _written(
        self, items: Iterator[Item], settings: GenerationSettings, unwritten: list[Item]
    ) -> Iterator[tuple[int, list[Written]]]:
        while self.works and (window := list(islice(items, WINDOW * settings.together))):
            left, why = {item.number: item for item in window}, None
            try:
                for item, answers in self._window(window, settings):
                    del left[item.number]
                    yield item.number, answers
            except Exception as error:
                why = _refusal(error)
                if why is None:
                    raise
            if why is not None:  # only here: while the error is at hand, it holds the memory of what failed
                self._give_up(why)
            unwritten += left.values()

    def forget(self, most: int = 0) -> None:
        """All frames and recordings, at once; but for the latest so many."""
        while len(self._frames) > most:
            self._frames.pop(next(iter(self._frames))).intake.forget()

    def _give_up(self, why: str) -> None:
        self.works = False
        self.forget()
        if self.tape.device.type == "cuda":
            torch.cuda.empty_cache()
            self.note(f"steps of writing are not recorded ({why}): writing is slower than it could be, and right")

    def _window(self, window: Sequence[Item], settings: GenerationSettings) -> Iterator[tuple[Item, list[Written]]]:
        """The longest first, so that those that come later fit where they leave."""
        waiting = deque(sorted(window, key=lambda item: len(item.source), reverse=True))
        with self.tape.running():
            frame = self._frame(list(waiting), settings)
        room = min(frame.room, settings.together)
        handed = max(HANDED, room // 4)
        ready: _Begun | None = None
        try:
            while frame.writs or waiting or ready is not None:
                with self.tape.running():
                    left = frame.done()
                    ready = self._begin(frame, waiting, ready, room)
                    frame.run()
                    if ready is None and waiting and not frame.intake.works:
                        # while the device writes, the next ones are made ready behind it
                        ready = self._started(waiting, -(-room // COHORTS))
                for number, answer in enumerate(left.answers(), 1):  # while the device goes on
                    yield answer
                    if number % handed == 0:
                        with self.tape.running():
                            frame.run()
        finally:
            if frame.writs:  # whoever reads stopped, or something failed
                frame.clear()

    def _begin(self, frame: Frame, waiting: deque[Item], ready: "_Begun | None", room: int) -> "_Begun | None":
        """Those who wait take the places that are free, if these are many enough. Returns who is ready still."""
        free = room - len(frame.writs)
        if ready is None and not waiting:
            frame.narrow()
        elif ready is None and free >= min(len(waiting), -(-room // COHORTS)):
            items = [waiting.popleft() for _ in range(min(free, len(waiting)))]
            if not frame.read(items):
                for part in _parts(items):
                    frame.begin(part, *self.scorer.start(part))
        elif ready is not None and free >= len(ready.items):
            frame.begin(ready.items, ready.state, ready.last_A)
            return None
        return ready

    def _started(self, waiting: deque[Item], count: int) -> "_Begun":
        """The first so many of those who wait, or as many as can be read at once."""
        items = next(_parts(list(islice(waiting, count))))
        for _ in items:
            waiting.popleft()
        return _Begun(items, *self.scorer.start(items))

    def _frame(self, items: Sequence[Item], settings: GenerationSettings) -> Frame:
        """One that holds all of them, one after the other; the longest stands first."""
        most = [max(each) for each in zip(*map(self.scorer.needs, items), strict=True)]
        steps, source = _up(most[0], STEPS), _up(most[1], SOURCE)
        room = _up(min(settings.together, len(items)), FEWEST)
        wanted = _Kind(room, steps, source, settings.beam, settings.n_best, settings.length)
        smaller = self._smaller.get(wanted)
        kind = smaller if smaller in self._frames else next(filter(wanted.fits, self._frames), None)
        if kind is not None:
            frame = self._frames.pop(kind)
        else:
            example = self.scorer.start(items[:1])[0]
            kind = self._smaller[wanted] = replace(wanted, items=self._room(example, wanted))
            self.forget(FRAMES - 1)
            frame = Frame(self.scorer, settings, self.tape, example, kind.items, steps, source)
        self._frames[kind] = frame  # the last one that was used stands last
        return frame

    def _room(self, example: State, wanted: _Kind) -> int:
        """As many items as are wanted, or as fit into the memory of a GPU."""
        room, device = wanted.items, self.tape.device
        if device.type != "cuda":
            return room
        with torch.inference_mode():
            places = Places.empty(1, wanted.beam, wanted.steps, device)
            each = _bytes(static_like(example, Size(1, wanted.beam, wanted.steps, wanted.source, places)))
        each += BOOKS * wanted.beam * wanted.steps
        free = torch.cuda.mem_get_info(device)[0]
        free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        while room * each > SHARE * free:
            if room == FEWEST:
                raise NotStaticError(f"answers of {wanted.steps} tokens do not fit into the memory that is free")
            room //= 2
        return room


def _refusal(error: Exception) -> str | None:
    """Why the other search should write; None: the error is not about how it is written."""
    kernels = type(error).__module__.partition(".")[0] == "triton"  # which cannot be made for this GPU
    if not kernels and not isinstance(error, NotStaticError | NotRecordedError | torch.OutOfMemoryError):
        return None
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """In their order, the longest first: as many together as can be read at once."""
    begin = 0
    while begin < len(items):
        count = max(1, READ // max(1, len(items[begin].source)))
        yield items[begin : begin + count]
        begin += count


def _up(number: int, least: int) -> int:
    """Some power of two times the least."""
    while least < number:
        least *= 2
    return least


def _bytes(state: State) -> int:
    """Of all tensors that a state holds."""
    found = dict[int, int]()
    _count(state, found)
    return sum(found.values())


def _count(state: State, found: dict[int, int]) -> None:
    if isinstance(state, torch.Tensor):
        found[state.data_ptr()] = state.nbytes
    elif isinstance(state, tuple):
        for part in state:
            _count(part, found)
    elif hasattr(state, "__dataclass_fields__"):
        for name in state.__dataclass_fields__:
            _count(getattr(state, name), found)
