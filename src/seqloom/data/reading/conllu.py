"""A word with its tag in each line, a blank line behind each sentence: CoNLL-U, and the plainer forms before it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from seqloom.data.reading.block import ROWS, Rows, Shape
from seqloom.data.reading.columns import absent
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.settings import Corpus

_NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_DOCUMENT = ["-DOCSTART-"]  # stands alone where a document begins (CoNLL-2003), and is no sentence
_ID = re.compile(r"\d+")
_NO_WORD = re.compile(r"\d+[-.]\d+")  # 1-2 is written as one but is two words, 1.1 is not written at all


@dataclass(frozen=True)
class _Columns:
    tabs: bool
    count: int
    word: int
    tag: int
    universal: bool

    def split(self, line: str) -> list[str]:
        return line.split("\t") if self.tabs else line.split()


def read_conllu(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    """A sentence is an example: its words and tags, or both as texts with spaces between."""
    if shape == "classes":
        raise DataError(f"{corpus.files[0]}: words with tags, but this task reads texts with labels")
    with Lines(corpus.files[0]) as file:
        consumed = 0
        sentences = _sentences(file, corpus)
        while some := list(islice(sentences, ROWS)):
            before, consumed = consumed, file.consumed
            numbers = [number for number, _ in some]
            columns = tuple(map(list, zip(*[_fields(sentence, shape) for _, sentence in some], strict=True)))
            yield Rows((file.name,) * len(columns), numbers, columns, consumed - before)


def _fields(sentence: tuple[list[str], list[str]] | Broken, shape: Shape) -> tuple[Any, ...]:
    if isinstance(sentence, Broken):
        return (sentence, sentence) if shape != "text" else (sentence,)
    words, tags = sentence
    match shape:
        case "tags":
            return words, tags
        case "pairs":
            return " ".join(words), " ".join(tags)
        case _:
            return (" ".join(words),)


def _sentences(file: Lines, corpus: Corpus) -> Iterator[tuple[int, Any]]:
    """Each sentence with the line of its first word, or of its first fault."""
    columns: _Columns | None = None
    words: list[str] = []
    tags: list[str] = []
    start = number = said = 0
    broken: tuple[int, Broken] | None = None
    for number, line in _numbered(file):
        if isinstance(line, str) and not line.strip():
            if broken or (words and words != _DOCUMENT):
                yield broken or (start, (words, tags))
            words, tags, start, said, broken = [], [], 0, 0, None
            continue
        if isinstance(line, Broken):
            broken = broken or (number, line)
            continue
        if columns is None:
            if line.startswith("#") and "\t" not in line:
                continue
            columns = _columns(line, corpus, f"{file.name}:{number}")
        cells = columns.split(line)
        if line.startswith("#") and (columns.universal or (len(cells) != columns.count and not words)):
            continue
        if fault := _fault(cells, columns):
            broken = broken or (number, fault)
        elif not (columns.universal and _NO_WORD.fullmatch(cells[0])):
            if columns.universal:
                before, said = said, int(cells[0])
                broken = broken or _out_of_order(number, before, said, first=not words)
            start = start or number
            words.append(cells[columns.word])
            tags.append(cells[columns.tag])
    if broken or (words and words != _DOCUMENT):
        yield broken or (start, (words, tags))


def _numbered(file: Lines) -> Iterator[tuple[int, Any]]:
    number = 0
    while lines := file.take(ROWS):
        for line in lines:
            number += 1
            yield number, line


def _fault(cells: list[str], columns: _Columns) -> Broken | None:
    if len(cells) != columns.count:
        what = f"expected {columns.count} columns, found {len(cells)}"
        return Broken("another number of columns", what, "mend the sentence")
    if columns.universal and not (_ID.fullmatch(cells[0]) or _NO_WORD.fullmatch(cells[0])):
        return Broken("no word number", f"expected a word's number first, found {cells[0]!r}", "mend the sentence")
    if not cells[columns.word].strip() or not cells[columns.tag].strip():
        return Broken("an empty word or tag", "an empty word or tag", "mend the sentence")
    return None


def _out_of_order(line: int, before: int, said: int, first: bool) -> tuple[int, Broken] | None:
    """Words are numbered from 1 on, or from 0 where a file has it so: another number is a line that is lost, or an
    empty line between two sentences."""
    if said == before + 1 or (first and said == 0):
        return None
    lost = f"expected word {before + 1}, found word {said}"
    fix = "mend the sentence" if first or said > 1 else "put an empty line between the sentences"
    return line, Broken("words out of order", lost, fix)


def _columns(line: str, corpus: Corpus, place: str) -> _Columns:
    """By the first word's line: ten columns with a number first are CoNLL-U, otherwise the last column is the tag."""
    tabs = "\t" in line
    cells = line.split("\t") if tabs else line.split()
    universal = len(cells) == len(_NAMES) and bool(_ID.match(cells[0]))
    if len(cells) < 2:
        raise DataError(f"{place}: expected a word and its tag with a tab between them, found {line.strip()!r}")
    word = _column(corpus.source, cells, universal, place, 1 if universal else 0)
    tag = _column(corpus.target, cells, universal, place, _NAMES.index("upos") if universal else len(cells) - 1)
    return _Columns(tabs, len(cells), word, tag, universal)


def _column(name: str | None, cells: list[str], universal: bool, place: str, usual: int) -> int:
    if name is None:
        return usual
    if name.isdigit() and 0 < int(name) <= len(cells):
        return int(name) - 1
    if universal and name.lower() in _NAMES:
        return _NAMES.index(name.lower())
    raise absent(name, _NAMES if universal else [str(at + 1) for at in range(len(cells))], place)
