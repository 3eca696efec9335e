"""Settings of what stands at a model's end: scores of tokens, tags or classes, numbers, a horizon."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from seqloom.layers.activations import Activation
from seqloom.settings import Frozen, OneOrMany, impossible


class TokensOutput(Frozen):
    """A score for each token of the vocabulary, at each position."""

    kind: Literal["tokens"] = "tokens"
    bias: bool = False
    transform: Activation | None = Field(default=None, description="one more layer and norm before the scores (BERT)")
    scale: bool = Field(default=False, description="times 1/√width before the scores (T5, tied)")
    narrow: int | None = Field(default=None, ge=1, description="a map to this width before the scores; unset: none")
    follows: bool = Field(
        default=False, description="also two scores of the whole: whether its second segment follows its first (BERT)"
    )


class TagsOutput(Frozen):
    """A score for each tag, at each position."""

    kind: Literal["tags"] = "tags"
    chain: bool = Field(
        default=False,
        description="also a score for each tag that follows another, begins or ends: the likeliest tags of a whole "
        "sentence are sought, not of each word alone (a CRF, Lample et al. 2016)",
    )


Pool = Literal["mean", "max", "first", "last", "attention"]


class ClassesOutput(Frozen):
    """A score for each class, one for the whole sequence."""

    kind: Literal["classes"] = "classes"
    pool: OneOrMany[Pool] = Field(
        default="mean",
        description="how the states of all steps become one vector; a list: several, side by side. Of a recurrence in "
        "both directions ['first', 'last'] are its two last states",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of that vector (Kim 2014)")

    @property
    def pools(self) -> tuple[Pool, ...]:
        return self.pool if isinstance(self.pool, tuple) else (self.pool,)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.pools or len(set(self.pools)) < len(self.pools):
            raise impossible("a list of pools needs one or more, none of them twice", "pool")
        return self


class NumbersOutput(Frozen):
    """Real numbers at each position; with quantiles, as many of each number."""

    kind: Literal["numbers"] = "numbers"
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = ()


class HorizonOutput(Frozen):
    """Numbers of the steps that come behind the sequence, all at once: the mean of each, and the quantiles named.

    pool: how the sequence's states become one vector. flat: all of them side by side, as many as there always are
    (Nie et al. 2023, section 3.1). patches: one map from all positions to the patches of the horizon, the same for each
    number of a state, and one from such a state to the patch's steps: few weights, as a period of hours or days repeats
    (after SparseTSF, Lin et al. 2024, arXiv:2405.00946, which keeps the steps of a period apart).
    """

    kind: Literal["horizon"] = "horizon"
    pool: Literal["flat", "patches", "last", "mean"] = "flat"
    patch: int = Field(default=24, ge=1, description="of pool = 'patches': how many numbers one of the horizon has")
    quantiles: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(default=(), strict=False)
    dropout: float = Field(default=0.0, ge=0, lt=1, description="before the last map")

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if list(self.quantiles) != sorted(set(self.quantiles)):
            raise impossible("the levels of quantiles must rise, each once, such as [0.1, 0.5, 0.9]", "quantiles")
        return self

    @property
    def each(self) -> int:
        """Numbers for each value: its mean, then its quantiles."""
        return 1 + len(self.quantiles)

    def patches(self, size: int) -> int:
        """How many it takes for so many numbers; the last may reach beyond them."""
        return -(-size // self.patch)


OutputSettings = Annotated[
    TokensOutput | TagsOutput | ClassesOutput | NumbersOutput | HorizonOutput, Field(discriminator="kind")
]
