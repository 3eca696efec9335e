"""One block as boxes: its mixer, its way to the source, its feed-forward; each with what goes around it."""

from collections.abc import Callable

from seqloom.inspect.draw_feed_forward import draw_feed_forward
from seqloom.inspect.draw_mixer import draw_cross, draw_mixer
from seqloom.inspect.draw_norm import draw_map, draw_norm, draw_sum
from seqloom.inspect.drawing import Drawing, Spot
from seqloom.inspect.values import Axis
from seqloom.models.block import Around, Block


def draw_block(
    drawing: Drawing,
    id: str,
    block: Block,
    read: Spot,
    axis: Axis,
    memory: Spot | None,
    given: Spot,
    embedded: Spot | None,
) -> Spot:
    """given: what the whole stack reads. memory, embedded: what the encoder made, and what it read."""
    before = read
    if block.mapped is not None:
        read = draw_map(drawing, f"{id}.mapped", block.mapped, read, axis)

    def mixer(x: Spot) -> Spot:
        return draw_mixer(drawing, f"{id}.mixer", block.mixer, x, axis, memory)

    into = before if block.reads_before else read
    read = _around(drawing, f"{id}.around_mixer", block.around_mixer, read, axis, mixer, into)
    if block.cross is not None and block.around_cross is not None:
        layer = block.cross
        assert memory is not None

        def cross(x: Spot) -> Spot:
            return draw_cross(drawing, f"{id}.cross", layer, x, memory, axis, given, embedded)

        read = _around(drawing, f"{id}.around_cross", block.around_cross, read, axis, cross)
    if block.feed_forward is not None and block.around_feed_forward is not None:
        forward = block.feed_forward

        def feed(x: Spot) -> Spot:
            return draw_feed_forward(drawing, f"{id}.feed_forward", forward, x, axis)

        read = _around(drawing, f"{id}.around_feed_forward", block.around_feed_forward, read, axis, feed)
    return read


def _around(
    drawing: Drawing,
    id: str,
    around: Around,
    x: Spot,
    axis: Axis,
    layer: Callable[[Spot], Spot],
    into: Spot | None = None,
) -> Spot:
    """into: what the layer reads, where that is not what goes around it."""
    y = layer(draw_norm(drawing, f"{id}.norm_in", around.norm_in, into or x, axis))
    y = draw_norm(drawing, f"{id}.norm_out", around.norm_out, y, axis)
    if around.residual is not None:
        y = draw_sum(drawing, f"{id}.sum", x, y, axis, around.residual)
    return draw_norm(drawing, f"{id}.norm_sum", around.norm_sum, y, axis)
