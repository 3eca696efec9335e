"""The feed-forward layer's fast way on a CPU is the plain one, there and back."""

import pytest
import torch
import torch.nn.functional as F

from seqloom.layers import two_maps as module
from seqloom.layers.activations import Activation
from seqloom.layers.dense import Dense, DenseFeedForward
from seqloom.layers.paths import only_plain
from seqloom.layers.two_maps import smooth_


@pytest.mark.parametrize("activation", ["relu", "gelu-tanh"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 9, 16), (20, 16), (0, 16)])
def test_fast_and_plain(
    activation: Activation, bias: bool, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 256)
    torch.manual_seed(0)
    layer = DenseFeedForward(Dense(activation=activation, bias=bias), 16).double()
    x = torch.randn(shape, dtype=torch.float64).mul_(2).requires_grad_()
    of = [x, *layer.parameters()]
    y = layer(x)
    assert "_TwoMaps" in y.grad_fn.name()
    with only_plain():
        plain = layer(x)
    assert "_TwoMaps" not in plain.grad_fn.name()
    torch.testing.assert_close(y, plain)
    for ours, theirs in zip(
        torch.autograd.grad((y**2).sum(), of), torch.autograd.grad((plain**2).sum(), of), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_the_smooth_one_and_its_slope() -> None:
    x = torch.linspace(-12, 12, 4001, dtype=torch.float64, requires_grad=True)
    wanted = F.gelu(x, approximate="tanh")
    (slope,) = torch.autograd.grad(wanted.sum(), [x])
    y = x.detach().clone()[None]
    torch.testing.assert_close(smooth_(y)[0], slope)
    torch.testing.assert_close(y[0], wanted.detach())
    single = x.detach().float()[None]
    assert torch.isfinite(smooth_(single.mul(1e4))).all()


def test_what_does_not_learn_gets_no_gradient() -> None:
    layer = DenseFeedForward(Dense(), 4)
    layer.inputs.weight.requires_grad_(False)
    layer(torch.randn(3, 4)).sum().backward()
    assert layer.inputs.weight.grad is None
    assert layer.out.weight.grad is not None


def test_who_looks_between_the_maps_sees_them() -> None:
    layer, seen = DenseFeedForward(Dense(), 4), list[torch.Tensor]()
    layer.inputs.register_forward_hook(lambda module, given, found: seen.append(found))
    assert "_TwoMaps" not in layer(torch.randn(3, 4)).grad_fn.name()
    assert (seen[0] < 0).any()
