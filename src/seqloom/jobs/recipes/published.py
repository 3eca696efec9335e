"""What was published of a system, beside its recipe: to be shown next to what is measured, never in its place."""

from pydantic import Field

from seqloom.settings import Frozen


class Result(Frozen):
    """One published score."""

    data: str = Field(description="what it was measured on, for example newstest2014 en-de")
    metric: str = Field(description="for example bleu or perplexity")
    score: float
    note: str = Field(default="", description="what is special about it, for example an ensemble of 8")
    flops: float | None = Field(default=None, gt=0, description="of its training, where the target's are not its own")


class Published(Frozen):
    """The section [target] of a recipe."""

    parameters: float | None = Field(default=None, gt=0, description="as the paper says")
    source_size: int | None = Field(default=None, ge=1, description="entries of the paper's (source) vocabulary")
    target_size: int | None = Field(default=None, ge=1, description="of the target's; unset: as the source's")
    counted: str = Field(default="", description="what the paper's count leaves out or adds, where it is not ours")
    flops: float | None = Field(default=None, gt=0, description="of the whole training")
    results: tuple[Result, ...] = ()

    def spent(self, result: Result) -> float | None:
        """FLOPs of the training behind a result. Those of the target are of the data that its first result tells of."""
        same = result.data == self.results[0].data
        return self.flops if result.flops is None and same else result.flops

    def named(self, result: Result) -> str:
        """Its data; with its note, where there are several of the same data and metric."""
        like = [each for each in self.results if (each.data, each.metric) == (result.data, result.metric)]
        return f"{result.data}, {result.note}" if result.note and len(like) > 1 else result.data
