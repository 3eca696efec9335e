"""Heads apart are views, and their gradients come back joined, without a copy where they lie side by side."""

import pytest
import torch
from torch import Tensor

from seqloom.layers import apart as module
from seqloom.layers.apart import apart, empty_beside, side_by_side


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: what is tested is no kernel."""
    monkeypatch.setattr(module, "usable", lambda x: True)


@pytest.mark.parametrize("sizes", [(4, 4, 4), (4, 2, 2), (3, 3), (5,)])
@pytest.mark.parametrize("shape", [(7,), (2, 3), ()])
def test_apart_is_split(sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x = torch.randn(*shape, sum(sizes), 8, dtype=torch.float64, requires_grad=True)
    parts = apart(x, sizes)
    for part, wanted in zip(parts, x.split(list(sizes), -2), strict=True):
        assert torch.equal(part, wanted)
        assert part.data_ptr() == wanted.data_ptr()
    pulls = [torch.randn_like(part) for part in parts]
    (grad,) = torch.autograd.grad(parts, x, pulls)
    assert torch.equal(grad, torch.cat(pulls, -2))


def test_a_part_that_nobody_uses() -> None:
    x = torch.randn(5, 6, 8, requires_grad=True)
    _, second, _ = apart(x, (2, 2, 2))
    (grad,) = torch.autograd.grad(second.sum(), x)
    assert torch.equal(grad, torch.tensor([0.0, 0, 1, 1, 0, 0])[:, None].expand(5, 6, 8))


class _Beside(torch.autograd.Function):
    """Gives back gradients that lie side by side, and tells where."""

    where = 0

    @staticmethod
    def forward(ctx: object, *parts: Tensor) -> Tensor:
        ctx.parts = parts  # type: ignore[attr-defined]
        return parts[0].sum()

    @staticmethod
    def backward(ctx: object, *grads: Tensor) -> tuple[Tensor, ...]:
        made = empty_beside(ctx.parts)  # type: ignore[attr-defined]
        _Beside.where = made[0].data_ptr()
        for number, part in enumerate(made):
            part.fill_(number)
        return tuple(made)


def test_what_lies_side_by_side_is_not_copied() -> None:
    x = torch.randn(5, 6, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(_Beside.apply(*apart(x, (2, 2, 2))), x)  # type: ignore[no-untyped-call]
    assert grad.data_ptr() == _Beside.where
    assert grad.is_contiguous()
    assert torch.equal(grad[0, :, 0], torch.tensor([0.0, 0, 1, 1, 2, 2]))


def test_what_does_not() -> None:
    x = torch.randn(5, 6, 8)
    first, second, third = x.split([2, 2, 2], -2)
    assert side_by_side((first, second, third)) is not None
    assert side_by_side((second, first, third)) is None
    assert side_by_side((first, third)) is None
    assert side_by_side((first, second)) is None  # others lie between their rows
    assert side_by_side((first.clone(), second.clone())) is None
    assert side_by_side((first, second, torch.empty(5, 2, 8))) is None
    whole = torch.empty(5, 4, 8).transpose(0, 1)
    assert side_by_side(whole.split([2, 3], -2)) is None
    for part in empty_beside((first, second)):
        assert part.is_contiguous()
