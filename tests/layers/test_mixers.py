"""Where mixers are built: each kind, and what is refused before anything is built."""

import pytest

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.attentive_recurrence import AttentiveRecurrence, AttentiveRecurrenceMixer
from seqloom.layers.bottleneck import Bottleneck, BottleneckMixer
from seqloom.layers.convolution import Convolution, ConvolutionMixer
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.gated_linear import GatedLinear, GatedLinearMixer
from seqloom.layers.memory_compressed import MemoryCompressed, MemoryCompressedAttention
from seqloom.layers.mixer import Mixer
from seqloom.layers.mixers import MixerSettings, NoCross, build_cross, build_mixer
from seqloom.layers.positions import Shaw, ShawRelative
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Attention(), SelfAttention),
        (MemoryCompressed(), MemoryCompressedAttention),
        (Recurrence(), RecurrenceMixer),
        (AttentiveRecurrence(), AttentiveRecurrenceMixer),
        (Convolution(), ConvolutionMixer),
        (GatedLinear(), GatedLinearMixer),
    ],
)
def test_every_kind(settings: MixerSettings, kind: type[Mixer]) -> None:
    mixer = build_mixer(settings, 8, causal=True)
    assert type(mixer) is kind
    assert mixer.causal


def test_every_cross() -> None:
    assert type(build_cross(CrossAttention(), 8)) is MemoryAttention
    assert type(build_cross(Bottleneck(), 8)) is BottleneckMixer
    assert build_cross(NoCross(), 8) is None


@pytest.mark.parametrize(
    ("settings", "causal", "message"),
    [
        (
            Attention(heads=3),
            True,
            r"attention\.heads: width 8 cannot be split into 3 heads of equal width; 2 would do, or width 6",
        ),
        (Attention(heads=4, key_heads=3), True, r"attention\.key_heads: 4 query heads cannot share 3 key heads evenly"),
        (AttentiveRecurrence(), False, r"attentive-recurrence\.kind: .* it belongs into a decoder"),
        (Recurrence(direction="both"), True, r"recurrence\.direction: 'both' reads the future"),
        (Convolution(kernel=2), False, r"convolution\.kernel: .* an odd number, not 2"),
        (GatedLinear(heads=3), True, r"gated-linear\.heads: width 8 cannot be split into 3 heads"),
    ],
)
def test_refused_before_anything_is_built(settings: MixerSettings, causal: bool, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        build_mixer(settings, 8, causal)


def test_shared_positions_take_the_place_of_own_ones() -> None:
    settings = Attention(heads=2, relative=Shaw())
    shared = ShawRelative(Shaw(), 4)
    mixer = build_mixer(settings, 8, True, shared)
    assert isinstance(mixer, SelfAttention)
    assert mixer.relative is shared
