"""Sequence layers, one file a concept, each usable alone as an nn.Module.

from seqloom.layers import Attention, Packed, SelfAttention

mixer = SelfAttention(Attention(heads=4), width=64, causal=True)
y, _ = mixer(x_ND, Packed.of([3, 5]))
"""

from seqloom.layers.aligned import Aligned, AlignedMixer
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence, AttentiveRecurrenceMixer
from seqloom.layers.bottleneck import Bottleneck, BottleneckMixer
from seqloom.layers.bottleneck_convolution import BottleneckConvolution, BottleneckConvolutionMixer
from seqloom.layers.convolution import Convolution, ConvolutionMixer
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.gated_linear import GatedLinear, GatedLinearMixer
from seqloom.layers.layout import Layout, Packed, Padded, with_structure
from seqloom.layers.memory_compressed import MemoryCompressed, MemoryCompressedAttention
from seqloom.layers.mixer import Memory, Mixer, reorder
from seqloom.layers.multi_step_attention import MultiStep, MultiStepAttention
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer

__all__ = [
    "Aligned",
    "AlignedMixer",
    "Attention",
    "AttentiveRecurrence",
    "AttentiveRecurrenceMixer",
    "Bottleneck",
    "BottleneckConvolution",
    "BottleneckConvolutionMixer",
    "BottleneckMixer",
    "Convolution",
    "ConvolutionMixer",
    "CrossAttention",
    "GatedLinear",
    "GatedLinearMixer",
    "Layout",
    "Memory",
    "MemoryAttention",
    "MemoryCompressed",
    "MemoryCompressedAttention",
    "Mixer",
    "MultiStep",
    "MultiStepAttention",
    "Packed",
    "Padded",
    "Recurrence",
    "RecurrenceMixer",
    "SelfAttention",
    "reorder",
    "with_structure",
]
