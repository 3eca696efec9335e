"""Pairs of segments: every sentence has its turn, half of the second segments are strangers, nothing is too long."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.ragged import Ragged
from seqloom.tasks.sentence_pairs import documents, joined, pairs, several
from seqloom.text import END, SEPARATOR

DOCUMENTS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=8), min_size=2, max_size=6)


def corpus(lengths: list[list[int]]) -> Ragged:
    """Each token is a number of its own, so that its place is known."""
    rows, next_id = list[list[int]](), 10
    for document in lengths:
        for length in document:
            rows.append(list(range(next_id, next_id + length)))
            next_id += length
        rows.append([END])
    return Ragged.rows(rows)


def test_documents_end_at_empty_lines() -> None:
    rows = Ragged.rows([[END], [7, 8], [9], [END], [END], [10], [END, 11]])
    assert documents(rows) == [range(1, 3), range(5, 7)]
    assert documents(Ragged.rows([[END]])) == []


@given(lengths=DOCUMENTS, room=st.integers(5, 20), seed=st.integers(0, 99))
def test_all_sentences_in_pairs_that_fit(lengths: list[list[int]], room: int, seed: int) -> None:
    rows = corpus(lengths)
    home = np.zeros(len(rows.values_N), int)
    for number, document in enumerate(documents(rows)):
        home[rows.starts[document.start] : rows.starts[document.stop]] = number
    made = list(pairs(rows, room, np.random.default_rng(seed)))
    for pair in made:
        sizes = [end - begin for begin, end in (pair.first, pair.second)]
        assert min(sizes) >= 1
        assert sum(sizes) <= room
        assert (home[pair.first[0]] == home[pair.second[0]]) == pair.follows
        assert home[pair.first[0]] == home[pair.first[1] - 1]
        assert home[pair.second[0]] == home[pair.second[1] - 1]
        if pair.follows:
            assert pair.first[1] <= pair.second[0]
    firsts = sorted(pair.sentence for pair in made)
    assert len(set(firsts)) == len(firsts)
    assert {document.start for document in documents(rows)} <= set(firsts)
    held = joined(rows, made)
    for number, pair in enumerate(made):
        row = [*rows.values_N[slice(*pair.first)], SEPARATOR, *rows.values_N[slice(*pair.second)]]
        assert held[number].tolist() == row


def test_half_are_strangers_and_no_token_is_lost() -> None:
    rows = corpus([[4] * 40 for _ in range(30)])
    made = list(pairs(rows, 64, np.random.default_rng(1)))
    share = np.mean([pair.follows for pair in made])
    assert 0.35 < share < 0.65
    read = {
        at
        for pair in made
        for span in ([pair.first, pair.second] if pair.follows else [pair.first])
        for at in range(*span)
    }
    assert len(read) > 0.9 * 30 * 160


@given(st.lists(st.integers(1, 5), min_size=2, max_size=9), st.integers(5, 20), st.integers(0, 99))
def test_strangers_of_the_same_document_neither_follow_nor_overlap(lengths: list[int], room: int, seed: int) -> None:
    rows = corpus([lengths])
    for pair in pairs(rows, room, np.random.default_rng(seed)):
        (begin, end), (other, last) = pair.first, pair.second
        assert last <= begin or other >= end
        if not pair.follows:
            # trimming may part what follows by some tokens: a sentence between them tells
            ends = int(np.searchsorted(rows.starts, end))
            assert last <= begin or other >= rows.starts[ends + 1]


def test_one_document_only() -> None:
    made = list(pairs(corpus([[3] * 10]), 12, np.random.default_rng(1)))
    assert {pair.follows for pair in made} == {True, False}


def test_a_single_sentence_is_its_own_stranger() -> None:
    (pair,) = pairs(corpus([[4]]), 12, np.random.default_rng(1))
    assert not pair.follows
    assert pair.first == pair.second == (0, 4)


def test_several_documents() -> None:
    one, end, none = Ragged.rows([[7], [8]]), Ragged.rows([[END]]), Ragged.rows([])
    assert not several([])
    assert not several([one])
    assert not several([end, one, none, one, end])
    assert several([one, end, one])
    assert several([Ragged.rows([[7], [END], [8]])])
