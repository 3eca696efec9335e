"""Vocabularies and splits of a recipe's files."""

from pathlib import Path

import pytest

from seqloom.jobs.corpora import build as module
from seqloom.jobs.corpora.build import corpora
from seqloom.jobs.deciding.asked import Command, asked


def _words(place: Path, **valid: tuple[str, ...]) -> tuple[set[str], set[str], set[str]]:
    """Words of the vocabulary, of what is trained on, and of what is held out: each line has one of its own."""
    lines = [f"w{number} same\tv{number} same" for number in range(300)]
    (place / "pairs.tsv").write_text("".join(f"{line}\n" for line in lines))
    changes = ("text.source={kind='words', size=5000}", "model.width=16")
    data = corpora(asked(Command(data=("pairs.tsv",), changes=changes, **valid)).recipe)
    vocabulary = data.task.codecs.source
    known = set(vocabulary.pieces(range(len(vocabulary))))
    (train,), (held,) = data.train, data.valid

    def lines_of(cache: object) -> set[str]:
        numbers = [line for part in cache.read(range(len(cache.rows))) for line in part.line_B.tolist()]  # type: ignore[attr-defined]
        return {f"w{number - 1}" for number in numbers}

    return known, lines_of(train.cache), lines_of(held)


def test_what_is_held_out_is_not_in_the_vocabulary(place: Path) -> None:
    known, trained, held = _words(place)
    assert held
    assert trained <= known
    assert not held & known


def test_quotes_of_a_csv_writer_are_told(place: Path) -> None:
    (place / "a.tsv").write_text('"he said ""x"""\ty\n' * 20 + "".join(f"b{n}\tc{n}\n" for n in range(20)))
    (note,) = [note for note in corpora(asked(Command(data=("a.tsv",))).recipe).notes if "quotes" in note]
    assert note.startswith('a.tsv: 20 of the first 40 rows have a field in quotes as in CSV ("he said ""x"""); ')


def test_of_large_data_all_is(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 10)
    known, trained, held = _words(place)
    assert held
    assert trained | held <= known
