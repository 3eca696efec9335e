"""The loss and its gradients on a GPU are their equations."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers import token_loss as token_loss_module

pytest.importorskip("triton", reason="Triton comes with torch for a GPU")

from seqloom.layers.kernels.loss import loss_in_place

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def _relative(one: Tensor, other: Tensor) -> float:
    return float((one.detach().double() - other.detach().double()).norm() / other.detach().double().norm())


@pytest.mark.parametrize("size", [7, 4096, 10001])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_in_place(size: int, smoothing: float) -> None:
    scores = torch.randn(50, size, device="cuda", dtype=torch.bfloat16) * 3
    goal, times = torch.randint(size, (50,), device="cuda"), torch.rand(50, device="cuda") - 0.3
    times[3] = 0
    exact = scores.double().requires_grad_()
    wanted = F.cross_entropy(exact, goal, reduction="none", label_smoothing=smoothing) * times
    (grad,) = torch.autograd.grad(wanted.sum(), exact)
    loss = loss_in_place(scores, goal, times, smoothing, True)
    assert _relative(loss, wanted) < 1e-5
    assert _relative(scores, grad) < 5e-3
    assert not scores[3].any()


def test_the_loss_in_chunks_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_loss_module, "CHUNK_ELSEWHERE", 1 << 16)
    hidden = torch.randn(1100, 64, device="cuda", requires_grad=True)
    weight = torch.randn(130, 64, device="cuda", requires_grad=True)
    goal = torch.randint(130, (1100,), device="cuda")
    exact = [x.detach().bfloat16().double().requires_grad_() for x in (hidden, weight)]
    wanted = F.cross_entropy(exact[0] @ exact[1].T, goal, reduction="sum", label_smoothing=0.1)
    with torch.autocast("cuda", torch.bfloat16):
        loss = token_loss_module.token_loss(hidden, weight, None, goal, smoothing=0.1)
    assert _relative(loss, wanted) < 2e-3
    grads = torch.autograd.grad(loss, (hidden, weight))
    for grad, other in zip(grads, torch.autograd.grad(wanted, exact), strict=True):
        assert grad.dtype == torch.float32
        assert _relative(grad, other) < 1e-2


def test_gradients_of_weights_are_not_rounded_on_the_way() -> None:
    """Rounded products would be bf16's numbers, which are too near to the others to be told by their error."""
    hidden, weight = (torch.randn(size, 64, device="cuda", requires_grad=True) for size in (500, 130))
    with torch.autocast("cuda", torch.bfloat16):
        loss = token_loss_module.token_loss(hidden, weight, None, torch.arange(500, device="cuda") % 130)
    (grad,) = torch.autograd.grad(loss, weight)
    assert (grad != grad.bfloat16()).float().mean() > 0.5


def test_rows_of_scores_may_have_more_than_the_kernel_sees() -> None:
    scores, goal = torch.randn(50, 304, device="cuda"), torch.randint(300, (50,), device="cuda")
    scores[:, 300:] = 0
    exact = scores[:, :300].double().requires_grad_()
    wanted = F.cross_entropy(exact, goal, reduction="none")
    (grad,) = torch.autograd.grad(wanted.sum(), exact)
    assert _relative(loss_in_place(scores[:, :300], goal, None, 0.0, True), wanted) < 1e-5
    assert _relative(scores[:, :300], grad) < 1e-5
    assert not scores[:, 300:].any()


def test_a_forbidden_token_does_not_spoil_the_loss() -> None:
    """A score of -inf, as a bias gives it, is 0 times nothing without smoothing."""
    scores_NV, goal_N = torch.randn(7, 300, device="cuda"), torch.arange(7, device="cuda")
    scores_NV[:, 20] = -torch.inf
    wanted_N = torch.nn.functional.cross_entropy(scores_NV, goal_N, reduction="none")
    torch.testing.assert_close(loss_in_place(scores_NV, goal_N, None, 0.0, gradient=False), wanted_N)
