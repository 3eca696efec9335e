"""Several scorers as one."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from seqloom.generation.contract import Item, Scorer
from seqloom.generation.ensemble import Ensemble
from seqloom.layers.mixer import reorder
from seqloom.settings import UserError


@dataclass(frozen=True)
class Count:
    steps_R: Tensor


class Table:
    """Scores that hang on the last token and on how many steps there were."""

    begin, end = 1, 2

    def __init__(self, seed: int, size: int = 5, wide: int = 0, first: int = 1) -> None:
        self.size, self.first = size, first
        generator = torch.Generator().manual_seed(seed)
        self.table = torch.randn(9, size, size, generator=generator).log_softmax(-1)
        self.attention = torch.rand(9, wide, generator=generator).softmax(-1) if wide else None

    def start(self, items: Sequence[Item]) -> tuple[Count, Tensor]:
        return Count(torch.zeros(len(items)).long()), torch.full((len(items),), self.first)

    def step(self, last_R: Tensor, state: Count, attention: bool) -> tuple[Tensor, Tensor | None, Count]:
        seen = self.attention[state.steps_R] if attention and self.attention is not None else None
        return self.table[state.steps_R, last_R], seen, Count(state.steps_R + 1)


ITEMS = [Item(source=(3,), number=number, longest=5) for number in range(2)]


def test_the_mean_of_the_probabilities() -> None:
    one, two = Table(1), Table(2)
    both: Scorer = Ensemble([one, two], [1, 3])
    state, last = both.start(ITEMS)
    for _ in range(3):
        steps = state[0].steps_R
        log_probs, attention, state = both.step(last, state, True)
        expected = one.table[steps, last].exp() / 4 + two.table[steps, last].exp() * 3 / 4
        torch.testing.assert_close(log_probs.exp(), expected)
        torch.testing.assert_close(log_probs.logsumexp(1), torch.zeros(2))
        assert attention is None
        last, state = log_probs.argmax(1).flip(0), reorder(state, torch.tensor([1, 0]))


def test_one_alone_says_what_it_says() -> None:
    one = Table(1, wide=3)
    state, last = Ensemble([one]).start(ITEMS)
    log_probs, attention, _ = Ensemble([one]).step(last, state, True)
    wanted, seen, _ = one.step(last, state[0], True)
    assert torch.equal(log_probs, wanted)
    assert attention is not None
    assert seen is not None
    assert torch.equal(attention, seen)


def test_what_is_impossible_for_all_stays_so() -> None:
    one, two = Table(1), Table(2)
    one.table[:, :, 4] = two.table[:, :, 4] = two.table[:, :, 3] = -torch.inf
    both = Ensemble([one, two])
    state, last = both.start(ITEMS)
    log_probs, _, _ = both.step(last, state, False)
    assert (log_probs[:, 4] == -torch.inf).all()
    torch.testing.assert_close(log_probs[:, 3].exp(), one.table[0, 1, 3].exp().expand(2) / 2)


def test_attention_of_those_that_have_it() -> None:
    narrow, wide = Table(1, wide=2), Table(2, wide=3)
    assert narrow.attention is not None
    assert wide.attention is not None
    ensemble = Ensemble([narrow, Table(3), wide], [1, 5, 1])
    state, last = ensemble.start(ITEMS)
    _, attention, _ = ensemble.step(last, state, True)
    assert attention is not None
    expected = torch.cat([narrow.attention[0], torch.zeros(1)]) / 2 + wide.attention[0] / 2
    torch.testing.assert_close(attention, expected.expand(2, -1))


def test_models_that_cannot_write_together() -> None:
    with pytest.raises(UserError, match="the first has 5 tokens, number 2 has 6; train them with the same vocabulary"):
        Ensemble([Table(1), Table(2, size=6)])
    other = Table(2)
    other.end = 3
    with pytest.raises(UserError, match="the first has 2 as the end mark, number 3 has 3"):
        Ensemble([Table(1), Table(1), other])
    with pytest.raises(UserError, match="begin behind different tokens"):
        Ensemble([Table(1), Table(1, first=4)]).start(ITEMS)
    with pytest.raises(UserError, match="at least one model"):
        Ensemble([])
    with pytest.raises(UserError, match="2 models need as many weights, each above 0; not"):
        Ensemble([Table(1), Table(1)], [1, 0])
