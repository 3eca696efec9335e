"""Length and direction apart."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from seqloom.layers.convolution import Convolution, ConvolutionMixer
from seqloom.layers.layout import Packed
from seqloom.layers.weight_norm import weight_normed


@pytest.mark.parametrize("make", [lambda: nn.Linear(5, 4), lambda: nn.Conv1d(5, 4, 3)])
def test_the_gain_is_the_norm(make: object) -> None:
    layer: nn.Linear = make()  # type: ignore[operator]
    weight_normed(layer, gain=1)
    g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    assert torch.allclose(layer.weight, v)  # it begins as what was there
    with torch.no_grad():
        g.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        v.mul_(7)
    assert torch.allclose(layer.weight.flatten(1).norm(dim=1), g)
    assert torch.allclose(layer.weight.flatten(1) / g[:, None], v.flatten(1) / v.flatten(1).norm(dim=1, keepdim=True))


def test_it_is_what_torch_has() -> None:
    torch.manual_seed(1)
    ours, theirs = nn.Linear(5, 4), nn.Linear(5, 4)
    weight_normed(ours, gain=1)
    theirs.load_state_dict({"weight": ours.weight.detach(), "bias": ours.bias.detach()})
    parametrizations.weight_norm(theirs)
    x = torch.randn(3, 5)
    for layer in ours, theirs:
        layer(x).square().sum().backward()
    mine, other = ours.parametrizations.weight, theirs.parametrizations.weight
    assert torch.allclose(mine.original0.grad, other.original0.grad[:, 0], atol=1e-6)
    assert torch.allclose(mine.original1.grad, other.original1.grad, atol=1e-6)


@pytest.mark.parametrize("gated", [False, True])
def test_a_convolution_keeps_the_variance_at_first(gated: bool) -> None:
    """A gate that is half open takes three quarters, and the first weights of one are four times as large for it."""
    torch.manual_seed(1)
    mixer = ConvolutionMixer(Convolution(gated=gated, weight_norm=True), 200, causal=True)
    x = 0.1 * torch.randn(300, 200)
    with torch.no_grad():
        y, _ = mixer(x, Packed.of([300]))
    assert float(y.var() / x.var()) == pytest.approx(1, abs=0.1)
