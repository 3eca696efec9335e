"""Examples that cannot be used: said with their place, or counted."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from seqloom.data.settings import Bad
from seqloom.settings import UserError

PLACES = 5


class DataError(UserError):
    """A file that cannot be read, or an example that cannot be used."""


@dataclass(frozen=True)
class Broken:
    """Stands where a value should be: why there is none."""

    reason: str
    """the kind of fault, for counting"""
    what: str
    """this fault"""
    fix: str = "mend the line"
    text: str = ""
    """the line as far as it can be read, where it matters to what follows it"""
    behind: int = 0
    """lines that were read with it, and are lost with it"""


@dataclass(frozen=True)
class Skipped:
    """Which examples were left out: reason → how many, and the first places."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def note(self, reason: str, places: tuple[str, ...], count: int = 1) -> None:
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.places[reason] = (self.places.get(reason, ()) + places)[:PLACES]

    def add(self, other: "Skipped") -> None:
        for reason, count in other.counts.items():
            self.note(reason, other.places[reason], count)

    def renamed(self, old: tuple[str, ...], new: tuple[str, ...]) -> "Skipped":
        """The same places in files that have other names now."""

        def name(place: str) -> str:
            if place in old:
                return new[old.index(place)]
            for before, after in zip(old, new, strict=True):
                if place.startswith(f"{before}:"):
                    return after + place[len(before) :]
                if place.startswith(inside(before)):
                    return inside(after) + place[len(inside(before)) :]
            return place

        return Skipped(self.counts, {reason: tuple(map(name, each)) for reason, each in self.places.items()})

    def lines(self) -> Iterator[str]:
        """One line of text for each reason."""
        for reason, count in sorted(self.counts.items(), key=lambda item: -item[1]):
            places = ", ".join(self.places[reason]) + (", …" if count > PLACES else "")
            yield f"{count:,} left out: {reason} ({places})"


def inside(folder: str) -> str:
    """How the names of its files begin in messages: as the folder was typed."""
    return folder if folder.endswith("/") else f"{folder}/"


class Faults:
    """What a reader does with an example that cannot be used."""

    def __init__(self, bad: Bad) -> None:
        self._bad = bad
        self._skipped = Skipped()

    def fault(self, place: str, broken: Broken) -> None:
        if self._bad == "stop":
            raise DataError(f"{place}: {broken.what}; {broken.fix}, or pass --skip-bad")
        self._skipped.note(broken.reason, (place,))
        if broken.behind:
            self._skipped.note(f"lines behind {broken.reason}", (place,), broken.behind)

    def blank(self, place: str, reason: str) -> None:
        """Nothing there at all: counted, but no reason to stop, as files have blank lines between their parts."""
        self._skipped.note(reason, (place,))

    def taken(self) -> Skipped:
        """What was left out since the last call."""
        skipped, self._skipped = self._skipped, Skipped()
        return skipped
