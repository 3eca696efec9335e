"""One input on its way through the engine."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from seqloom.generation.contract import Item
from seqloom.generation.drawing import is_drawn
from seqloom.generation.greedy import is_greedy, is_plain
from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.answering.writing import Prepared


@dataclass(frozen=True)
class Going:
    """It is being written: all of its text so far, and of how many tokens."""

    text: str
    tokens: int


@dataclass(frozen=True)
class Said:
    """Its answers, best first. stopped: the text ends before one of the phrases that it was to stop at."""

    answers: list[Answer]
    stopped: bool = False


@dataclass(frozen=True)
class Failed:
    error: Exception


Event = Going | Said | Failed


@dataclass(eq=False)
class Ticket:
    """hear: is called in the engine's thread. watched: it hears of each token too, where tokens stay as they are."""

    asked: Prepared
    settings: GenerationSettings
    hear: Callable[[Event], None]
    attention: bool = False
    watched: bool = False
    stops: tuple[str, ...] = ()
    gone: bool = False
    """Nobody waits for it any more."""
    item: Item | None = field(init=False)

    def __post_init__(self) -> None:
        self.item = self.asked.item
        if self.item is not None and self.settings.sample is not None:
            self.item = replace(self.item, sample=self.settings.sample, seed=self.settings.seed)

    @property
    def together(self) -> "Together":
        """Tickets of one such are written together: what differs between them is said of each item."""
        settings = self.settings.model_copy(update={"shortest": 0, "longest": None})
        if settings.sample is not None:
            settings = settings.model_copy(update={"sample": Sampling(), "seed": 1})
        wishes = self.item is not None and not is_plain(self.item)
        look = self.attention or settings.replace_unknown
        short = is_greedy(settings, look) or is_drawn(settings, look)
        return Together(settings, self.attention, short and not wishes)

    def stop_at(self, text: str) -> int | None:
        """Where the first of its stop phrases begins."""
        places = [place for stop in self.stops if (place := text.find(stop)) >= 0]
        return min(places, default=None)


@dataclass(frozen=True)
class Together:
    """plain: they take the likeliest token each time, or any by chance, and wish for nothing else: that has a shorter
    way."""

    settings: GenerationSettings
    attention: bool
    plain: bool = False
