"""What a check found."""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["fault", "warning", "note"]
Part = Literal["training", "validation", "test"]

SEVERITIES: tuple[Severity, ...] = ("fault", "warning", "note")
PLACES = 5
STOPS = "training would stop here"
"""The remedy of a fault of a whole file, of which there is one."""
_WIDTH = 70


@dataclass(frozen=True)
class Place:
    """Where something was found, with the text there."""

    where: str
    text: str = ""


@dataclass(frozen=True)
class Finding:
    """One kind of oddity in one part of the data."""

    severity: Severity
    title: str
    part: Part
    count: int
    share: float
    """of the part's examples"""
    places: tuple[Place, ...]
    remedy: str


@dataclass(frozen=True)
class Lengths:
    """How long the texts of a field are."""

    unit: str
    half: int
    """half of the texts are at most so long"""
    most: int
    """99 % are at most so long"""
    longest: int
    total: int


@dataclass(frozen=True)
class Statistics:
    """A part of the data in numbers."""

    part: Part
    examples: int
    left_out: int
    lengths: dict[str, tuple[Lengths, ...]]
    """by field: in characters, in words, and in tokens if there is a vocabulary"""
    labels: int | None = None
    """how many different tags or classes there are"""
    unknown: dict[str, float] = field(default_factory=dict)
    """by field: the share of tokens that the vocabulary does not know, if there is one"""


@dataclass(frozen=True)
class Report:
    findings: list[Finding] = field(default_factory=list)
    statistics: list[Statistics] = field(default_factory=list)

    @property
    def faulty(self) -> bool:
        """Whether training would stop, or its scores could not be trusted."""
        return any(finding.severity == "fault" for finding in self.findings)


def shortened(text: str) -> str:
    """A text on one line, with what cannot be seen written out."""
    seen = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text[: _WIDTH + 1])
    return seen if len(seen) <= _WIDTH else seen[: _WIDTH - 1] + "…"
