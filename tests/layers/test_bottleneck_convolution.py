"""ByteNet's block: narrow, look around, widen."""

import pytest
import torch
import torch.nn.functional as F

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


def test_norm_and_relu_stand_before_each_of_three_maps() -> None:
    """Section 3.6, spelled out; the block has normed what comes in."""
    torch.manual_seed(1)
    mixer = BottleneckConvolutionMixer(BottleneckConvolution(dilation=2), WIDTH, causal=True).double()
    for weight in mixer.parameters():
        torch.nn.init.normal_(weight)
    part = mixer.state_dict()
    x_TD = torch.randn(9, WIDTH, dtype=torch.float64)

    def normed(h: torch.Tensor, name: str) -> torch.Tensor:
        return F.relu(F.layer_norm(h, h.shape[-1:], part[f"{name}.gain_D"], part[f"{name}.bias_D"]))

    narrow = normed(F.linear(F.relu(x_TD), part["inputs.weight"], part["inputs.bias"]), "norm_in")
    before = F.pad(narrow.T, (2 * 2, 0))  # a kernel of 3 that looks back only
    read = F.conv1d(before, part["convolution.conv.weight"], part["convolution.conv.bias"], dilation=2).T
    wanted = F.linear(normed(read, "norm_out"), part["out.weight"], part["out.bias"])
    torch.testing.assert_close(mixer(x_TD, Packed.of([9]))[0], wanted)


def test_a_kernel_needs_a_middle_where_it_looks_both_ways() -> None:
    assert [name for name, _ in BottleneckConvolution(kernel=2).check(WIDTH, False)] == ["kernel"]
    assert not list(BottleneckConvolution(kernel=2).check(WIDTH, True))
