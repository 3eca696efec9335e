"""The loss and its gradient in the place of the scores are those of torch."""

import pytest
import torch
import torch.nn.functional as F

from seqloom.layers.native.compiler import find_compiler
from seqloom.layers.native.token_loss import LOSS, loss_in_place
from seqloom.layers.paths import only_plain
from seqloom.layers.token_loss import token_loss

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


@pytest.mark.parametrize("size", [1, 5, 16, 65, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_of_scores(size: int, smoothing: float) -> None:
    torch.manual_seed(size)
    scores, goal = 5 * torch.randn(20, size), torch.randint(size, (20,))
    times = torch.randn(20)
    times[3] = 0
    wide = scores.double().requires_grad_()
    wanted = F.cross_entropy(wide, goal, reduction="none", label_smoothing=smoothing) * times
    (slope,) = torch.autograd.grad(wanted.sum(), wide)
    made = scores.clone()
    loss = loss_in_place(made, goal, times, smoothing, gradient=True)
    torch.testing.assert_close(loss.double(), wanted, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(made.double(), slope, atol=1e-6, rtol=1e-4)
    assert torch.equal(loss_in_place(scores.clone(), goal, times, smoothing, gradient=False), loss)


def test_of_tokens_it_is_the_plain_way() -> None:
    torch.manual_seed(0)
    hidden, weight, bias = torch.randn(30, 8), torch.randn(77, 8), torch.randn(77)
    goal, real, times = torch.randint(77, (30,)), torch.arange(30) < 25, torch.rand(30)
    found = []
    for plain in (False, True):
        of = [x.to(torch.float64 if plain else torch.float32).requires_grad_() for x in (hidden, weight, bias)]
        if plain:
            with only_plain():
                loss = token_loss(*of, goal, real, 0.1, times.double())
        else:
            loss = token_loss(*of, goal, real, 0.1, times)
        found.append([loss, *torch.autograd.grad(loss, of)])
    for ours, wanted in zip(*found, strict=True):
        torch.testing.assert_close(ours.double(), wanted, atol=1e-5, rtol=1e-5)


def test_what_does_not_count_may_be_no_number() -> None:
    scores = torch.full((2, 20), torch.nan)
    scores[1] = 0
    loss = loss_in_place(scores, torch.tensor([0, 1]), torch.tensor([0.0, 1.0]), 0.0, gradient=True)
    assert loss[0] == 0
    assert (scores[0] == 0).all()
    assert loss[1].item() == pytest.approx(torch.tensor(20.0).log().item())


def test_a_score_that_is_no_number_is_seen_in_the_loss() -> None:
    scores = torch.zeros(1, 40)
    scores[0, 7] = torch.nan
    assert loss_in_place(scores, torch.tensor([0]), None, 0.0, gradient=True).isnan().all()
    scores = torch.zeros(1, 40)
    scores[0, 39] = torch.inf
    assert not loss_in_place(scores, torch.tensor([0]), None, 0.0, gradient=True).isfinite().any()


def test_a_goal_that_is_no_token_is_refused() -> None:
    with pytest.raises(IndexError, match=r"goals from 0 to 40, but there are 40 tokens"):
        loss_in_place(torch.zeros(2, 40), torch.tensor([0, 40]), None, 0.0, gradient=True)


def test_it_can_be_made_here() -> None:
    assert LOSS.wait() is not None, LOSS.why


def test_no_number_whatever_its_bits_makes_none() -> None:
    """Its bits must not be taken for an exponent's."""
    kinds = torch.tensor([0x7FC00000, 0x7FC00001, 0x7FC0007F, 0x7FFFFFFF], dtype=torch.int32).view(torch.float32)
    for none in kinds:
        scores = torch.zeros(1, 40)
        scores[0, 7] = none
        loss = loss_in_place(scores, torch.tensor([3]), None, 0.0, gradient=True)
        assert loss.isnan().all()
