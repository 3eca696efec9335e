"""Attention spelled out comes to what the layer returns, whatever the form of the batch."""

from typing import Any

import pytest
import torch

from seqloom.layers.attention import SelfAttention
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.layers.mixer import Memory, fan_out
from seqloom.layers.mixers import build_cross, build_mixer
from tests.laws import cases, model_cases

ATTENTION = [name for name in cases.BOTH if name.startswith(("attention", "memory"))]
CROSS = [name for name in cases.CROSS if name.startswith(("cross", "multi"))]


def _layouts() -> list[tuple[Layout, tuple[int, ...]]]:
    lengths = [5, 2, 7]
    return [
        (Packed.of(lengths), (14,)),
        (Padded.of(lengths), (3, 7)),
        (Padded.of(lengths, 9, starts=[1, 4, 0]), (3, 9)),
    ]


def _same(found: torch.Tensor, wanted: torch.Tensor, layout: Layout) -> None:
    torch.testing.assert_close(layout.pad(found), layout.pad(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", ATTENTION)
def test_of_a_sequence_itself(name: str, causal: bool) -> None:
    torch.manual_seed(0)
    layer: Any = build_mixer(cases.BOTH[name], model_cases.WIDTH, causal).eval()
    assert isinstance(layer, SelfAttention | MemoryCompressedAttention)
    for layout, shape in _layouts():
        x = torch.randn(*shape, model_cases.WIDTH)
        with torch.no_grad():
            wanted, _ = layer(x, layout)
            parts = layer.parts(x, layout)
            _same(layer.output(parts, layout), wanted, layout)
            torch.testing.assert_close(parts.weights_BHTS, layer.weights(x, layout))


@pytest.mark.parametrize("name", CROSS)
def test_of_a_source(name: str) -> None:
    torch.manual_seed(0)
    layer: Any = build_cross(cases.CROSS[name], model_cases.WIDTH).eval()  # type: ignore[union-attr]
    assert isinstance(layer, MemoryAttention)
    given = (torch.randn(14, model_cases.WIDTH),) if name.startswith("multi") else ()
    source = Packed.of([4, 6, 1])
    memory = Memory(torch.randn(11, model_cases.WIDTH), source, embedded=torch.randn(11, model_cases.WIDTH))
    layout, x = Packed.of([5, 2, 7]), torch.randn(14, model_cases.WIDTH)
    with torch.no_grad():
        for state in layer.begin(3, memory), layer.start(3, memory.padded()):
            wanted, _ = layer(x, layout, state, *given)
            parts = layer.parts(x, layout, state, *given)
            _same(layer.output(parts, layout, state), wanted, layout)
            assert parts.see_BTS is None or not parts.weights_BHTS[0, :, :, 4:].any()


def test_of_rows_that_share_a_source() -> None:
    """As hypotheses do."""
    torch.manual_seed(0)
    layer: Any = build_cross(cases.CROSS["cross"], model_cases.WIDTH).eval()  # type: ignore[union-attr]
    memory = Memory(torch.randn(2, 6, model_cases.WIDTH), Padded.of([6, 4]))
    layout, x = Padded.whole(6, 2), torch.randn(6, 2, model_cases.WIDTH)
    with torch.no_grad():
        state = fan_out(layer.start(2, memory), 3)
        wanted, _ = layer(x, layout, state)
        parts = layer.parts(x, layout, state)
        _same(layer.output(parts, layout, state), wanted, layout)
    assert parts.weights_BHTS.shape == (6, 2, 2, 6)
    assert parts.see_BTS is not None
    assert parts.see_BTS.shape == (6, 2, 6)
    assert not parts.weights_BHTS[3:, ..., 4:].any()


def test_other_weights_mix_other_values() -> None:
    torch.manual_seed(0)
    layer: Any = build_mixer(cases.BOTH["attention-shaw"], model_cases.WIDTH, causal=False).eval()
    x, layout = torch.randn(1, 4, model_cases.WIDTH), Padded.whole(1, 4)
    with torch.no_grad():
        parts = layer.parts(x, layout)
        same = parts.weighing(parts.weights_BHTS)
        torch.testing.assert_close(same.mixed_BHTV, parts.mixed_BHTV)
        one = parts.weighing(torch.eye(4).expand(1, 2, 4, 4))
        own = parts.v_BGSV + layer.relative.value_MK[layer.relative.reach]
        torch.testing.assert_close(one.mixed_BHTV, own)


def test_without_mask_and_without_positions() -> None:
    torch.manual_seed(0)
    x, layout = torch.randn(1, 4, model_cases.WIDTH), Padded.whole(1, 4)
    layer: Any = build_mixer(cases.BOTH["attention-rotary"], model_cases.WIDTH, causal=True).eval()
    with torch.no_grad():
        parts = layer.parts(x, layout)
        assert torch.isinf(parts.masked_BHTS[0, 0]).equal(torch.ones(4, 4).triu(1).bool())
        seen = layer.parts(x, layout, masked=False)
        assert torch.equal(seen.masked_BHTS, parts.scores_BHTS)
        plain = layer.parts(x, layout, placed=False)
        turned = layer.parts(x.flip(1), layout, placed=False)
    torch.testing.assert_close(plain.scores_BHTS.flip(2, 3), turned.scores_BHTS)
