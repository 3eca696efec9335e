"""BPE dropout in batches: a function of the chance, other pieces in each epoch, the same text."""

from dataclasses import replace

import numpy as np
import pytest

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.tasks.vary import Chance, varied
from seqloom.text import BPE, UNKNOWN, Vocabulary

TEXTS = ["the lower tower", "a newer wider window", "low and slow", "the widest river"]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.train(BPE(size=60, dropout=0.3), TEXTS * 5)


def _examples(vocabulary: Vocabulary, texts: list[str] = TEXTS) -> Examples:
    rows = Ragged.rows(vocabulary.encode(texts))
    return Examples({"source": rows, "target": rows}, np.zeros(len(rows), np.int64), np.arange(1, len(rows) + 1))


def _rows(examples: Examples, name: str = "source") -> list[list[int]]:
    column = examples.columns[name]
    return [column[row].tolist() for row in range(len(column))]


def _varied(vocabulary: Vocabulary, chance: Chance) -> Examples:
    return varied(_examples(vocabulary), {"source": vocabulary, "target": vocabulary}, chance)


def test_the_same_chance_gives_the_same_pieces(vocabulary: Vocabulary) -> None:
    chance = Chance(seed=1, epoch=2, longest=99)
    once = _varied(vocabulary, chance)
    assert _rows(once) == _rows(_varied(vocabulary, chance))
    assert _rows(once) != _rows(_varied(vocabulary, replace(chance, epoch=3)))
    assert _rows(once) != _rows(_varied(vocabulary, replace(chance, seed=2)))
    assert _rows(once) != _rows(once, "target")  # each side by its own chance


def test_the_text_stays_the_same(vocabulary: Vocabulary) -> None:
    again = _varied(vocabulary, Chance(1, 0, longest=99))
    assert vocabulary.decode_many(_rows(again)) == TEXTS
    assert again.columns["source"].starts[-1] > _examples(vocabulary).columns["source"].starts[-1]


def test_who_shares_the_batch_does_not_matter(vocabulary: Vocabulary) -> None:
    chance = Chance(1, 0, longest=99)
    last = _examples(vocabulary).take(np.asarray([3]))
    alone = varied(last, {"source": vocabulary}, chance)
    assert _rows(alone) == _rows(_varied(vocabulary, chance))[3:]


def test_no_row_gets_too_long(vocabulary: Vocabulary) -> None:
    longest = max(map(len, vocabulary.encode(TEXTS)))
    lengths = [len(row) for epoch in range(20) for row in _rows(_varied(vocabulary, Chance(1, epoch, longest)))]
    assert max(lengths) == longest


def test_rows_with_unknown_pieces_stay(vocabulary: Vocabulary) -> None:
    examples = _examples(vocabulary, ["the lower ☃ tower"])
    assert UNKNOWN in _rows(examples)[0]
    for epoch in range(5):
        assert _rows(varied(examples, {"source": vocabulary}, Chance(1, epoch, 99))) == _rows(examples)


def test_without_dropout_nothing_happens() -> None:
    plain = Vocabulary.train(BPE(size=60), TEXTS * 5)
    examples = _examples(plain)
    assert _rows(varied(examples, {"source": plain}, Chance(1, 0, 99))) == _rows(examples)
