"""The loss in chunks is the loss at once, and so are its gradients."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers import token_loss as module
from seqloom.layers.paths import only_plain
from seqloom.layers.token_loss import token_loss
from tests.examples import many

V, D = 7, 4


def drawn(tokens: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    hidden, weight, bias = (
        torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((tokens, D), (V, D), (V,))
    )
    return hidden, weight, bias, torch.randint(V, (tokens,), generator=g)


@many
@given(
    tokens=st.integers(0, 50),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    biased=st.booleans(),
    some_real=st.booleans(),
    seed=st.integers(0, 99),
)
def test_in_chunks_and_at_once(tokens: int, smoothing: float, biased: bool, some_real: bool, seed: int) -> None:
    """Chunks of 16 tokens: the fewest that there are."""
    hidden, weight, bias, goal = drawn(tokens, seed)
    real = torch.arange(tokens) % 3 > 0 if some_real else None
    learned = [hidden.requires_grad_(), weight.requires_grad_(), *([bias.requires_grad_()] if biased else [])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", {"cpu": 1})
        patch.setattr(module, "ROWS", 16)
        loss = token_loss(hidden, weight, bias if biased else None, goal, real, smoothing)
        grads = torch.autograd.grad(3 * loss, learned)
    kept = slice(None) if real is None else real
    expected = F.cross_entropy(
        F.linear(hidden, weight, bias if biased else None)[kept], goal[kept], reduction="sum", label_smoothing=smoothing
    )
    torch.testing.assert_close(loss, expected)
    for ours, theirs in zip(grads, torch.autograd.grad(3 * expected, learned), strict=True):
        torch.testing.assert_close(ours, theirs)
    with only_plain():
        torch.testing.assert_close(token_loss(hidden, weight, bias if biased else None, goal, real, smoothing), loss)


@pytest.mark.parametrize("some_real", [False, True])
def test_weights_are_how_often_a_token_counts(some_real: bool) -> None:
    """Also less than never; fast and plain, loss and gradients."""
    hidden, weight, bias, goal = drawn(40, 3)
    real = torch.arange(40) % 3 > 0 if some_real else None
    times = torch.arange(40, dtype=torch.float64) % 4 - 1
    learned = [tensor.requires_grad_() for tensor in (hidden, weight, bias)]
    each = F.cross_entropy(F.linear(hidden, weight, bias), goal, reduction="none", label_smoothing=0.1) * times
    expected = each.sum() if real is None else each[real].sum()
    theirs = torch.autograd.grad(expected, learned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", {"cpu": 1})
        patch.setattr(module, "ROWS", 16)
        loss = token_loss(hidden, weight, bias, goal, real, 0.1, times)
    with only_plain():
        torch.testing.assert_close(token_loss(hidden, weight, bias, goal, real, 0.1, times), expected)
    torch.testing.assert_close(loss, expected)
    for ours, other in zip(torch.autograd.grad(loss, learned), theirs, strict=True):
        torch.testing.assert_close(ours, other)


@pytest.mark.parametrize(("tokens", "size"), [(0, 128), (5, 128), (900, 1024), (25_000, 8_448), (25_200, 6_400)])
def test_chunks_elsewhere_are_as_few_as_can_be_and_alike(tokens: int, size: int) -> None:
    """Of at most 8,388 tokens, a tile more or less."""
    assert module._even(tokens, 8_388) == size


def test_a_uniform_guess_costs_the_log_of_the_vocabulary() -> None:
    loss = token_loss(torch.zeros(5, D), torch.randn(V, D), None, torch.arange(5))
    assert loss.item() == pytest.approx(5 * math.log(V), rel=1e-6)


def test_what_is_not_real_gets_no_gradient() -> None:
    hidden, weight, _, goal = drawn(6, 1)
    real = torch.tensor([True, True, False, True, False, False])
    (grad,) = torch.autograd.grad(token_loss(hidden.requires_grad_(), weight, None, goal, real), hidden)
    assert torch.equal((grad != 0).any(-1), real)


def test_frozen_weights() -> None:
    hidden, weight, bias, goal = drawn(6, 2)
    token_loss(hidden.requires_grad_(), weight, bias, goal).backward()
    assert hidden.grad is not None
    assert weight.grad is None
    hidden, weight, bias, goal = drawn(6, 2)
    token_loss(hidden, weight.requires_grad_(), bias, goal).backward()
    assert weight.grad is not None
    assert hidden.grad is None


def test_half_precision_adds_up_in_float32() -> None:
    hidden, weight, _, goal = drawn(40, 3)
    loss = token_loss(hidden.bfloat16(), weight.bfloat16(), None, goal)
    assert loss.dtype == torch.float32
    exact = token_loss(hidden.bfloat16().double(), weight.bfloat16().double(), None, goal)
    assert loss.item() == pytest.approx(exact.item(), rel=2e-2)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_spare_tokens_change_nothing(biased: bool, smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, whose products are slow where the vocabulary is odd: the kernel sees what is not spare."""
    seen: list[tuple[int, ...]] = []

    def in_place(scores: Tensor, goal: Tensor, times: Tensor | None, smoothing: float, gradient: bool) -> Tensor:
        seen.append((scores.shape[1], scores.stride(0)))
        log_p, wanted = F.log_softmax(scores, -1), F.one_hot(goal, V) * (1 - smoothing) + smoothing / V
        scores.copy_(log_p.exp() - wanted)
        return -(wanted * log_p).sum(-1)

    hidden, weight, bias, goal = (part.float() if part.is_floating_point() else part for part in drawn(40, 5))
    learned = [hidden.requires_grad_(), weight.requires_grad_(), *([bias.requires_grad_()] if biased else [])]
    monkeypatch.setattr(module, "_own_products", lambda *_: False)
    monkeypatch.setattr(module, "usable", lambda _: True)
    monkeypatch.setattr(module.native, "loss_in_place", in_place)
    monkeypatch.setattr(module, "_spare", lambda x, tokens: -tokens % 8)
    loss = token_loss(hidden, weight, bias if biased else None, goal, smoothing=smoothing)
    grads = torch.autograd.grad(loss, learned)
    assert set(seen) == {(V, 8)}
    scores = F.linear(hidden, weight, bias if biased else None)
    expected = F.cross_entropy(scores, goal, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss, expected)
    for ours, theirs in zip(grads, torch.autograd.grad(expected, learned), strict=True):
        torch.testing.assert_close(ours, theirs)
