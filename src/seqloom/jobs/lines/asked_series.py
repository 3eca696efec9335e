"""Series of a file → questions: of any format that training reads, with labels or without."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seqloom.data.file_format import STDIN, format_by_name
from seqloom.data.reading.block import Rows
from seqloom.data.reading.faults import Broken
from seqloom.data.reading.image_folder import all_pictures, read_picture_files
from seqloom.data.reading.numbers import series_of
from seqloom.data.reading.series_reader import series_rows
from seqloom.data.reading.stored_file import shown_all
from seqloom.data.settings import Corpus
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.deciding.asked import corpora_like
from seqloom.jobs.lines.asked_input import AskedInput, AskedLine
from seqloom.jobs.lines.asked_lines import InputFormat


class AskedSeries(AskedInput):
    """Numbers are those of the series, from 1."""

    def __init__(self, names: Sequence[str], form: InputFormat | None, learnt: tuple[Corpus, ...]) -> None:
        """names: a file, a folder of pictures, or some pictures.

        learnt: what the model learnt from, whose columns are looked for here too.
        """
        super().__init__()
        self.name = shown_all(names)
        rows = read_picture_files(names) if all_pictures(names) else self._rows(names[0], form, learnt)
        self._series = self._each(rows)

    def _rows(self, name: str, form: InputFormat | None, learnt: tuple[Corpus, ...]) -> Iterator[Rows]:
        (corpus,) = corpora_like([name], learnt)
        if form in ("jsonl", "csv", "tsv") or (name == STDIN and corpus.format == "auto"):
            corpus = corpus.model_copy(update={"format": "jsonl" if form in (None, "text") else form})
        elif corpus.format not in ("auto", format_by_name(name)):
            corpus = corpus.model_copy(update={"format": "auto"})
        return series_rows(corpus, labelled=False)

    def _each(self, every: Iterator[Rows]) -> Iterator[tuple[int, str | None, Any]]:
        for rows in every:
            share = rows.bytes // max(len(rows.lines), 1)
            for line, values in zip(rows.lines, rows.columns[0], strict=True):
                self.bytes += share
                if not (isinstance(values, str) and not values.strip()):  # a blank line of JSON
                    yield line, rows.places.files.get(line), values

    def take(self, count: int) -> list[AskedLine]:
        found = []
        for line, file, values in self._series:
            self.taken += 1
            asked = AskedLine(self.taken, _question(values), at=line, file=file)
            self._digest.update(repr(values).encode() if isinstance(values, Broken) else _bytes(asked.question))
            found.append(replace(asked, digest=self.digest, end=self.bytes))
            if len(found) == count:
                break
        return found


def _question(values: Any) -> Question | str:
    found = values if isinstance(values, np.ndarray | Broken) else series_of(values)
    if isinstance(found, Broken):
        return f"{found.what}; {found.fix}"
    return Question(found) if found.size else "no steps; remove it"


def _bytes(question: Question | str) -> bytes:
    if isinstance(question, str):
        return question.encode()
    x = np.asarray(question.source)
    return repr(x.shape).encode() + x.tobytes()
