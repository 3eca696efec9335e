"""A small schema in the shape of the real one, for the tests of the settings room."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from seqloom.settings import Changes, Frozen, OneOrMany, impossible


class Bias(Frozen):
    """A learned number for each distance."""

    kind: Literal["bias"] = "bias"
    reach: int = Field(gt=0)


class Rotary(Frozen):
    """Turn queries and keys by their position."""

    kind: Literal["rotary"] = "rotary"
    base: float = 10000.0


Relative = Annotated[Bias | Rotary, Field(discriminator="kind")]


class Heads(Frozen):
    heads: int = Field(8, gt=0)
    """How many heads share the width."""


class Attention(Heads):
    """Each position reads the others by likeness."""

    kind: Literal["attention"] = "attention"
    score: Literal["dot", "scaled-dot", "additive"] = "scaled-dot"
    relative: Relative | None = None
    window: Annotated[int, Field(gt=0)] | Literal["all"] = "all"


class Convolution(Frozen):
    """Each position reads its neighbours."""

    kind: Literal["convolution"] = "convolution"
    kernel: int = Field(ge=1, le=99)
    convolution: bool = False  # has the name of its kind: no label of pydantic's


Mixer = Annotated[Attention | Convolution, Field(discriminator="kind")]


class Model(Frozen):
    width: int = Field(multiple_of=2)
    mixer: OneOrMany[Mixer]
    memory: Mixer = Attention()
    dropout: float = Field(0.0, ge=0, lt=1)
    tie: bool = False
    cross: OneOrMany[Mixer] | None = None
    decoder: Changes[Attention] = Attention()
    names: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    limits: dict[str, int] = Field({})

    @field_validator("names")
    @classmethod
    def _no_spaces(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if any(" " in name for name in names):
            raise ValueError("a name holds no space")
        return names

    @model_validator(mode="after")
    def _heads_split_the_width(self) -> Self:
        if isinstance(self.mixer, Attention) and self.width % self.mixer.heads:
            raise impossible(f"width {self.width} cannot be split into {self.mixer.heads} heads", "mixer", "heads")
        return self


class Recipe(Frozen):
    """A whole recipe."""

    source: str
    model: Model
