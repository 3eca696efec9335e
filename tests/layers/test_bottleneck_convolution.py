"""ByteNet's block: narrow, look around, widen."""

import pytest
import torch

from seqloom.layers.bottleneck_convolution import BottleneckConvolution, BottleneckConvolutionMixer
from seqloom.layers.layout import Packed

WIDTH = 8


def test_it_narrows_to_half_unless_told() -> None:
    assert BottleneckConvolution().narrow(WIDTH) == 4
    assert BottleneckConvolution(hidden=3).narrow(WIDTH) == 3


@pytest.mark.parametrize(("causal", "seen"), [(True, {5, 8, 11}), (False, {2, 5, 8})])
def test_it_looks_as_far_as_its_dilation(causal: bool, seen: set[int]) -> None:
    torch.manual_seed(1)
    mixer = BottleneckConvolutionMixer(BottleneckConvolution(dilation=3), WIDTH, causal)
    x = torch.randn(14, WIDTH)
    other = x.clone()
    other[5] += 1
    with torch.no_grad():
        (one, _), (two, _) = (mixer(part, Packed.of([14])) for part in (x, other))
    assert set((one - two).abs().sum(-1).nonzero()[:, 0].tolist()) == seen


def test_a_kernel_needs_a_middle_where_it_looks_both_ways() -> None:
    assert [name for name, _ in BottleneckConvolution(kernel=2).check(WIDTH, False)] == ["kernel"]
    assert not list(BottleneckConvolution(kernel=2).check(WIDTH, True))
