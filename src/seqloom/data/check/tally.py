"""Counting oddities, with the first places of each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from seqloom.data.check.report import PLACES, SEVERITIES, Finding, Part, Place, Severity

OR_SKIP = "or have them left out by train --skip-bad"


@dataclass(frozen=True)
class Kind:
    """An oddity: how bad it is, what it is called, and what to do."""

    severity: Severity
    title: str
    remedy: str


@dataclass
class _Count:
    count: int = 0
    every: int | None = None
    places: list[Place] = field(default_factory=list)


class Tally:
    """What was found in one part of the data."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.examples = 0
        self._counts: dict[Kind, _Count] = {}

    def add(
        self,
        kind: Kind,
        count: int,
        places: Iterable[Place] | Callable[[], Iterable[Place]] = (),
        every: int | None = None,
    ) -> None:
        """The places are asked for only as long as more of them are wanted. every: of how many; None: the examples."""
        if not count:
            return
        here = self._counts.setdefault(kind, _Count())
        here.count += count
        here.every = every
        if len(here.places) < PLACES:
            found = places() if callable(places) else places
            here.places += [place for place, _ in zip(found, range(PLACES - len(here.places)), strict=False)]

    def findings(self) -> list[Finding]:
        """The worst and most frequent first."""
        found = [
            Finding(
                kind.severity, kind.title, self.part, here.count, here.count / max(1, here.every or self.examples),
                tuple(here.places), kind.remedy,
            )
            for kind, here in self._counts.items()
        ]  # fmt: skip
        return sorted(found, key=lambda finding: (SEVERITIES.index(finding.severity), -finding.count))
