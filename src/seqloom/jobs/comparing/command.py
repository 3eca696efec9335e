"""The words of `seqloom compare`."""

from dataclasses import dataclass
from pathlib import Path

from seqloom.jobs.answering.generation import SECTION as GENERATION
from seqloom.jobs.deciding.asked import Budget, Columns, Command
from seqloom.jobs.evaluate import SECTION as EVALUATION
from seqloom.settings import UserError

ALL = "all"
BEST = "best"


def budget_of(minutes: float | None, flops: float | None, epochs: float | None) -> Budget | None:
    """The one that was said."""
    said: list[Budget] = []
    said += [] if minutes is None else [Budget("minutes", minutes)]
    said += [] if flops is None else [Budget("flops", flops)]
    said += [] if epochs is None else [Budget("epochs", epochs)]
    if len(said) > 1:
        words = " and ".join(f"--{each.limit}" for each in said)
        raise UserError(f"{words}: systems can be equal in one cost only; give one of --minutes, --flops and --epochs")
    return said[0] if said else None


@dataclass(frozen=True)
class Compare:
    """The words of `seqloom compare`. ensemble: names of systems that write together, or `all`."""

    systems: tuple[str, ...]
    data: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    budget: Budget | None = None
    out: Path = Path("runs/compare")
    metrics: tuple[str, ...] = ()
    ensemble: tuple[str, ...] = ()
    baseline: str | None = None
    changes: tuple[str, ...] = ()
    device: str = "auto"
    force: bool = False
    skip_bad: bool = False
    source: str | None = None
    target: str | None = None

    @property
    def columns(self) -> Columns:
        return Columns(self.source, self.target)

    def changed(self, *sections: str) -> tuple[str, ...]:
        return tuple(change for change in self.changes if change.strip().startswith(sections))

    def training(self) -> Command:
        """What every training is asked for; its recipe and folder are open."""
        others = tuple(change for change in self.changes if change not in self.changed(EVALUATION, GENERATION))
        others += () if self.device == "auto" else (f"training.device={self.device}",)
        return Command(
            data=self.data,
            valid=self.valid,
            changes=others,
            skip_bad=self.skip_bad,
            source=self.source,
            target=self.target,
            budget=self.budget,
        )
