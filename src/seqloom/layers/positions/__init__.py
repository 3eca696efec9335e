"""Where a token stands: absolute positions join the input, relative ones live inside attention."""

from typing import Annotated, assert_never

from pydantic import Field

from seqloom.layers.positions.absolute import (
    Learned,
    LearnedPositions,
    NoPositions,
    PositionsSettings,
    Sinusoidal,
    SinusoidalPositions,
    build_positions,
)
from seqloom.layers.positions.alibi import Alibi, AlibiRelative
from seqloom.layers.positions.music import Music, MusicRelative
from seqloom.layers.positions.relative import Relative
from seqloom.layers.positions.rotary import Rotary, RotaryRelative
from seqloom.layers.positions.shaw import Shaw, ShawRelative
from seqloom.layers.positions.t5 import T5, T5Relative

RelativeSettings = Annotated[Shaw | Music | T5 | Alibi | Rotary, Field(discriminator="kind")]


def build_relative(settings: RelativeSettings, heads: int, head_width: int, causal: bool) -> Relative:
    match settings:
        case Shaw():
            return ShawRelative(settings, head_width)
        case Music():
            return MusicRelative(settings, heads, head_width)
        case T5():
            return T5Relative(settings, heads, causal)
        case Alibi():
            return AlibiRelative(heads)
        case Rotary():
            return RotaryRelative(settings, head_width)
        case _:
            assert_never(settings)


__all__ = [
    "T5",
    "Alibi",
    "AlibiRelative",
    "Learned",
    "LearnedPositions",
    "Music",
    "MusicRelative",
    "NoPositions",
    "PositionsSettings",
    "Relative",
    "RelativeSettings",
    "Rotary",
    "RotaryRelative",
    "Shaw",
    "ShawRelative",
    "Sinusoidal",
    "SinusoidalPositions",
    "T5Relative",
    "build_positions",
    "build_relative",
]
