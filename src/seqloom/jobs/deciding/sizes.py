"""Which model suits the data and the time: for who names no recipe."""

from dataclasses import dataclass
from typing import Any

from seqloom.data.reading import Shape


@dataclass(frozen=True)
class Size:
    width: int
    depth: int
    heads: int


SIZES = (Size(64, 2, 4), Size(128, 2, 4), Size(192, 3, 6), Size(256, 4, 8), Size(384, 5, 6), Size(512, 6, 8))


# a series has few values, each of which stands in many windows: it is soon learnt by heart
SERIES_SIZES = (Size(16, 2, 4), Size(32, 2, 4), Size(64, 3, 4), Size(128, 3, 8))

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of a forecast that nobody asked for others of."""


def heads_for(width: int) -> int:
    """As many heads as a width can be split into, of 32 numbers or more each; an even number, for rotary positions."""
    most = max(1, width // 32)
    return next((heads for heads in range(most, 0, -1) if width % heads == 0 and (width // heads) % 2 == 0), 1)


PATCHES = 64
"""Of a picture, about; as MNIST's and CIFAR's are cut into by small ones of their kind."""


def picture_input(picture: tuple[int, int, int]) -> dict[str, Any]:
    """Square patches that divide the width, about as many as `PATCHES`. picture: rows, columns, channels."""
    rows, columns, channels = picture

    def apart(side: int) -> float:
        count = -(-rows // side) * columns // side
        return max(count / PATCHES, PATCHES / count)

    patch = min((side for side in range(1, columns + 1) if columns % side == 0), key=apart)
    return {"kind": "images", "patch": patch, "columns": columns, "channels": channels}


def model_of(size: Size, shape: Shape, dropout: float, shared: bool) -> dict[str, Any]:
    """A Transformer as they are built now: norms before, rotary positions."""
    model: dict[str, Any] = {
        "width": size.width,
        "depth": size.depth,
        "mixer": {"kind": "attention", "heads": size.heads, "relative": {"kind": "rotary"}},
        "feed_forward": {"kind": "dense", "width": 4 * size.width, "activation": "gelu"},
        "norm": {"kind": "rms", "place": "pre"},
        "input": {"kind": "tokens", "scale": True},
        "dropout": dropout,
    }
    match shape:
        case "pairs":
            return model | {
                "family": "encoder-decoder",
                "tie": "all" if shared else "output",
                "positions": {"kind": "sinusoidal"},
            }
        case "text":
            return model | {"family": "decoder-only", "tie": "output"}
        case "tags":
            return model | {"family": "encoder-only", "output": {"kind": "tags"}}
        case "timeline":
            small = model | {"family": "encoder-only", "output": {"kind": "horizon", "quantiles": QUANTILES}}
            return small | {"input": {"kind": "patches", "length": 16, "stride": 8, "fill": "last"}}
        case "classes":
            return model | {"family": "encoder-only", "output": {"kind": "classes"}}
        case "series":
            return model | {"family": "encoder-only", "input": {"kind": "vectors"}, "output": {"kind": "classes"}}
