"""The fields of examples → numbers, one encoder a shape. No torch here: processes of their own run these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from seqloom.data.ragged import ColumnType, IdType, Ragged, Steps
from seqloom.data.readings import Readings
from seqloom.text import BEGIN, BPE, END, Labels, Unigram, Vocabulary, Words
from seqloom.text.labels import NONE
from seqloom.text.spelling import BYTES, spelled

Fields = Sequence[list[Any]]
"""What a block's columns are: the texts of each side, or lists of words and tags, or series and labels."""


class Encoder(Protocol):
    """A function of the fields alone; can be pickled."""

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns that it makes, and how their numbers are kept."""

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]: ...


@dataclass(frozen=True)
class PairEncoder:
    source: Vocabulary
    target: Vocabulary

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        return {"source": id_type(self.source), "target": id_type(self.target)}

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        sources, targets = fields
        return {"source": _texts(self.source, sources), "target": _texts(self.target, targets)}


@dataclass(frozen=True)
class LineEncoder:
    """running: lines are parts of one text, so the end of a line is kept. Otherwise each is a document."""

    vocabulary: Vocabulary
    running: bool

    @cached_property
    def line_end(self) -> str | None:
        """Words know no line breaks, and where white space is collapsed none is left."""
        whole = self.vocabulary.normalise("a\n").endswith("\n")
        return "\n" if whole and not isinstance(self.vocabulary.settings, Words) else None

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        return {"target": id_type(self.vocabulary)}

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        (lines,) = fields
        if not self.running:
            return {"target": _texts(self.vocabulary, lines)}
        if self.line_end is None:
            return {"target": _texts(self.vocabulary, lines).framed(after=[END])}
        return {"target": _texts(self.vocabulary, [line + self.line_end for line in lines])}

    @cached_property
    def before(self) -> list[int]:
        """What stands before a text that nothing goes before: a begin mark, or the end of another line."""
        if not self.running:
            return [BEGIN]
        return [END] if self.line_end is None else self.vocabulary.encode([self.line_end])[0]

    def begun(self, text: str) -> list[int]:
        """The ids of a text that is to go on: its last line has no end yet."""
        if not self.running:
            return self.vocabulary.encode([text])[0]
        *lines, last = text.split("\n")
        (rows,) = self([lines]).values()
        return [*rows.values_N.tolist(), *self.vocabulary.encode([last])[0]]

    def text(self, ids: Sequence[int]) -> str:
        """The text of some ids: the end marks of lines become line feeds.

        Subwords of each line begin with a space that the tokenizer put there. `decode` takes off the first line's;
        those of the others, of which each stands behind a line feed, are taken off here.
        """
        if not self.running:
            return self.vocabulary.decode(ids)
        if self.line_end is None:
            ends = [place for place, id in enumerate(ids) if id == END]
            lines = [ids[begin:end] for begin, end in zip([0, *(end + 1 for end in ends)], [*ends, None], strict=True)]
            return "\n".join(self.vocabulary.decode_many(lines))
        text = self.vocabulary.decode(ids)
        return text.replace("\n ", "\n") if isinstance(self.vocabulary.settings, BPE | Unigram) else text


@dataclass(frozen=True)
class SentenceEncoder:
    """Lines are sentences; an empty one, which ends a document, is an end mark."""

    vocabulary: Vocabulary

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        return {"target": id_type(self.vocabulary)}

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        (lines,) = fields
        rows = _texts(self.vocabulary, lines)
        ends = rows.lengths_B == 0
        values = np.insert(rows.values_N, rows.starts[:-1][ends], END)
        return {"target": Ragged.of(values, np.maximum(rows.lengths_B, 1))}


@dataclass(frozen=True)
class _LabelEncoder:
    """Texts and what they are called. spelled: behind each word its letters."""

    vocabulary: Vocabulary
    labels: Labels
    spelled: bool = False

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        return {"source": self._kind, "target": np.int32}

    @property
    def _kind(self) -> IdType:
        return id_type(self.vocabulary, BYTES if self.spelled else 0)


@dataclass(frozen=True)
class TagEncoder(_LabelEncoder):
    """The tag of a word that is several pieces stands at its first piece; the others have none.

    spelled: the first is the word, and its letters are the others.
    """

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        sentences, tags = fields
        pieces, marks = [], []
        for words, names in zip(sentences, tags, strict=True):
            ids, word_of = self.pieces(words)
            known = self.labels.encode(names, unknown="unseen")
            firsts = [place == 0 or word_of[place - 1] != word for place, word in enumerate(word_of)]
            pieces.append(ids)
            marks.append([known[word] if first else NONE for word, first in zip(word_of, firsts, strict=True)])
        return {"source": Ragged.rows(pieces, self._kind), "target": Ragged.rows(marks)}

    def pieces(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The ids of a sentence, and for each id the number of its word."""
        return spelled(self.vocabulary, words) if self.spelled else self.vocabulary.encode_words(words)


@dataclass(frozen=True)
class ClassEncoder(_LabelEncoder):
    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        texts, names = fields
        labels = Ragged.rows([[label] for label in self.labels.encode(names, unknown="unseen")])
        if not self.spelled:
            return {"source": _texts(self.vocabulary, texts), "target": labels}
        return {"source": Ragged.rows([self.pieces(text)[0] for text in texts], self._kind), "target": labels}

    def pieces(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a text whose words are spelled, and for each id the number of its word."""
        return spelled(self.vocabulary, [text[begin:end] for begin, end in self.vocabulary.words(text)])


@dataclass(frozen=True)
class SeriesEncoder:
    """Readings as a model takes them, and a class for each series."""

    readings: Readings
    labels: Labels

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        return {"source": Steps(self.readings.channels), "target": np.int32}

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        series, names = fields
        labels = self.labels.encode(names, unknown="unseen")
        return {"source": self.readings.encode(series), "target": Ragged.rows([[label] for label in labels])}


def names_of_labels(encoder: Encoder, fields: Fields) -> tuple[Labels, list[str]] | None:
    """The labels that an encoder knows, and those of some examples; None: it has none."""
    match encoder:
        case TagEncoder(labels=known):
            return known, [name for names in fields[1] for name in names]
        case ClassEncoder(labels=known) | SeriesEncoder(labels=known):
            return known, fields[1]
        case _:
            return None


def id_type(vocabulary: Vocabulary, more: int = 0) -> IdType:
    """Two bytes, where they can hold every id: half the disk and half the memory. Labels may be below zero."""
    return np.uint16 if len(vocabulary) + more <= 1 << 16 else np.int32


def _texts(vocabulary: Vocabulary, texts: Sequence[str]) -> Ragged:
    values_N, lengths_B = vocabulary.encode_arrays(texts)
    return Ragged.of(values_N.astype(id_type(vocabulary), copy=False), lengths_B)
