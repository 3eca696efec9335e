"""Every mixer as boxes, and every way to a source."""

from seqloom.inspect.draw_attention import draw_cross_attention, draw_self_attention
from seqloom.inspect.drawing import Drawing, Spot
from seqloom.inspect.values import Axis
from seqloom.layers.attention import SelfAttention
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.mixer import Mixer


def draw_mixer(drawing: Drawing, id: str, mixer: Mixer, read: Spot, axis: Axis, memory: Spot | None) -> Spot:
    match mixer:
        case SelfAttention():
            return draw_self_attention(drawing, id, mixer, read, axis)
        case _:
            raise NotImplementedError


def draw_cross(drawing: Drawing, id: str, mixer: Mixer, read: Spot, memory: Spot, axis: Axis) -> Spot:
    match mixer:
        case MemoryAttention():
            return draw_cross_attention(drawing, id, mixer, read, memory, axis)
        case _:
            raise NotImplementedError
