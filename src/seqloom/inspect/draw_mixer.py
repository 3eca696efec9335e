"""Every mixer as boxes, and every way to a source."""

from collections.abc import Iterator

from seqloom.inspect.draw_attention import draw_compressed, draw_cross_attention, draw_self_attention
from seqloom.inspect.draw_convolution import draw_bottleneck_convolution, draw_convolution
from seqloom.inspect.draw_gated_linear import draw_gated_linear
from seqloom.inspect.draw_recurrence import draw_attentive_recurrence, draw_recurrence
from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.aligned import AlignedMixer
from seqloom.layers.attention import SelfAttention
from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.bottleneck import BottleneckMixer
from seqloom.layers.bottleneck_convolution import BottleneckConvolutionMixer
from seqloom.layers.convolution import ConvolutionMixer
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.gated_linear import GatedLinearMixer
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.layers.mixer import Mixer
from seqloom.layers.multi_step_attention import MultiStepAttention
from seqloom.layers.recurrence import RecurrenceMixer


def draw_mixer(drawing: Drawing, id: str, mixer: Mixer, read: Spot, axis: Axis, memory: Spot | None) -> Spot:
    match mixer:
        case SelfAttention():
            return draw_self_attention(drawing, id, mixer, read, axis)
        case MemoryCompressedAttention():
            return draw_compressed(drawing, id, mixer, read, axis)
        case RecurrenceMixer():
            return draw_recurrence(drawing, id, mixer, read, axis, memory)
        case AttentiveRecurrenceMixer():
            assert memory is not None
            return draw_attentive_recurrence(drawing, id, mixer, read, axis, memory)
        case ConvolutionMixer():
            return draw_convolution(drawing, id, mixer, read, axis)
        case BottleneckConvolutionMixer():
            return draw_bottleneck_convolution(drawing, id, mixer, read, axis)
        case GatedLinearMixer():
            return draw_gated_linear(drawing, id, mixer, read, axis)
        case _:
            return _unknown(drawing, id, mixer, [read], axis, memory)


def draw_cross(
    drawing: Drawing,
    id: str,
    mixer: Mixer,
    read: Spot,
    memory: Spot,
    axis: Axis,
    given: Spot,
    embedded: Spot | None,
) -> Spot:
    """given: what the whole stack reads. embedded: what the encoder read."""
    match mixer:
        case MultiStepAttention():
            return draw_cross_attention(drawing, id, mixer, read, memory, axis, given, embedded)
        case MemoryAttention():
            return draw_cross_attention(drawing, id, mixer, read, memory, axis)
        case BottleneckMixer():
            return _bottleneck(drawing, id, mixer, read, axis, memory)
        case AlignedMixer():
            return _aligned(drawing, id, mixer, read, axis, memory)
        case _:
            return _unknown(drawing, id, mixer, [read], axis, memory)


def _bottleneck(drawing: Drawing, id: str, mixer: BottleneckMixer, read: Spot, axis: Axis, memory: Spot) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("c", "the one vector that the source became", seen.call(id).args[2].context_BD.detach())
        yield Value("Y", "output", seen.made(id), axis)

    settings, parameters = {"summary": mixer.summary}, count(mixer)
    return drawing.add(
        id,
        "bottleneck",
        "summary of the source",
        [read],
        values,
        parameters=parameters,
        settings=settings,
        memory=memory,
    )


def _aligned(drawing: Drawing, id: str, mixer: AlignedMixer, read: Spot, axis: Axis, memory: Spot) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("m", "the source, mapped", seen.call(id).args[2].memory_ASD[0].detach(), "source")
        yield Value("Y", "output", seen.made(id), axis)

    title = "the source at the same place"
    return drawing.add(id, "aligned", title, [read], values, parameters=count(mixer), memory=memory)


def _unknown(drawing: Drawing, id: str, mixer: Mixer, reads: list[Spot], axis: Axis, memory: Spot | None) -> Spot:
    """A mixer that somebody else wrote: what goes in, and what comes out."""

    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "what goes in", seen.read(id), axis)
        yield Value("Y", "output", seen.made(id), axis)

    reads_memory = memory if mixer.needs_memory else None
    title = type(mixer).__name__
    return drawing.add(id, "mixer", title, reads, values, parameters=count(mixer), memory=reads_memory)
