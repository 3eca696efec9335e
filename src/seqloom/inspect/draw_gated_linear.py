"""The fading memory as boxes: queries, keys, values and decay; what each place reads of each; norm and gate."""
# T positions  H heads

from collections.abc import Iterator

from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.gated_linear import FadingParts, GatedLinearMixer


def draw_gated_linear(drawing: Drawing, id: str, mixer: GatedLinearMixer, read: Spot, axis: Axis) -> Spot:
    sides = ["ahead"] if mixer.back is None else ["ahead", "back"]
    spots = [_side(drawing, id, mixer, number, name, read, axis) for number, name in enumerate(sides)]

    def values(seen: Seen) -> Iterator[Value]:
        for spot in spots:
            yield from spot.values(seen)
        yield Value("C", "the heads side by side", seen.read(f"{id}.out"), axis)
        yield Value("Y", "output", seen.made(id), axis)

    settings = {"heads": mixer.ahead.H, "key_width": mixer.ahead.K, "value_width": mixer.ahead.V}
    return drawing.add(id, "gated-linear", "fading memory", spots, values, parameters=count(mixer), settings=settings)


def _side(drawing: Drawing, id: str, mixer: GatedLinearMixer, number: int, name: str, read: Spot, axis: Axis) -> Spot:
    def parts(seen: Seen) -> FadingParts:
        return seen.once(id, lambda: mixer.parts(*seen.call(id).args[:2]))[number]

    def given(seen: Seen) -> Iterator[Value]:
        one = parts(seen)
        yield Value("Q", "queries", one.q_BHTK[0], axis)
        yield Value("K", "keys", one.k_BHTK[0], axis)
        yield Value("V", "values", one.v_BHTV[0], axis)
        yield Value("a", "how much of the memory stays, in each head", one.decay_BTH[0], axis)

    def reads(seen: Seen) -> Iterator[Value]:
        yield Value("R", "how much each place reads of each", parts(seen).read_BHTS[0], axis, axis)

    def out(seen: Seen) -> Iterator[Value]:
        yield from given(seen)
        yield from reads(seen)
        yield Value("G", "gate, before its activation", parts(seen).gate_BHTV[0], axis)
        yield Value("Z", "what each head read, normed and gated", parts(seen).out_BHTV[0], axis)

    title = "forward" if name == "ahead" else "backward"
    memory, settings = getattr(mixer, name), {"key_width": mixer.ahead.K, "backward": name == "back"}
    first = drawing.add(
        f"{id}.{name}.inputs",
        "faded",
        f"queries, keys, values, decay: {title}",
        [read],
        given,
        parameters=count(memory),
        settings=settings,
        of=id,
    )
    second = drawing.add(f"{id}.{name}.reads", "fading", f"reading {title}", [first], reads, settings=settings, of=id)
    return drawing.add(f"{id}.{name}", "gated-heads", f"heads, {title}", [second, first], out, settings=settings, of=id)
