"""Read one sequence, write another."""

import torch
from torch import Tensor, nn

from seqloom.layers.layout import Layout
from seqloom.layers.mixer import Memory
from seqloom.layers.multi_step_attention import MultiStep
from seqloom.models.heads import build_head
from seqloom.models.input import Input
from seqloom.models.output import DecoderState, Output
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack import Stack
from seqloom.models.unfold import unfolded


class EncoderDecoder(nn.Module):
    def __init__(self, settings: ModelSettings, sizes: Sizes) -> None:
        super().__init__()
        encoder, decoder, width = settings.side("encoder"), settings.side("decoder"), settings.width
        self.settings, self.sizes = settings, sizes
        self.source = Input(settings.input, encoder, sizes.source, width)
        self.encoder = Stack(encoder, width, causal=False)
        shared = sizes.shared(self.source.vectors) if settings.tie in ("inputs", "all") else None
        self.target = Input(settings.decoder_input, decoder, sizes.target, width, shared)
        steps = [cross for cross in decoder.crosses() if isinstance(cross, MultiStep)]
        self.keeps_embedded = bool(steps)
        self.divides = len(steps) if any(cross.divide for cross in steps) else 1
        self.decoder = Stack(decoder, width, causal=True, crosses=True)
        tied = self.target.vectors if settings.tie in ("output", "all") else None
        self.head = build_head(settings.output, decoder.norm, sizes.target, width, tied)

    def forward(
        self,
        source: Tensor,
        source_layout: Layout,
        target: Tensor,
        target_layout: Layout,
        segments: Tensor | None = None,
    ) -> Output:
        """Whole pairs: states at each target position, each of which sees the source and the target up to itself."""
        memory, encoded = self._encode(source, source_layout, segments)
        x, layout = self.target(target, target_layout)
        hidden, _, report = self.decoder(x, layout, self.decoder.begin(layout.rows, memory))
        if encoded.report is not None:
            report = encoded.report if report is None else report + encoded.report
        return Output(hidden, layout, None, report)

    def encode(self, source: Tensor, layout: Layout, segments: Tensor | None = None) -> Memory:
        return self._encode(source, layout, segments)[0]

    def _encode(self, source: Tensor, layout: Layout, segments: Tensor | None) -> tuple[Memory, Output]:
        x, layout = self.source(source, layout, segments=segments)
        if self.settings.unfold is not None:
            x, layout = unfolded(x, layout, self.settings.unfold)
        hidden, ends, report = self.encoder(x, layout)
        if self.training and self.divides > 1 and hidden.requires_grad:
            # not what the embeddings learn from: they are read beside it
            hidden.register_hook(lambda gradient: gradient / self.divides)
        left = tuple(None if end is None else end.mixer for end in ends or ())
        memory = Memory(hidden, layout, ends=left, embedded=x if self.keeps_embedded else None)
        return memory, Output(hidden, layout, None, report)

    def start(self, memory: Memory, capacity: int | None = None) -> DecoderState:
        """The state before the first target step; its rows can be reordered."""
        memory = memory.padded()
        rows = memory.layout.rows
        lengths_B = torch.zeros(rows, dtype=torch.int64, device=memory.states.device)
        return DecoderState(lengths_B, self.decoder.start(rows, memory, capacity))

    def step(self, target: Tensor, layout: Layout, state: DecoderState) -> Output:
        """Some more target steps, and the state behind them."""
        x, layout = self.target(target, layout, state.lengths_B)
        hidden, layers, report = self.decoder(x, layout, state.layers)
        return Output(hidden, layout, DecoderState(state.lengths_B + layout.lengths_B, layers), report)

    def scores(self, output: Output) -> Tensor:
        return self.head(output.hidden, output.layout)
