"""Bias, activation and dropout in one pass are the equation, there and back."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.dense import Dense, DenseFeedForward
from seqloom.layers.native.activation import ACTIVATION, activate_, back_
from seqloom.layers.native.chance import chance
from seqloom.layers.native.compiler import find_compiler
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def gradients(y: Tensor, of: list[Tensor]) -> list[Tensor]:
    return [y, *torch.autograd.grad((y * torch.arange(y.numel()).view_as(y).sin()).sum(), of)]


@pytest.mark.parametrize("activation", ["relu", "gelu-tanh"])
@pytest.mark.parametrize(("tokens", "hidden", "bias"), [((70,), 37, True), ((2, 65), 64, False), ((1,), 5, True)])
def test_a_layer_there_and_back(activation: str, tokens: tuple[int, ...], hidden: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer = DenseFeedForward(Dense.model_validate({"activation": activation, "width": hidden, "bias": bias}), 16)
    x = (3 * torch.randn(*tokens, 16)).requires_grad_()
    y = layer(x)
    assert "NativeMaps" in _made_by(y)
    found = gradients(y, [x, *layer.parameters()])
    layer, x = layer.double(), x.detach().double().requires_grad_()
    with only_plain():
        plain = layer(x)
    for ours, wanted in zip(found, gradients(plain, [x, *layer.parameters()]), strict=True):
        torch.testing.assert_close(ours.double(), wanted, atol=2e-5, rtol=1e-5)


def _made_by(y: Tensor) -> str:
    assert y.grad_fn is not None
    before = [node for node, _ in y.grad_fn.next_functions if node is not None]
    return " ".join([y.grad_fn.name(), *(node.name() for node in before)])


@pytest.mark.parametrize("smooth", [False, True])
def test_dropout_of_the_hidden_layer(smooth: bool) -> None:
    """Which numbers went is seen in what is left; with these the equation has the same gradients."""
    before, bias, d = torch.randn(300, 50), torch.randn(50), torch.randn(300, 50)
    torch.manual_seed(1)
    drawn = chance(0.25)
    made, back = before.clone(), d.clone()
    slope = activate_(made, bias, smooth, drawn)
    sums = back_(back, made, slope, drawn, sums=True)
    assert sums is not None
    x = (before + bias).double().requires_grad_()
    wanted = F.gelu(x, approximate="tanh") if smooth else F.relu(x)
    mask = made.double() != 0
    passed = wanted.detach() != 0
    lost = 1 - (mask & passed).sum() / passed.sum()
    assert lost.item() == pytest.approx(0.25, abs=5 * (0.1875 / int(passed.sum())) ** 0.5)
    torch.testing.assert_close(made.double(), wanted * mask / 0.75, atol=1e-5, rtol=1e-5)
    (slopes,) = torch.autograd.grad(wanted * mask / 0.75, x, d.double())
    torch.testing.assert_close(back.double(), slopes, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(sums.double(), slopes.sum(0), atol=1e-4, rtol=1e-5)


def test_a_layer_drops_in_training_alone() -> None:
    layer, x = DenseFeedForward(Dense(dropout=0.5), 16), torch.randn(40, 16, requires_grad=True)
    torch.manual_seed(0)
    first, second = layer(x), layer(x)
    torch.manual_seed(0)
    assert not torch.equal(first, second)
    assert torch.equal(layer(x), first)
    layer.eval()
    with only_plain():
        plain = layer(x)
    torch.testing.assert_close(layer(x), plain)
    torch.testing.assert_close(layer(x), layer(x), rtol=0, atol=0)


def test_extremes() -> None:
    x = torch.tensor([[-1e4, -90.0, -20.0, 0.0, 20.0, 90.0, 1e4, torch.nan]])
    smooth = x.clone()
    slope = activate_(smooth, None, True, chance(0.0))
    torch.testing.assert_close(smooth, F.gelu(x, approximate="tanh"), equal_nan=True)
    assert slope is not None
    torch.testing.assert_close(slope[0, [0, 1, 4, 5, 6]], torch.tensor([0.0, 0, 1, 1, 1]))
    rectified = x.clone()
    activate_(rectified, None, False, chance(0.0))
    torch.testing.assert_close(rectified, F.relu(x), equal_nan=True)


def test_autograd_hears_of_it() -> None:
    x, weight = torch.randn(3, 4), torch.randn(3, 4, requires_grad=True)
    y = (x * weight).sum()
    activate_(x, None, False, chance(0.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_threads_change_no_bit() -> None:
    before, found = torch.get_num_threads(), []
    x, bias, d = torch.randn(1000, 37), torch.randn(37), torch.randn(1000, 37)
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        torch.manual_seed(2)
        drawn, made, back = chance(0.1), x.clone(), d.clone()
        slope = activate_(made, bias, True, drawn)
        sums = back_(back, made, slope, drawn, sums=True)
        assert slope is not None
        assert sums is not None
        found.append([made, slope, back, sums])
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_it_can_be_made_here() -> None:
    assert ACTIVATION.wait() is not None, ACTIVATION.why
