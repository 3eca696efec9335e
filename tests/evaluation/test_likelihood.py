"""Perplexity and bits per character, from log-probabilities."""

import math

import pytest

from seqloom.evaluation import BitsPerCharacter, Perplexity, interval, total


def test_perplexity() -> None:
    """A model that gives each of 8 tokens the same chance has the perplexity 8, however many there are."""
    stats_ND = Perplexity().statistics([-3 * math.log(8), -5 * math.log(8)], [[3, 5]])
    assert Perplexity().score(total(stats_ND)) == pytest.approx(8)
    found = interval(Perplexity(), stats_ND)
    assert (found.low, found.high) == (pytest.approx(8), pytest.approx(8))


def test_longer_texts_count_more() -> None:
    stats_ND = Perplexity().statistics([-math.log(2), -3 * math.log(4)], [[1, 3]])
    assert Perplexity().score(total(stats_ND)) == pytest.approx(2 ** (7 / 4))
    assert Perplexity().each(stats_ND) == pytest.approx([2, 4])


def test_bits_per_character() -> None:
    stats_ND = BitsPerCharacter().statistics([-10 * math.log(2), -2 * math.log(2)], [[8, 4]])
    assert BitsPerCharacter().score(total(stats_ND)) == pytest.approx(1.0)
    assert not BitsPerCharacter().higher_is_better
    assert "unit:character" in BitsPerCharacter().signature()


def test_a_hopeless_model_has_a_number() -> None:
    assert math.isfinite(float(Perplexity().score(total(Perplexity().statistics([-1e9], [[1]])))))
