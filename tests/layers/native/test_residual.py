"""Sums with dropout and their norms in one pass are the equation, there and back."""

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.layers.native.compiler import find_compiler
from seqloom.layers.native.residual import FEW, RESIDUAL, dropped, summed
from seqloom.layers.norms import LayerNorm, Norm, RMSNorm, build_norm, sum_of
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

NORMS = [LayerNorm(), LayerNorm(bias=False), LayerNorm(gain=False, bias=False), RMSNorm(), RMSNorm(gain=False)]


def gradients(y: Tensor, of: list[Tensor]) -> list[Tensor]:
    return [y, *torch.autograd.grad((y * torch.arange(y.numel()).view_as(y).sin()).sum(), of)]


def norm_of(settings: LayerNorm | RMSNorm, width: int) -> Norm:
    torch.manual_seed(0)
    norm = build_norm(settings, width)
    assert isinstance(norm, Norm)
    for part in norm.parameters():
        torch.nn.init.normal_(part)
    return norm


def close(ours: list[Tensor], wanted: list[Tensor]) -> None:
    for one, other in zip(ours, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, atol=5e-5, rtol=1e-5)


@pytest.mark.parametrize("settings", NORMS)
@pytest.mark.parametrize(("tokens", "width"), [(200, 37), (130, 64), (9, 500)])
def test_a_norm(settings: LayerNorm | RMSNorm, tokens: int, width: int) -> None:
    norm, layout = norm_of(settings, width), Packed.of([tokens])
    x = (torch.randn(tokens, width) + 1).requires_grad_()
    y = norm(x, layout)
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "_NormedBackward"
    found = gradients(y, [x, *norm.parameters()])
    norm, x = norm.double(), x.detach().double().requires_grad_()
    with only_plain():
        close(found, gradients(norm(x, layout), [x, *norm.parameters()]))


@pytest.mark.parametrize("settings", NORMS[::3])
@pytest.mark.parametrize(("carry", "scale"), [(1.0, 1.0), (0.5, 2.0)])
def test_the_norm_of_a_sum(settings: LayerNorm | RMSNorm, carry: float, scale: float) -> None:
    norm, layout = norm_of(settings, 45), Packed.of([150])
    x, y = torch.randn(150, 45, requires_grad=True), torch.randn(150, 45, requires_grad=True)
    z = norm.of_sum(x, y, carry, scale, 0.0, layout)
    assert z.grad_fn is not None
    assert z.grad_fn.name() == "_NormedBackward"
    found = gradients(z, [x, y, *norm.parameters()])
    norm = norm.double()
    x, y = (part.detach().double().requires_grad_() for part in (x, y))
    with only_plain():
        close(found, gradients(norm.of_sum(x, y, carry, scale, 0.0, layout), [x, y, *norm.parameters()]))


def test_the_norm_of_a_sum_with_dropout() -> None:
    """The same seed drops the same numbers when the sum is made alone, which shows which went."""
    norm, layout = norm_of(LayerNorm(), 45), Packed.of([150])
    x, y = torch.randn(150, 45, requires_grad=True), torch.randn(150, 45, requires_grad=True)
    torch.manual_seed(4)
    found = gradients(norm.of_sum(x, y, 1.0, 1.0, 0.3, layout), [x, y, *norm.parameters()])
    torch.manual_seed(4)
    mask = dropped(torch.ones(150, 45, requires_grad=True), 0.3) != 0
    norm = norm.double()
    x, y = (part.detach().double().requires_grad_() for part in (x, y))
    with only_plain():
        close(found, gradients(norm(x + y * mask / 0.7, layout), [x, y, *norm.parameters()]))


@pytest.mark.parametrize(("carry", "scale"), [(1.0, 1.0), (0.5, 2.0)])
def test_a_sum_with_dropout(carry: float, scale: float) -> None:
    x, y = torch.randn(3, 50, 45, requires_grad=True), torch.randn(3, 50, 45, requires_grad=True)
    torch.manual_seed(4)
    z = sum_of(x, y, carry, scale, 0.3)
    assert z.grad_fn is not None
    assert z.grad_fn.name() == "_SummedBackward"
    found = gradients(z, [x, y])
    torch.manual_seed(4)
    mask = dropped(torch.ones(3, 50, 45, requires_grad=True), 0.3) != 0
    x, y = (part.detach().double().requires_grad_() for part in (x, y))
    close(found, gradients(scale * (carry * x + y * mask / 0.7), [x, y]))


def test_only_what_is_asked_for_has_a_gradient() -> None:
    norm, layout = norm_of(LayerNorm(), 64), Packed.of([70])
    x, y = torch.randn(70, 64), torch.randn(70, 64)
    for needs in ((True, False), (False, True)):
        of = [part.clone().requires_grad_(need) for part, need in zip((x, y), needs, strict=True)]
        norm.of_sum(*of, 1.0, 1.0, 0.2, layout).sum().backward()  # type: ignore[no-untyped-call]
        assert [part.grad is not None for part in of] == list(needs)


def test_a_gradient_that_is_shared_is_not_overwritten() -> None:
    """x and y may be one tensor, and their gradients are."""
    norm, layout = norm_of(LayerNorm(), 64), Packed.of([70])
    x = torch.randn(70, 64, requires_grad=True)
    found = gradients(norm.of_sum(x, x, 1.0, 1.0, 0.0, layout), [x])
    with only_plain():
        close(found, [part.double() for part in gradients(norm.of_sum(x, x, 1.0, 1.0, 0.0, layout), [x])])


def test_threads_change_no_bit() -> None:
    before, found = torch.get_num_threads(), []
    norm, layout = norm_of(LayerNorm(), 45), Packed.of([1000])
    x, y = torch.randn(1000, 45, requires_grad=True), torch.randn(1000, 45, requires_grad=True)
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        torch.manual_seed(2)
        made = norm.of_sum(x, y, 1.0, 1.0, 0.1, layout)
        found.append(gradients(made, [x, y, *norm.parameters()]) + gradients(summed(x, y, 1.0, 1.0, 0.1), [x, y]))
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_rows_with_neighbouring_numbers_drop_other_units() -> None:
    torch.manual_seed(0)
    gone = dropped(torch.ones(2000, 512, requires_grad=True), 0.5) == 0
    for down, right in ((1, 0), (2, 0), (1, 1), (1, -1), (64, 0), (0, 1), (0, 16)):
        one, other = gone[down:, max(right, 0) :], gone[: len(gone) - down, max(-right, 0) :]
        wide = min(one.shape[1], other.shape[1])
        same = (one[:, :wide] == other[:, :wide]).double().mean().item()
        assert same == pytest.approx(0.5, abs=3 / gone.numel() ** 0.5), (down, right)


def test_who_looks_at_a_norm_sees_it() -> None:
    norm, seen = norm_of(LayerNorm(), 64), list[Tensor]()
    norm.register_forward_hook(lambda module, given, made: seen.append(made))
    x = torch.randn(70, 64, requires_grad=True)
    y = norm.of_sum(x, x, 1.0, 1.0, 0.0, Packed.of([70]))
    assert len(seen) == 1
    assert seen[0] is y


def test_little_is_left_to_torch() -> None:
    norm, x = norm_of(LayerNorm(), 32), torch.randn(FEW // 32 - 1, 32, requires_grad=True)
    y = norm(x, Packed.of([len(x)]))
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "NativeLayerNormBackward0"


def test_it_can_be_made_here() -> None:
    assert RESIDUAL.wait() is not None, RESIDUAL.why
