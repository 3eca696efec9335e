"""The whole model as a drawing, made of its own modules."""

from collections.abc import Iterator
from typing import assert_never

from seqloom.inspect.draw_block import draw_block
from seqloom.inspect.draw_head import draw_head
from seqloom.inspect.draw_input import draw_input
from seqloom.inspect.draw_norm import draw_map, draw_norm
from seqloom.inspect.drawing import Drawing, Flow, Side, Spot
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.features import Features
from seqloom.models.block import Block
from seqloom.models.build import Model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import Unfold
from seqloom.models.stack import Stack


def draw(model: Model) -> Flow:
    """Boxes, edges and groups of a model, from what it reads to what it says."""
    settings = model.settings
    drawing = Drawing(structured=isinstance(settings.input, Features))
    match model:
        case EncoderDecoder():
            read = draw_input(drawing, "source", model.source, settings.input, "encoder", "source")
            if settings.unfold is not None:
                read = _unfold(drawing, read, settings.unfold)
            embedded, memory = read, _stack(drawing, "encoder", model.encoder, read, "encoder", "source")
            read = draw_input(drawing, "target", model.target, settings.decoder_input, "decoder", "target")
            last = _stack(drawing, "decoder", model.decoder, read, "decoder", "target", memory, embedded)
            side: Side = "decoder"
        case DecoderOnly():
            read = draw_input(drawing, "input", model.input, settings.input, "decoder", "target")
            last, side = _stack(drawing, "decoder", model.decoder, read, "decoder", "target"), "decoder"
        case EncoderOnly():
            read = draw_input(drawing, "input", model.input, settings.input, "encoder", "source")
            last, side = _stack(drawing, "encoder", model.encoder, read, "encoder", "source"), "encoder"
        case _:
            assert_never(model)
    drawing.group("head", "output", side)
    draw_head(drawing, model, last)
    return drawing.flow()


def _unfold(drawing: Drawing, read: Spot, settings: Unfold) -> Spot:
    def values(seen: Seen) -> Iterator[Value]:
        yield Value("x", "the source, and empty steps behind it", seen.read("encoder"), "source")

    return drawing.add("encoder.unfold", "unfold", "empty steps", [read], values, settings=settings.model_dump())


def _stack(
    drawing: Drawing,
    id: str,
    stack: Stack,
    read: Spot,
    side: Side,
    axis: Axis,
    memory: Spot | None = None,
    embedded: Spot | None = None,
) -> Spot:
    given = read
    for number, block in enumerate(stack.blocks):
        assert isinstance(block, Block)
        drawing.group(f"{id}.blocks.{number}", f"{side} block {number + 1}", side)
        read = draw_block(drawing, f"{id}.blocks.{number}", block, read, axis, memory, given, embedded)
    if stack.norm is not None or stack.out is not None:
        drawing.group(f"{id}.end", f"end of the {side}", side)
    read = draw_norm(drawing, f"{id}.norm", stack.norm, read, axis)
    return read if stack.out is None else draw_map(drawing, f"{id}.out", stack.out, read, axis)
