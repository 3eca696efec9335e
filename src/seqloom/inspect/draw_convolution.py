"""Convolutions as boxes: the window of each place, the map, the gate; and ByteNet's block around one."""
# T positions  k taps  D width  O outputs

from collections.abc import Iterator

from seqloom.inspect.draw_norm import draw_map, draw_norm
from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.bottleneck_convolution import BottleneckConvolutionMixer
from seqloom.layers.convolution import ConvolutionMixer, ConvolutionParts


def draw_convolution(
    drawing: Drawing, id: str, mixer: ConvolutionMixer, read: Spot, axis: Axis, of: str | None = None
) -> Spot:
    """of: the box that this one is itself a step of."""
    above = of or id

    def parts(seen: Seen) -> ConvolutionParts:
        return seen.once(id, lambda: mixer.parts(*seen.call(id).args))

    def windows(seen: Seen) -> Iterator[Value]:
        yield Value("W", "what each place sees, tap beside tap", parts(seen).windows_BTkD[0].flatten(1), axis)

    def mapped(seen: Seen) -> Iterator[Value]:
        made_TO = parts(seen).mapped_BTO[0]
        if mixer.settings.gated:
            value_TD, gate_TD = made_TO.chunk(2, -1)
            yield Value("b", "the gate, before its sigmoid", gate_TD, axis)
            yield Value("σ(b)", "the gate", gate_TD.sigmoid(), axis)
            yield Value("a", "what is gated", value_TD, axis)
        else:
            yield Value("a", "what the map makes, before the activation", made_TO, axis)

    def out(seen: Seen) -> Iterator[Value]:
        yield from windows(seen)
        yield from mapped(seen)
        yield Value("Y", "output", seen.made(id), axis)

    settings = mixer.settings.model_dump(mode="json", exclude_none=True)
    settings |= {"behind": mixer.behind, "ahead": mixer.ahead}
    parameters, title = count(mixer), "map over the window"
    spot = drawing.add(f"{id}.windows", "windows", "windows", [read], windows, settings=settings, of=above)
    linear = drawing.add(
        f"{id}.conv", "taps", title, [spot], mapped, parameters=parameters, settings=settings, of=above
    )
    return drawing.add(id, "convolution", "convolution", [linear], out, parameters=parameters, settings=settings, of=of)


def draw_bottleneck_convolution(
    drawing: Drawing, id: str, mixer: BottleneckConvolutionMixer, read: Spot, axis: Axis
) -> Spot:
    spot = draw_map(drawing, f"{id}.inputs", mixer.inputs, read, axis, id)
    spot = draw_norm(drawing, f"{id}.norm_in", mixer.norm_in, spot, axis, id)
    spot = draw_convolution(drawing, f"{id}.convolution", mixer.convolution, spot, axis, id)
    spot = draw_norm(drawing, f"{id}.norm_out", mixer.norm_out, spot, axis, id)

    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "what goes into the last map", seen.read(f"{id}.out"), axis)
        yield Value("Y", "output", seen.made(id), axis)

    return drawing.add(
        id, "bottleneck-convolution", "convolution between two maps", [spot], values, parameters=count(mixer)
    )
