"""Where a run is: all numbers that its continuation needs."""

from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass
class Place:
    """step: how many are done. epoch, pool, batch: which batch comes next. seconds: how long it took until here."""

    step: int = 0
    epoch: int = 0
    pool: int = 0
    batch: int = 0
    epochs: float = 0.0  # that are over, the running one's share included
    seconds: float = 0.0
    validating: float = 0.0  # of these seconds
    memory: float = 0.0  # the most bytes that were in use
    tokens: int = 0
    flops: float = 0.0
    mean_loss: float | None = None  # of the recent steps
    mean_square: float = 0.0  # of the distance from it
    best: float | None = None  # more is better
    best_loss: float = 0.0  # of the same validation: it decides between equals
    best_step: int = 0
    since_best: int = 0  # validations
    kept: list[int] = field(default_factory=list)  # steps whose weights wait to be averaged
    validations: int = 0  # that are over
    validation_seconds: float = 0.0  # that the latest one took
    preparing: float = 0.0  # seconds of steps that a GPU did for the first time in their shape
    ended: str | None = None
    ended_for: list[float | None] = field(default_factory=list)  # the limits that were asked for when it ended

    def numbers(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, numbers: dict[str, Any]) -> Self:
        numbers["pool"]  # one that does not say where in an epoch it is cannot be gone on from
        return cls(**numbers)
