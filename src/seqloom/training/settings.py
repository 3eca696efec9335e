"""How a model is trained."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.settings import Checked, Conflicts
from seqloom.training.ema import Ema
from seqloom.training.optimisers import AdamW, OptimiserSettings
from seqloom.training.precision import Precision
from seqloom.training.reward import Reward
from seqloom.training.schedules import Cosine, ScheduleSettings

MOST_STEPS = 10**12
"""More than any run makes: a slip."""


class TrainingSettings(Checked):
    """It ends when the first of steps, epochs, minutes and flops is over; with none, a number of steps is chosen."""

    steps: int | None = Field(default=None, ge=0, le=MOST_STEPS)
    epochs: float | None = Field(default=None, gt=0)
    minutes: float | None = Field(default=None, gt=0, description="of the whole command, its preparations included")
    flops: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="of all steps, as counted from the settings: models/cost.py",
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    batch: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default="auto", description="tokens: no side of a batch has more; auto: as many as suit the data and fit"
    )
    accumulate: int = Field(default=1, ge=1, description="batches whose gradients make one step")
    optimiser: OptimiserSettings = AdamW()
    schedule: ScheduleSettings = Cosine()
    freeze: tuple[str, ...] | None = Field(
        default=None,
        description="parts that do not learn: 'embedding', 'encoder.blocks.0-3', 'blocks.*.mixer'; unset: none",
    )
    layer_decay: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="each layer below the heads learns so much slower than the one above it; unset: all alike",
    )
    clip: float = Field(default=1.0, ge=0, description="longest gradient; 0: any")
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="label smoothing")
    r_drop: float = Field(default=0.0, ge=0, description="weight of R-Drop's agreement of two passes; 0: one pass")
    reward: Reward | None = Field(
        default=None,
        description="raise the expected score of answers drawn from the model; unset: the likelihood alone",
    )
    activation: float = Field(
        default=0.0, ge=0, description="weight of the last layer's mean square (AR, Merity et al. 2018); 0: none"
    )
    temporal: float = Field(
        default=0.0, ge=0, description="weight of its mean square change from step to step (TAR); 0: none"
    )
    ema: Ema | None = Field(default=None, description="the model is a moving average of the weights")
    average: int = Field(
        default=0,
        ge=0,
        description="the model is the mean of so many last validated ones, unless the best is better; 0: the best",
    )
    validate_every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(default="auto", description="steps")
    best: str = Field(default="loss", description="the validation score that decides which model is the best")
    answered: int = Field(
        default=200,
        ge=1,
        description="validation examples of pairs that are written out each time; all count for the loss",
    )
    patience: int = Field(default=0, ge=0, description="stop after so many validations without a better one; 0: never")
    save_every: float = Field(default=2.0, gt=0, description="minutes between two checkpoints, at most")
    spike: float = Field(
        default=10.0,
        ge=0,
        description="stop when the loss is so many deviations, and a nat (more with small batches), above its mean; "
        "0: never",
    )
    precision: Precision = "auto"
    threads: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default="auto", description="of the CPU; auto: all of torch's, or one where that is faster"
    )
    device: str = Field(default="auto", description="cpu, cuda, cuda:1, mps, …")

    def _conflicts(self) -> Conflicts:
        if self.average and self.ema is not None:
            yield ("average",), "the model is either a moving average (ema) or a mean of the last ones (average)"
        if self.average == 1:
            yield ("average",), "a mean of one is that one; use 0 for the best, or 2 and more"
