"""Phrases found token by token, against looking for them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation.automaton import Phrase, automaton, crossing

PHRASES = st.lists(st.integers(0, 1), min_size=1, max_size=7).map(tuple)


def begun(tokens: Phrase, phrase: Phrase) -> int:
    return max(n for n in range(len(phrase) + 1) if tokens[len(tokens) - n :] == phrase[:n])


@settings(max_examples=100)
@given(PHRASES)
def test_behind_each_state_and_token_as_much_as_possible_is_matched(phrase: Phrase) -> None:
    for matched, row in enumerate(automaton(phrase)):
        assert row == [begun((*phrase[:matched], token), phrase) for token in phrase]


@settings(max_examples=100)
@given(PHRASES, PHRASES)
def test_what_is_completed_while_another_is_written(written: Phrase, phrase: Phrase) -> None:
    table = crossing(written, phrase)
    for first in range(len(written)):
        for matched in range(len(phrase) + 1):
            tokens, ends = (*phrase[:matched], *written[first:]), range(matched + 1, matched + len(written) - first + 1)
            completed = any(tokens[:end][-len(phrase) :] == phrase for end in ends)
            assert completed == (table is not None and table[first][matched])
