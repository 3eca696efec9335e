"""A loss that is no number, or jumps: the run stops and says where it came from."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from seqloom.data.cache import Examples
from seqloom.models.build import Model
from seqloom.settings import FailedError
from seqloom.tasks import Batch
from seqloom.training.diagnosis import diagnose, finite, lines_of
from seqloom.training.place import Place
from seqloom.training.step import Work

WARM = 50  # steps before a spike can be told from a beginning
A_NAT = 1.0  # a smaller jump is none, however even the loss was before
ENOUGH = 2048  # tokens of a batch; the mean of fewer goes up and down by itself: by the root of how many fewer
ADVICE = "Try a lower rate (--set training.optimiser.rate=…) or longer warm-up"


@dataclass(frozen=True)
class Result:
    """What came of a step. limit: a loss above it is a jump."""

    step: int
    loss: float
    norm: float
    limit: float


def jump(place: Place, spike: float, tokens: int) -> float:
    """A loss above it has jumped. spike: how many deviations above its recent mean the loss may be; 0: any.

    tokens: of the batch.
    """
    if not spike or place.mean_loss is None or place.step <= WARM:
        return math.inf
    least = A_NAT * math.sqrt(max(1.0, ENOUGH / max(1, tokens)))
    return place.mean_loss + max(least, spike * math.sqrt(place.mean_square))


def refuse_nonsense(work: Work, place: Place, result: Result, batches: Sequence[Batch], files: Sequence[str]) -> None:
    """FailedError, if a step's loss or gradient is nonsense; before it changes any weight."""
    loss, norm = result.loss, result.norm
    if finite(loss, norm) and loss <= result.limit:
        return
    if not finite(loss):
        what = "the loss is no number"
    elif not finite(norm):
        what = "a gradient is no number"
    else:
        what = f"the loss jumped from {place.mean_loss:.4g} to {loss:.4g}"
    step = result.step
    where = diagnose(work.model, lambda: work.again(step, batches))
    allow = "; or allow jumps: --set training.spike=0" if finite(loss, norm) else ""
    raise FailedError(f"step {step}: {what}; {where}.\nThe batch: {_blamed(work, batches, files)}.\n{ADVICE}{allow}")


def refuse_validation(
    model: Model, step: int, name: str, value: float, validate: Callable[[Model], dict[str, float]]
) -> None:
    """FailedError, if a validation's score is no number."""
    if finite(value):
        return
    where = diagnose(model, lambda: torch.tensor(validate(model)["loss"]))
    raise FailedError(f"step {step}: the validation's {name} is no number ({value}); {where}.\n{ADVICE}")


def _blamed(work: Work, batches: Sequence[Batch], files: Sequence[str]) -> str:
    """The lines of a step's batches; if some of them alone are to blame, those."""
    examples = Examples.join([batch.examples for batch in batches])
    guilty = work.not_finite(examples)
    if not 0 < len(guilty) < len(examples):
        return lines_of(examples, files)
    return f"{len(examples)} examples, of which these alone give no number: {lines_of(examples.take(guilty), files)}"
