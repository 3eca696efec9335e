"""One layer of a stack: mixer, perhaps attention over a memory, feed-forward; each with norm, residual and dropout.

The only place that knows their order.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from seqloom.layers.convolution import ConvolutionMixer
from seqloom.layers.dropout import Dropout
from seqloom.layers.experts import ExpertsReport
from seqloom.layers.feed_forward import FeedForwardSettings, build_feed_forward
from seqloom.layers.layout import Layout
from seqloom.layers.mixer import Memory, Mixer, State
from seqloom.layers.multi_step_attention import MultiStepAttention
from seqloom.layers.norms import Norm, build_norm, sum_of
from seqloom.models.stack_settings import Residual, StackSettings


class Around(nn.Module):
    """What goes around a layer f.

    pre   x + f(norm(x))         post  norm(x + f(x))         both  x + norm(f(norm(x)))
    """

    def __init__(self, settings: StackSettings, width: int, inputs: int | None = None) -> None:
        """inputs: the width of what f reads, where that is another."""
        super().__init__()
        place = settings.norm.place
        self.norm_in = build_norm(settings.norm, inputs or width) if place in ("pre", "both") else None
        self.norm_out = build_norm(settings.norm, width) if place == "both" else None
        self.norm_sum = build_norm(settings.norm, width) if place == "post" else None
        self.residual = settings.residual if isinstance(settings.residual, Residual) else None
        self.dropout = Dropout(settings.dropout, settings.locked)

    def before(self, x: Tensor, layout: Layout) -> Tensor:
        return x if self.norm_in is None else self.norm_in(x, layout)

    def after(self, x: Tensor, y: Tensor, layout: Layout) -> Tensor:
        y = y if self.norm_out is None else self.norm_out(y, layout)
        rate = self.dropout.rate if self.training else 0.0
        if self.residual is None or self.dropout.locked:
            y, rate = (self.dropout(y, layout) if self.training else y), 0.0
        if self.residual is None:
            return y if self.norm_sum is None else self.norm_sum(y, layout)
        carry, scale = self.residual.carry, self.residual.scale
        if isinstance(self.norm_sum, Norm):
            return self.norm_sum.of_sum(x, y, carry, scale, rate, layout)
        y = sum_of(x, y, carry, scale, rate)
        return y if self.norm_sum is None else self.norm_sum(y, layout)


@dataclass(frozen=True)
class BlockState:
    mixer: State
    cross: State


class Block(nn.Module):
    def __init__(
        self,
        settings: StackSettings,
        width: int,
        mixer: Mixer,
        cross: Mixer | None,
        feed_forward: FeedForwardSettings,
        inputs: int | None = None,
    ) -> None:
        """inputs: the width of what comes from the block before, where that is another."""
        super().__init__()
        changes = inputs is not None and inputs != width
        self.mapped = width_map(inputs, width) if changes and inputs is not None else None
        # only a convolution can read one width and write another: all else begins behind the map
        self.reads_before = changes and isinstance(mixer, ConvolutionMixer)
        self.mixer, self.around_mixer = mixer, Around(settings, width, inputs if self.reads_before else None)
        self.cross, self.around_cross = cross, None if cross is None else Around(settings, width)
        self.feed_forward = build_feed_forward(feed_forward, width)
        self.around_feed_forward = None if self.feed_forward is None else Around(settings, width)

    def begin(self, rows: int, memory: Memory | None) -> BlockState:
        """For whole sequences: only what must be made from a memory."""
        cross = None if self.cross is None else self.cross.begin(rows, memory)
        return BlockState(self.mixer.begin(rows, memory), cross)

    def start(self, rows: int, memory: Memory | None, capacity: int | None) -> BlockState:
        """For going on step by step."""
        cross = None if self.cross is None else self.cross.start(rows, memory)
        return BlockState(self.mixer.start(rows, memory, capacity), cross)

    def forward(
        self, x: Tensor, layout: Layout, state: BlockState | None, given: Tensor | None = None
    ) -> tuple[Tensor, BlockState | None, ExpertsReport | None]:
        """given: what the whole stack reads, for attention that asks with it too."""
        mixer, cross = (None, None) if state is None else (state.mixer, state.cross)
        carried = x if self.mapped is None else self.mapped(x)
        read = x if self.reads_before else carried
        y, mixer = self.mixer(self.around_mixer.before(read, layout), layout, mixer)
        x = self.around_mixer.after(carried, y, layout)
        if self.cross is not None and self.around_cross is not None:
            asked = (given,) if isinstance(self.cross, MultiStepAttention) else ()
            y, cross = self.cross(self.around_cross.before(x, layout), layout, cross, *asked)
            x = self.around_cross.after(x, y, layout)
        report = None
        if self.feed_forward is not None and self.around_feed_forward is not None:
            y, report = self.feed_forward(self.around_feed_forward.before(x, layout), layout)
            x = self.around_feed_forward.after(x, y, layout)
        nothing = state is None and mixer is None
        return x, (None if nothing else BlockState(mixer, cross)), report


def width_map(inputs: int, width: int) -> nn.Linear:
    """From one width to another; at first the variance is kept."""
    made = nn.Linear(inputs, width)
    nn.init.normal_(made.weight, std=inputs**-0.5)
    nn.init.zeros_(made.bias)
    return made
