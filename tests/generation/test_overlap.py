"""What phrases share, by looking at every order."""

from itertools import pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation.automaton import Phrase
from seqloom.generation.overlap import overlap, savings
from seqloom.generation.phrases import maximal

PHRASE = st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple)


@given(PHRASE, PHRASE)
def test_the_last_of_the_one_are_the_first_of_the_other(one: Phrase, other: Phrase) -> None:
    fits = [n for n in range(min(len(one), len(other))) if one[len(one) - n :] == other[:n]]
    assert overlap(one, other) == max(fits)


@settings(max_examples=60)
@given(st.lists(PHRASE, min_size=1, max_size=5).map(maximal), st.data())
def test_the_best_order(phrases: tuple[Phrase, ...], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(phrases) - 1))
    rest = [number for number in range(len(phrases)) if number != first and data.draw(st.booleans())]
    best = max(
        sum(overlap(phrases[p], phrases[q]) for p, q in pairwise((first, *order))) for order in permutations(rest)
    )
    saved = savings(phrases)
    assert saved[first, sum(1 << number for number in rest) % saved.shape[1]] == best
