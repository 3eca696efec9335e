"""Drawing tokens: filters against transformers, draws against their probabilities."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from seqloom.generation.sampling import Sampling, draw, filtered, row_keys


def warped(log_probs_RV: Tensor, sampling: Sampling) -> Tensor:
    chain = LogitsProcessorList([TemperatureLogitsWarper(sampling.temperature)])
    if sampling.top_k:
        chain.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1:
        chain.append(TopPLogitsWarper(sampling.top_p))
    if sampling.min_p:
        chain.append(MinPLogitsWarper(sampling.min_p))
    return chain(torch.zeros(len(log_probs_RV), 0).long(), log_probs_RV).log_softmax(1)


def random_rows(rows: int, size: int, seed: int = 0, spread: float = 2.0) -> Tensor:
    return (torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)) * spread).log_softmax(1)


@settings(max_examples=60)
@given(
    st.integers(0, 2**31),
    st.sampled_from([0.5, 1.0, 1.7]),
    st.sampled_from([0, 1, 3, 400, 1000]),
    st.sampled_from([0.001, 0.3, 0.9, 0.99, 1.0]),
    st.sampled_from([0.0, 0.02, 0.5, 1.0]),
)
def test_filters_are_those_of_transformers(seed: int, temperature: float, k: int, p: float, min_p: float) -> None:
    log_probs_RV = random_rows(3, 400, seed, spread=0.5 + seed % 3)
    sampling = Sampling(temperature=temperature, top_k=k, top_p=p, min_p=min_p)
    torch.testing.assert_close(filtered(log_probs_RV, sampling), warped(log_probs_RV, sampling))


def test_top_p_takes_the_fewest_that_hold_the_mass() -> None:
    log_probs = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()
    for p, kept in [(0.1, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.8, 3), (0.9, 4)]:
        found = filtered(log_probs, Sampling(top_p=p)).exp()
        assert found.count_nonzero() == kept
        torch.testing.assert_close(found[0, :kept], log_probs[0, :kept].softmax(0))


def test_of_equal_ones_the_first_are_kept() -> None:
    even = torch.full((2, 10), 0.1).log()
    assert filtered(even, Sampling(top_k=3)).isfinite().nonzero()[:, 1].tolist() == [0, 1, 2] * 2
    assert filtered(even, Sampling(top_p=0.35)).isfinite().nonzero()[:, 1].tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize("temperature", [1e-300, 1e-39, 1e-30])
def test_next_to_no_temperature_leaves_the_likeliest(temperature: float) -> None:
    log_probs = random_rows(4, 30)
    found = filtered(log_probs, Sampling(temperature=temperature))
    assert torch.equal(found.exp(), torch.nn.functional.one_hot(log_probs.argmax(1), 30).float())


@pytest.mark.parametrize("temperature", [1e30, 1e39, 1e300])
def test_any_heat_leaves_all_that_is_possible(temperature: float) -> None:
    log_probs = torch.tensor([[-1.0, -2.0, -9.0, -math.inf]])
    found = filtered(log_probs, Sampling(temperature=temperature))
    torch.testing.assert_close(found.exp(), torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0.0]]))


def test_what_is_impossible_stays_so() -> None:
    log_probs = torch.tensor([[0.0, -math.inf, -math.inf, -math.inf], [-math.inf] * 4])
    for sampling in (Sampling(), Sampling(top_k=2), Sampling(top_p=0.5), Sampling(min_p=0.1, temperature=0.3)):
        assert torch.equal(filtered(log_probs, sampling), log_probs)


@pytest.mark.parametrize("fault", [{"temperature": 0.0}, {"top_p": 0.0}, {"top_k": -1}, {"min_p": 1.5}])
def test_ranges(fault: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(fault)


def taken(log_probs_RV: Tensor, seed: int, number_R: Tensor, sample_R: Tensor, step_R: Tensor) -> Tensor:
    return draw(log_probs_RV, row_keys([seed] * len(number_R), number_R, sample_R), step_R)


def chi_square(counts: Tensor, probabilities: Tensor) -> float:
    """How many deviations the statistic lies above its mean (Wilson and Hilferty's normal form)."""
    expected = probabilities * counts.sum()
    free = len(counts) - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return ((statistic / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))


PLACES = {
    "items": lambda each: (each, 0 * each, 0 * each),
    "samples": lambda each: (0 * each + 5, each, 0 * each),
    "steps": lambda each: (0 * each, 0 * each + 1, each),
    "all": lambda each: (each // 400, each // 20 % 20, each % 20),
}


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
@pytest.mark.parametrize("place", PLACES)
def test_tokens_come_as_often_as_they_should(place: str, seed: int) -> None:
    for probs in (torch.full((64,), 1 / 64), random_rows(1, 30, spread=1.0)[0].exp()):
        where = PLACES[place](torch.arange(20_000))
        drawn = taken(probs.log().expand(20_000, -1), seed, *where)
        assert abs(chi_square(drawn.bincount(minlength=len(probs)).double(), probs.double())) < 4


def test_neighbouring_draws_are_independent() -> None:
    each = torch.arange(40_000)
    for where in PLACES.values():
        drawn = taken(torch.full((40_000, 4), 0.25).log(), 3, *where(each))
        both = (drawn[:-1] * 4 + drawn[1:]).bincount(minlength=16).double()
        assert abs(chi_square(both, torch.full((16,), 1 / 16).double())) < 4


def test_neither_neighbours_nor_last_bits_matter() -> None:
    log_probs_RV = random_rows(500, 3000)
    where = torch.arange(500) % 7, torch.arange(500) % 3, torch.arange(500)
    drawn = taken(log_probs_RV, 1, *where)
    turned = torch.arange(499, -1, -1)
    assert torch.equal(taken(log_probs_RV[turned], 1, *(part[turned] for part in where)), drawn[turned])
    alone = torch.cat([taken(log_probs_RV[row, None], 1, *(part[row, None] for part in where)) for row in range(20)])
    assert torch.equal(alone, drawn[:20])
    assert torch.equal(taken(log_probs_RV + 1e-6 * torch.randn_like(log_probs_RV), 1, *where), drawn)
    assert not torch.equal(taken(log_probs_RV, 2, *where), drawn)


def test_a_filter_changes_no_draw_that_it_allows() -> None:
    log_probs_RV = random_rows(500, 3000)
    where = torch.arange(500), torch.zeros(500).long(), torch.zeros(500).long()
    drawn = taken(log_probs_RV, 1, *where)
    for sampling in (Sampling(top_k=100), Sampling(top_p=0.9)):
        left_RV = filtered(log_probs_RV, sampling)
        allowed = left_RV.gather(1, drawn[:, None])[:, 0] > -math.inf
        again = taken(left_RV, 1, *where)
        assert 100 < allowed.sum() < 500
        assert torch.equal(again[allowed], drawn[allowed])
        assert left_RV.gather(1, again[:, None]).isfinite().all()
