"""What stands behind the mixers of a block: dense, a mixture of experts, or nothing."""

from typing import Annotated, Literal, assert_never

from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.cost import Cost
from seqloom.layers.dense import Dense, DenseFeedForward
from seqloom.layers.experts import Experts, ExpertsReport, MixtureOfExperts
from seqloom.layers.faults import Faults
from seqloom.layers.layout import Layout
from seqloom.settings import Frozen


class NoFeedForward(Frozen):
    """Mixers only, as in a plain recurrent stack."""

    kind: Literal["none"] = "none"

    def check(self, width: int) -> Faults:
        yield from ()

    def cost(self, width: int) -> Cost:
        return Cost()


FeedForwardSettings = Annotated[Dense | Experts | NoFeedForward, Field(discriminator="kind")]


class FeedForward(nn.Module):
    """One call for all of them; only a mixture has something to report."""

    def __init__(self, layer: DenseFeedForward | MixtureOfExperts) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, ExpertsReport | None]:
        if isinstance(self.layer, MixtureOfExperts):
            return self.layer(x, layout)
        return self.layer(x), None


def build_feed_forward(settings: FeedForwardSettings, width: int) -> FeedForward | None:
    match settings:
        case Dense():
            return FeedForward(DenseFeedForward(settings, width))
        case Experts():
            return FeedForward(MixtureOfExperts(settings, width))
        case NoFeedForward():
            return None
        case _:
            assert_never(settings)
