"""A layer that is built or called by hand says what is wrong, as a recipe does."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from seqloom.layers import (
    Attention,
    Convolution,
    ConvolutionMixer,
    CrossAttention,
    GatedLinear,
    GatedLinearMixer,
    MemoryAttention,
    Packed,
    Padded,
    Recurrence,
    RecurrenceMixer,
    SelfAttention,
    reorder,
    with_structure,
)
from seqloom.layers.attentive_recurrence import AttentiveRecurrence
from seqloom.layers.experts import Experts
from seqloom.layers.token_loss import token_loss

X = torch.randn(8, 32)


def _attention() -> SelfAttention:
    return SelfAttention(Attention(heads=4), 32, False)


GRAPH = with_structure(Packed.of([8]), torch.ones(1, 8, 8, dtype=torch.bool))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: SelfAttention(Attention(heads=3), 64, True), "attention.heads: width 64 cannot be split"),
        (
            lambda: RecurrenceMixer(Recurrence(direction="both"), 8, True),
            "recurrence.direction: 'both' reads the future",
        ),
        (lambda: SelfAttention(Attention(heads=2, window=2, block=3), 8, True), "attention.block: a window and blocks"),
        (
            lambda: MemoryAttention(CrossAttention(heads=1, score="dot", project=False), 8, memory_width=6),
            "attention.score: 'dot' compares vectors of one width",
        ),
        (lambda: _attention()(X, Packed.of([3, 4])), "8 tokens, but the layout says 7"),
        (lambda: _attention()(X, Padded.whole(2, 4)), r"a batch of \(8, 32\), but the layout says \(2, 4\)"),
        (lambda: Packed.of([1.5, 2]), "lengths are whole numbers"),
        (lambda: Padded.of([1.5, 2]), "lengths are whole numbers"),
        (lambda: Packed.of([3], tokens=0), "3 tokens do not fit into a frame of 0 tokens"),
        (lambda: reorder([X], torch.tensor([0])), "it cannot hold a list"),
        (lambda: with_structure(Packed.of([3]), torch.ones(1, 3, 3)), "a mask of True and False"),
        (lambda: with_structure(Packed.of([3]), torch.ones(1, 2, 2, dtype=torch.bool)), r"has the shape \(1, 3, 3\)"),
        (lambda: ConvolutionMixer(Convolution(), 32, True)(X, GRAPH), "ConvolutionMixer cannot obey a structure"),
        (lambda: RecurrenceMixer(Recurrence(), 32, True)(X, GRAPH), "RecurrenceMixer cannot obey a structure"),
        (lambda: GatedLinearMixer(GatedLinear(), 32, True)(X, GRAPH), "GatedLinearMixer cannot obey a structure"),
        (lambda: token_loss(X, torch.randn(9, 32), None, torch.zeros(4, dtype=torch.long)), "4 goals for 8 tokens"),
    ],
)
def test_refused(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        wrong()


def test_layers_can_be_sent_to_another_process() -> None:
    layer = _attention()
    again = pickle.loads(pickle.dumps(layer))
    assert torch.equal(again(X, Packed.of([8]))[0], layer(X, Packed.of([8]))[0])


def test_a_goal_in_the_padding_may_be_anything() -> None:
    weight, real = torch.randn(9, 32), torch.arange(8) < 5
    goal = torch.where(real, 3, -100)
    torch.testing.assert_close(token_loss(X, weight, None, goal, real), token_loss(X[:5], weight, None, goal[:5]))


@pytest.mark.parametrize(
    "settings",
    [Recurrence(), Recurrence(direction="both"), AttentiveRecurrence(initial="zeros"), Experts(noise=False)],
    ids=repr,
)
def test_written_out_in_full_they_are_what_they_were(settings: Any) -> None:
    """As a run's recipe has them: what is said in vain there is only a default."""
    again = type(settings).model_validate(settings.model_dump())
    arguments = (8,) if isinstance(settings, Experts) else (8, isinstance(settings, AttentiveRecurrence))
    assert list(settings.check(*arguments)) == list(again.check(*arguments)) == []
