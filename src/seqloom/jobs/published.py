"""What was published of a system, beside its recipe: to be shown next to what is measured, never in its place."""

from pydantic import Field

from seqloom.settings import Frozen


class Result(Frozen):
    """One published score."""

    data: str = Field(description="what it was measured on, for example newstest2014 en-de")
    metric: str = Field(description="for example bleu or perplexity")
    score: float
    note: str = Field(default="", description="what is special about it, for example an ensemble of 8")


class Published(Frozen):
    """The section [target] of a recipe."""

    parameters: float | None = Field(default=None, gt=0, description="as the paper says")
    source_size: int | None = Field(default=None, ge=1, description="entries of the paper's (source) vocabulary")
    target_size: int | None = Field(default=None, ge=1, description="of the target's; unset: as the source's")
    counted: str = Field(default="", description="what the paper's count leaves out or adds, where it is not ours")
    flops: float | None = Field(default=None, gt=0, description="of the whole training")
    results: tuple[Result, ...] = ()
