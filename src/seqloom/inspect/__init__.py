"""Look inside a model while it runs: draw it, trace it, change it."""

from seqloom.inspect.alignment import alignment
from seqloom.inspect.attention import watch_attention
from seqloom.inspect.changed import changed
from seqloom.inspect.changes import (
    Change,
    HeadChange,
    LayerChange,
    MaskChange,
    PositionsChange,
    TokenChange,
    WeightChange,
)
from seqloom.inspect.equations import equation
from seqloom.inspect.flow import draw
from seqloom.inspect.picture import attention_svg, attention_text
from seqloom.inspect.states import watch_states
from seqloom.inspect.trace import Example, Trace, trace

__all__ = [
    "Change",
    "Example",
    "HeadChange",
    "LayerChange",
    "MaskChange",
    "PositionsChange",
    "TokenChange",
    "Trace",
    "WeightChange",
    "alignment",
    "attention_svg",
    "attention_text",
    "changed",
    "draw",
    "equation",
    "trace",
    "watch_attention",
    "watch_states",
]
