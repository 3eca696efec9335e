"""Blocks one upon the other, and a last norm."""

from torch import Tensor, nn

from seqloom.layers.attention import Attention
from seqloom.layers.experts import ExpertsReport
from seqloom.layers.layout import Layout
from seqloom.layers.mixer import Memory
from seqloom.layers.mixers import MixerSettings, NoCross, build_cross, build_mixer
from seqloom.layers.norms import build_norm
from seqloom.layers.positions import T5, Relative, build_relative
from seqloom.models.block import Block, BlockState, width_map
from seqloom.models.stack_settings import StackSettings
from seqloom.models.stack_step import read, stepped

StackState = tuple[BlockState | None, ...]


class Stack(nn.Module):
    def __init__(self, settings: StackSettings, width: int, causal: bool, crosses: bool = False) -> None:
        super().__init__()
        shared: dict[tuple[T5, int], Relative] = {}
        blocks: list[Block] = []
        before = width
        for own, mixer, cross, feed_forward in zip(
            settings.each_width(width), settings.mixers(), settings.crosses(), settings.feed_forwards(), strict=True
        ):
            built = build_mixer(mixer, own, causal, _shared_positions(mixer, own, causal, shared), before)
            over = build_cross(cross if crosses else NoCross(), own, width)
            blocks.append(Block(settings, own, built, over, feed_forward, before))
            before = own
        self.blocks = nn.ModuleList(blocks)
        self.norm = build_norm(settings.norm, before) if settings.norm.ends else None
        self.out = None if before == width else width_map(before, width)

    def begin(self, rows: int, memory: Memory | None) -> StackState:
        return tuple(block.begin(rows, of) for block, of in self._each_with(memory))

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> StackState:
        return tuple(block.start(rows, of, capacity) for block, of in self._each_with(memory))

    def _each_with(self, memory: Memory | None) -> list[tuple[Block, Memory | None]]:
        return [(block, memory and memory.beside(number)) for number, block in enumerate(self._blocks)]

    @property
    def _blocks(self) -> list[Block]:
        return [block for block in self.blocks if isinstance(block, Block)]

    def forward(
        self, x: Tensor, layout: Layout, state: StackState | None = None
    ) -> tuple[Tensor, StackState | None, ExpertsReport | None]:
        """Without a state: whole sequences, and what their mixers leave at their ends, if any does."""
        made = self._at_once(x, layout, state)
        x, after, report = self._one_by_one(x, layout, state) if made is None else (*made, None)
        x = x if self.norm is None else self.norm(x, layout)
        x = x if self.out is None else self.out(x)
        leaves = state is not None or any(end is not None for end in after)
        return x, (after if leaves else None), report

    def _at_once(self, x: Tensor, layout: Layout, state: StackState | None) -> tuple[Tensor, StackState] | None:
        """All blocks in one call of C; None where they are to be called one by one."""
        if state is not None:
            return stepped(self.blocks, x, layout, state)
        made = read(self.blocks, x, layout)
        return None if made is None else (made, (None,) * len(self.blocks))

    def _one_by_one(
        self, x: Tensor, layout: Layout, state: StackState | None
    ) -> tuple[Tensor, StackState, ExpertsReport | None]:
        after: list[BlockState | None] = []
        total: ExpertsReport | None = None
        given = x
        for layer, block in enumerate(self.blocks):
            x, end, report = block(x, layout, None if state is None else state[layer], given)
            after.append(end)
            if report is not None:
                total = report if total is None else total + report
        return x, tuple(after), total


def _shared_positions(
    mixer: MixerSettings, width: int, causal: bool, shared: dict[tuple[T5, int], Relative]
) -> Relative | None:
    """T5's one table for all layers that ask for the same; None where a layer makes its own."""
    if not (isinstance(mixer, Attention) and isinstance(mixer.relative, T5) and mixer.relative.shared):
        return None
    key = mixer.relative, mixer.heads
    if key not in shared:
        shared[key] = build_relative(mixer.relative, mixer.heads, mixer.width_of_head(width), causal)
    return shared[key]
