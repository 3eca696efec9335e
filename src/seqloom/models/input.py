"""What a stack reads: embeddings joined with positions."""

import torch
from torch import Tensor, nn

from seqloom.layers.dropout import Dropout
from seqloom.layers.embedding import InputSettings, TokenEmbedding, build_embedding
from seqloom.layers.layout import Layout
from seqloom.layers.norms import build_norm
from seqloom.layers.positions import NoPositions, build_positions
from seqloom.models.stack_settings import StackSettings, concatenates


class Input(nn.Module):
    def __init__(
        self, settings: InputSettings, stack: StackSettings, size: int, width: int, tied: nn.Parameter | None = None
    ) -> None:
        """tied: the token vectors of another input, to share."""
        super().__init__()
        positions = stack.positions
        self.concat = concatenates(positions)
        taken = 0 if isinstance(positions, NoPositions) or positions.width is None else positions.width
        self.embedding = build_embedding(settings, size, width - taken, tied)
        self.positions = build_positions(positions, taken or width)
        self.norm = build_norm(stack.norm, width) if settings.norm else None
        self.dropout = Dropout(stack.dropout, stack.locked)

    @property
    def vectors(self) -> nn.Parameter:
        """The token vectors, for whoever shares them."""
        assert isinstance(self.embedding, TokenEmbedding)
        return self.embedding.weight_VD

    def forward(
        self, x: Tensor, layout: Layout, after_B: Tensor | None = None, segments: Tensor | None = None
    ) -> tuple[Tensor, Layout]:
        """after_B: how many steps of each row have gone before."""
        if x.is_floating_point() and layout.real is not None:
            x = torch.where(layout.real[..., None], x, 0)  # what stands in the padding may be no number at all
        x, layout = self.embedding(x, layout, segments)
        if self.positions is not None:
            at = self.positions(layout.places(after_B), x.dtype)
            x = torch.cat((x, at), -1) if self.concat else x + at
        x = x if self.norm is None else self.norm(x, layout)
        return self.dropout(x, layout), layout
