"""What is known of a compared system when it is done: what it cost, and what it said to the test."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seqloom.data.reading import Shape
from seqloom.evaluation.build import RATE, MetricName
from seqloom.jobs.evaluating.likelihood import Likelihood
from seqloom.jobs.evaluating.said import Said
from seqloom.store import RunFolder
from seqloom.store.atomic import write_text
from seqloom.training.place import Place


@dataclass(frozen=True)
class Facts:
    """What a system is and what its training took; None: nobody knows."""

    parameters: int
    flops: float | None = None
    seconds: float | None = None
    per_second: float | None = None
    """that it learnt from, without validations; of what: `speed.py`"""
    memory: float | None = None
    steps: int | None = None
    ended: str | None = None
    best_step: int | None = None
    """of the model that validation chose, where it chose one"""

    @classmethod
    def of(cls, parameters: int, place: Place | None, per_part: float | None) -> "Facts":
        """per_part: how many of what is counted here there are for each part of the goal."""
        if place is None or not place.step:
            return cls(parameters)
        learning = max(place.seconds - place.validating, 1e-9)
        return cls(
            parameters,
            place.flops or None,
            place.seconds,
            None if per_part is None else per_part * place.tokens / learning,
            place.memory or None,
            place.step,
            place.ended,
            None if place.best is None or place.kept else place.best_step,
        )

    @classmethod
    def together(cls, members: "Sequence[Facts]") -> "Facts":
        """Of an ensemble: one can be trained behind the other, so that only costs add up."""
        flops = [one.flops for one in members if one.flops is not None]
        seconds = [one.seconds for one in members if one.seconds is not None]
        every = len(members)
        return cls(
            sum(one.parameters for one in members),
            sum(flops) if len(flops) == every else None,
            sum(seconds) if len(seconds) == every else None,
        )


@dataclass(frozen=True)
class Result:
    """shape, columns, unknown: of the test, as the system read it. metrics: those of its task, if none are named.

    vocabulary: systems in which this is equal can write together.
    key, models: what was asked and what answered, so that it need not be asked again.
    """

    shape: Shape
    columns: list[list[Any]]
    unknown: list[int] | None
    metrics: list[MetricName]
    said: Said
    facts: Facts
    vocabulary: str
    device: str
    notes: list[str]
    key: str
    models: list[str]
    sizes: tuple[str, list[int]] | None = None
    """of the examples, and what they count, where it is not their lengths"""

    def has(self, metrics: Sequence[MetricName]) -> bool:
        """Whether these, none: those of its task, can be counted from what is kept."""
        return self.said.likely is not None or not any(name in RATE for name in metrics or self.metrics)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(asdict(self), ensure_ascii=False) + "\n")


def load_result(path: Path) -> Result | None:
    """None: there is none, or none that this version wrote."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        said, likely = kept["said"], kept["said"]["likely"]
        kept["said"] = Said(
            said["texts"], said["labels"], None if likely is None else Likelihood(**likely), said.get("errors", {})
        )
        sizes = kept.get("sizes")
        return Result(
            **kept | {"facts": Facts(**kept["facts"]), "sizes": None if sizes is None else (sizes[0], sizes[1])}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def current(path: Path, key: str, runs: Sequence[Path]) -> Result | None:
    """A result that is still that of these models, asked in this way."""
    found = load_result(path)
    return found if found is not None and found.key == key and found.models == models_of(runs) else None


def models_of(runs: Sequence[Path]) -> list[str]:
    """What tells the models of runs from others."""
    return [_content(RunFolder(run).model) for run in runs]


def _content(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "blake2b").hexdigest()[:32]
    except OSError:
        return ""
