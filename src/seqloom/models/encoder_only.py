"""Read a sequence in both directions: one state a position, for tags, classes, masked tokens, numbers."""

from torch import Tensor, nn

from seqloom.layers.embedding import Tokens, positions_of
from seqloom.layers.layout import Layout
from seqloom.models.head_settings import TokensOutput
from seqloom.models.heads import FollowsHead, build_head
from seqloom.models.input import Input
from seqloom.models.output import Output
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack import Stack


class EncoderOnly(nn.Module):
    def __init__(self, settings: ModelSettings, sizes: Sizes) -> None:
        super().__init__()
        side, width = settings.side("encoder"), settings.width
        self.settings, self.sizes = settings, sizes
        self.input = Input(settings.input, side, sizes.source, width)
        self.encoder = Stack(side, width, causal=False)
        tied = None if settings.tie == "none" else sizes.shared(self.input.vectors)
        positions = positions_of(settings.input, sizes.steps)
        self.head = build_head(settings.output, side.norm, sizes.target, width, tied, positions)
        output = settings.output
        self.follows = FollowsHead(width) if isinstance(output, TokensOutput) and output.follows else None

    @property
    def segmented(self) -> bool:
        """Whether its input knows kinds of segment."""
        return isinstance(self.settings.input, Tokens) and self.settings.input.segments > 0

    def forward(self, x: Tensor, layout: Layout, segments: Tensor | None = None) -> Output:
        x, layout = self.input(x, layout, segments=segments)
        hidden, _, report = self.encoder(x, layout)
        return Output(hidden, layout, None, report)

    def scores(self, output: Output) -> Tensor:
        return self.head(output.hidden, output.layout)

    def follow_scores(self, output: Output) -> Tensor:
        """Of each row, scores_B2: its second segment is from elsewhere, or follows the first."""
        if self.follows is None:
            raise ValueError("this model says nothing of what follows: set output.follows")
        return self.follows(output.hidden, output.layout)
