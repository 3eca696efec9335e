"""What can be changed in a model while it runs: settings, told apart by `kind`. See `changed` for how they act."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.settings import Frozen


class HeadChange(Frozen):
    """One head finds nothing: its part of what the heads hand over is zero."""

    kind: Literal["head"] = "head"
    layer: str = Field(description="the box of the layer: encoder.blocks.0.mixer")
    head: int = Field(ge=0)


class LayerChange(Frozen):
    """A layer says nothing: its output is left out, and what goes around it stays. Of a block: all its layers."""

    kind: Literal["layer"] = "layer"
    box: str = Field(description="a mixer, a way to the source, a feed-forward layer, or a block: encoder.blocks.0")


class TokenChange(Frozen):
    """Another token at one place; whoever makes ids of texts puts it there."""

    kind: Literal["token"] = "token"
    side: Literal["source", "target"] = "source"
    place: int = Field(ge=0)
    text: str


class WeightChange(Frozen):
    """One attention weight has this value; the rest of its row is scaled so that the row sums to 1."""

    kind: Literal["weight"] = "weight"
    layer: str
    head: int = Field(ge=0)
    row: int = Field(ge=0)
    column: int = Field(ge=0)
    value: float = Field(ge=0, le=1, strict=False)


class PositionsChange(Frozen):
    """One side does not know where its tokens stand: nothing is added to them, nothing turned, nothing biased."""

    kind: Literal["positions"] = "positions"
    side: Literal["encoder", "decoder"] = "encoder"


class MaskChange(Frozen):
    """The decoder's attention sees the future."""

    kind: Literal["mask"] = "mask"


Change = Annotated[
    HeadChange | LayerChange | TokenChange | WeightChange | PositionsChange | MaskChange, Field(discriminator="kind")
]
