"""Read a sequence from left to right and say at each position what comes next: a language model."""

import torch
from torch import Tensor, nn

from seqloom.layers.layout import Layout
from seqloom.models.heads import build_head
from seqloom.models.input import Input
from seqloom.models.output import DecoderState, Output
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack import Stack


class DecoderOnly(nn.Module):
    def __init__(self, settings: ModelSettings, sizes: Sizes) -> None:
        super().__init__()
        side, width = settings.side("decoder"), settings.width
        self.settings, self.sizes = settings, sizes
        self.input = Input(settings.input, side, sizes.source, width)
        self.decoder = Stack(side, width, causal=True)
        tied = None if settings.tie == "none" else sizes.shared(self.input.vectors)
        self.head = build_head(settings.output, side.norm, sizes.target, width, tied)

    def start(self, rows: int, capacity: int | None = None) -> DecoderState:
        lengths_B = torch.zeros(rows, dtype=torch.int64, device=next(self.parameters()).device)
        return DecoderState(lengths_B, self.decoder.start(rows, None, capacity))

    def forward(self, x: Tensor, layout: Layout, state: DecoderState | None = None) -> Output:
        """Without a state: whole sequences. With one: the steps behind it, and the state behind these."""
        after_B, layers = (None, None) if state is None else (state.lengths_B, state.layers)
        x, layout = self.input(x, layout, after_B)
        hidden, layers, report = self.decoder(x, layout, layers)
        if after_B is None or layers is None:
            return Output(hidden, layout, None, report)
        return Output(hidden, layout, DecoderState(after_B + layout.lengths_B, layers), report)

    def scores(self, output: Output) -> Tensor:
        return self.head(output.hidden, output.layout)
