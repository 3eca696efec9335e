"""The learning rate over a run, as a factor of the optimiser's own rate."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, model_validator

from seqloom.settings import Frozen, impossible


@dataclass(frozen=True)
class Progress:
    """Where a run is when it takes a step."""

    step: int
    """The number of this step, from 1."""
    done: float
    """The share of the run that is over before this step: (step - 1) / steps, or minutes / minutes."""

    def __post_init__(self) -> None:
        if self.step < 1 or not 0 <= self.done <= 1:
            raise ValueError(f"steps count from 1 and the share done is 0 to 1, not {self.step} and {self.done}")


Warmup = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, lt=1)],
    Field(description="the rate rises evenly at first: for so many steps, or for this share of the run if below 1"),
]
Floor = Annotated[float, Field(ge=0, le=1, description="the last rate, as a share of the highest")]


class InverseSqrt(Frozen):
    """Rise, then fall with the square root of the steps (Vaswani et al. 2017, eq. 3).

    Their rate is d^-0.5 · min(step^-0.5, step · warmup^-1.5). Its peak is `peak_of_2017(d, warmup)`: with that as the
    optimiser's rate, this is their schedule.
    """

    kind: Literal["inverse-sqrt"] = "inverse-sqrt"
    warmup: Warmup = 4000


class Cosine(Frozen):
    """Rise, then half a wave down to the floor at the run's end (Loshchilov and Hutter 2017)."""

    kind: Literal["cosine"] = "cosine"
    warmup: Warmup = 0.05
    floor: Floor = 0.0


class WarmupStableDecay(Frozen):
    """Rise, stay, and fall in the last part of the run (Hu et al. 2024; `1-sqrt`: Hägele et al. 2024)."""

    kind: Literal["warmup-stable-decay"] = "warmup-stable-decay"
    warmup: Warmup = 0.05
    decay: float = Field(
        default=0.2, gt=0, le=1, description="the share of the run, at its end, in which the rate falls"
    )
    shape: Literal["linear", "1-sqrt"] = "1-sqrt"
    floor: Floor = 0.0

    @model_validator(mode="after")
    def _both_fit(self) -> "WarmupStableDecay":
        if isinstance(self.warmup, float) and self.warmup + self.decay > 1:
            raise impossible(f"warmup {self.warmup} and decay {self.decay} are together more than the run", "decay")
        return self


class Linear(Frozen):
    """Rise, then fall evenly to the floor at the run's end."""

    kind: Literal["linear"] = "linear"
    warmup: Warmup = 0.05
    floor: Floor = 0.0


class Constant(Frozen):
    """Rise, then stay."""

    kind: Literal["constant"] = "constant"
    warmup: Warmup = 0


class Plateau(Frozen):
    """Rise, then fall by a factor whenever the validation score has stopped getting better."""

    kind: Literal["plateau"] = "plateau"
    warmup: Warmup = 0
    factor: float = Field(default=0.5, gt=0, lt=1, description="the rate is multiplied with it")
    patience: int = Field(default=3, ge=1, description="validations without a new best before the rate falls")
    least: float = Field(default=0.01, gt=0, le=1, description="the rate falls no further than to this share")


ScheduleSettings = Annotated[
    InverseSqrt | Cosine | WarmupStableDecay | Linear | Constant | Plateau, Field(discriminator="kind")
]


def peak_of_2017(width: int, warmup: int) -> float:
    """The highest rate of Vaswani et al. 2017: (width · warmup)^-0.5."""
    return float((width * warmup) ** -0.5)


class Schedule:
    """A pure function of the progress; only the plateau's also depends on the scores it saw, which are its state."""

    def __init__(self, settings: ScheduleSettings) -> None:
        self.settings = settings
        self._best: float | None = None
        self._waited = 0
        self._level = 1.0

    def factor(self, progress: Progress) -> float:
        settings = self.settings
        match settings:
            case InverseSqrt():
                return _inverse_sqrt(settings, progress)
            case Cosine():
                wave = (1 + math.cos(math.pi * _after(settings.warmup, progress))) / 2
                level = _above(settings.floor, wave)
            case WarmupStableDecay():
                level = _above(settings.floor, _last_part(settings, progress.done))
            case Linear():
                level = _above(settings.floor, 1 - _after(settings.warmup, progress))
            case Constant():
                level = 1.0
            case Plateau():
                level = self._level
            case _:
                assert_never(settings)
        return _rise(settings.warmup, progress) * level

    def saw(self, score: float) -> None:
        """A validation's score, more is better. (For a loss, give its negative.)"""
        if not isinstance(self.settings, Plateau):
            return
        if self._best is None or score > self._best:
            self._best, self._waited = (None if math.isnan(score) else score), 0
            return
        self._waited += 1
        if self._waited >= self.settings.patience:
            self._level = max(self._level * self.settings.factor, self.settings.least)
            self._waited = 0

    def state(self) -> dict[str, Any]:
        """What JSON can hold; empty if there is nothing to remember."""
        if not isinstance(self.settings, Plateau):
            return {}
        return {"best": self._best, "waited": self._waited, "level": self._level}

    def load(self, state: dict[str, Any]) -> None:
        if state.keys() != self.state().keys():
            raise ValueError(f"the state of another schedule than {self.settings.kind}: {', '.join(state) or 'empty'}")
        if state:
            self._best, self._waited, self._level = state["best"], state["waited"], state["level"]


def build_schedule(settings: ScheduleSettings) -> Schedule:
    return Schedule(settings)


def _inverse_sqrt(settings: InverseSqrt, progress: Progress) -> float:
    if isinstance(settings.warmup, float) and settings.warmup:
        over = progress.done / settings.warmup
    else:
        over = progress.step / max(settings.warmup, 1)
    return over**-0.5 if over > 1 else _rise(settings.warmup, progress)


def _above(floor: float, level: float) -> float:
    return floor + (1 - floor) * level


def _rise(warmup: float, progress: Progress) -> float:
    """From almost nothing to 1, and 1 from then on."""
    if not warmup:
        return 1.0
    if isinstance(warmup, int):
        return min(1.0, progress.step / warmup)
    # a clock may stand still for the first steps: a rate of nothing would waste them
    return min(1.0, max(0.01, progress.done / warmup))


def _after(warmup: float, progress: Progress) -> float:
    """The share that is over of what comes behind the warm-up, 0 to 1."""
    # which share of the run the warm-up's steps are is told by the pace so far
    steps = progress.step - 1
    pace = progress.done / steps if steps else 0.0
    share = warmup * pace if isinstance(warmup, int) else warmup
    return min(1.0, max(0.0, (progress.done - share) / (1 - share))) if share < 1 else 0.0


def _last_part(settings: WarmupStableDecay, done: float) -> float:
    over = max(0.0, 1 - (1 - done) / settings.decay)
    return 1 - (over if settings.shape == "linear" else math.sqrt(over))
