"""All mixers: the union of their settings, and the one place where they are built."""

from typing import Annotated, Literal, assert_never

from pydantic import Field

from seqloom.layers.aligned import Aligned, AlignedMixer
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence, AttentiveRecurrenceMixer
from seqloom.layers.bottleneck import Bottleneck, BottleneckMixer
from seqloom.layers.bottleneck_convolution import BottleneckConvolution, BottleneckConvolutionMixer
from seqloom.layers.convolution import Convolution, ConvolutionMixer
from seqloom.layers.cost import Cost, Use
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.faults import Faults
from seqloom.layers.gated_linear import GatedLinear, GatedLinearMixer
from seqloom.layers.memory_compressed import MemoryCompressed, MemoryCompressedAttention
from seqloom.layers.mixer import Mixer
from seqloom.layers.multi_step_attention import MultiStep, MultiStepAttention
from seqloom.layers.positions import Relative
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer
from seqloom.settings import Frozen

MixerSettings = Annotated[
    Attention | MemoryCompressed | Recurrence | AttentiveRecurrence | Convolution | BottleneckConvolution | GatedLinear,
    Field(discriminator="kind"),
]


class NoCross(Frozen):
    """The decoder's blocks do not look at the source by themselves."""

    kind: Literal["none"] = "none"

    def check(self, width: int, causal: bool) -> Faults:
        yield from ()

    def cost(self, width: int, use: Use) -> Cost:
        return Cost()


CrossSettings = Annotated[CrossAttention | MultiStep | Bottleneck | Aligned | NoCross, Field(discriminator="kind")]


def build_mixer(
    settings: MixerSettings,
    width: int,
    causal: bool,
    relative: Relative | None = None,
    inputs: int | None = None,
) -> Mixer:
    """relative: positions shared with other attention layers, where the settings ask for them.

    inputs: the width of what a convolution reads, where that is another.
    """
    match settings:
        case Attention():
            return SelfAttention(settings, width, causal, relative)
        case MemoryCompressed():
            return MemoryCompressedAttention(settings, width, causal)
        case Recurrence():
            return RecurrenceMixer(settings, width, causal)
        case AttentiveRecurrence():
            return AttentiveRecurrenceMixer(settings, width, causal)
        case Convolution():
            return ConvolutionMixer(settings, width, causal, inputs)
        case BottleneckConvolution():
            return BottleneckConvolutionMixer(settings, width, causal)
        case GatedLinear():
            return GatedLinearMixer(settings, width, causal)
        case _:
            assert_never(settings)


def build_cross(settings: CrossSettings, width: int, memory_width: int | None = None) -> Mixer | None:
    """memory_width: of the source's states, where that is another."""
    match settings:
        case CrossAttention():
            return MemoryAttention(settings, width, memory_width)
        case MultiStep():
            return MultiStepAttention(settings, width, memory_width)
        case Bottleneck():
            return BottleneckMixer(settings, width, memory_width)
        case Aligned():
            return AlignedMixer(settings, width, memory_width)
        case NoCross():
            return None
        case _:
            assert_never(settings)
