"""One part of the data (training, validation or test), looked through from begin to end."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.data.check.alike import ALIKE, alike
from seqloom.data.check.looks import Script, odd_looks, signs_of
from seqloom.data.check.numbers import LengthCounts, Numbers, Ratios, lengths_of
from seqloom.data.check.passages import LEAST, LINE, passages
from seqloom.data.check.repeats import Hashes, disagreements, first_of, hashes_of, joined, repeats, seen, sortable
from seqloom.data.check.report import PLACES, STOPS, Finding, Part, Place, Statistics, shortened
from seqloom.data.check.series import AS_THEY_ARE, SeriesLook, contents
from seqloom.data.check.tally import OR_SKIP, Kind, Tally
from seqloom.data.check.whereabouts import Whereabouts, as_texts
from seqloom.data.check.writing import Writing
from seqloom.data.reading import FIELDS, Block, DataError, Shape, Skipped, quoted_rows, read
from seqloom.data.reading.lines import LATIN
from seqloom.data.reading.quoted_tsv import REMEDY
from seqloom.data.readings import ReadingsSettings
from seqloom.data.settings import Corpus

Measure = Callable[[Sequence[str]], tuple[Sequence[int], Sequence[int]]]
"""Texts → how many tokens each has, and how many of them are unknown."""

_LEAK = 0.01  # common sentences are everywhere; from this share on a score cannot be trusted
_DRAWN = 0.5
"""Of a running text's lines: the share from which on another part was drawn from it line by line."""
_LETTERS_A_TOKEN = 8
LABELLED: tuple[Shape, ...] = ("tags", "classes", "series")
_BLANK = ("blank line", "both sides empty")
_FIXES = {"not UTF-8 text": LATIN}
_SAME = Kind("warning", "source and target are the same", "remove them, unless copying is part of the task")
_QUOTED = Kind("warning", "fields in quotes as in CSV, which are text in TSV", REMEDY)
_RATIO = Kind("warning", "one side is far longer than usual for the other", "look whether the sides belong together")


class PartCheck:
    def __init__(
        self,
        part: Part,
        shape: Shape,
        longest: int,
        measures: Sequence[Measure],
        readings: ReadingsSettings = AS_THEY_ARE,
        running: bool = False,
        writing: Writing | None = None,
    ) -> None:
        self.tally = Tally(part)
        self.labels: Counter[str] = Counter()
        self.hashes: Hashes = np.empty(0, np.int64)
        """those of the first fields, sorted, after `finish`"""
        self.lines: Hashes = np.empty(0, np.int64)
        """of running text the same of lines that hardly come again by themselves"""
        self._shape, self._longest, self._measures = shape, longest, measures
        self._fields, self._running, self._writing = FIELDS[shape], running, writing
        units: tuple[str, ...] = ("characters", "words", "tokens") if measures else ("characters", "words")
        units = ("steps",) if shape == "series" else units
        self._series = SeriesLook(readings)
        self._texts = self._fields if shape == "pairs" else self._fields[:1]
        self._lengths = {field: tuple(map(LengthCounts, units)) for field in self._texts}
        self._scripts = [Script() for _ in self._texts]
        self._unknown = {field: [0, 0] for field in self._texts}
        self._ratios = Ratios()
        self._sources: list[Hashes] = []
        self._lines: list[Hashes] = []
        self._leaks, self._drawn = Counter[Part](), dict[Part, tuple[int, list[Place]]]()
        self._pairs: list[Hashes] = []
        self._whereabouts = Whereabouts(shape)
        self._skipped = Skipped()
        self._stops: list[str] = []
        self._files: tuple[str, ...] = ()
        self._sortable = True

    def look(self, corpus: Corpus, before: "Sequence[PartCheck]", progress: Callable[[int], object]) -> None:
        """Look through a corpus; what is in the parts before as well should not be in this one."""
        self._files = corpus.files
        try:
            self._sortable = self._sortable and sortable(corpus, self._shape)
            for block in read(corpus, self._shape, "skip"):
                progress(block.bytes)
                self._skipped.add(block.report)
                if block.lines:
                    self._block(corpus, block, before)
            quoted = quoted_rows(corpus, self._shape)
            if quoted is not None:
                places = (Place(f"{quoted.name}:{line}", quoted.example) for line in quoted.lines[:1])
                self.tally.add(_QUOTED, len(quoted.lines), places, quoted.rows)
        except DataError as error:
            self._stops.append(str(error))

    def _block(self, corpus: Corpus, block: Block, before: "Sequence[PartCheck]") -> None:
        columns = [as_texts(column) for column in block.columns]
        self._whereabouts.add(corpus, block)
        self.tally.examples += len(block.lines)
        if self._shape == "series":
            self._readings(block, columns[0])
        characters = [] if self._shape == "series" else self._sides(block, columns)
        texts, known = self._compared(block, columns[0])
        self._sources.append(hashes_of(texts))
        if len(columns) == 2:
            self._pairs.append(joined(self._sources[-1], hashes_of(columns[1])))
        if self._shape == "pairs":
            self._pairs_of(block, columns, characters)
        elif self._shape in LABELLED:
            labels = block.columns[1]
            self.labels.update((tag for tags in labels for tag in tags) if self._shape == "tags" else labels)
        for other in before:
            leaked = np.flatnonzero(seen(self._sources[-1], other.hashes) & known).tolist()
            kind = Kind(
                "warning", f"the {self._fields[0]} is in the {other.tally.part} data as well", _leak_remedy(other)
            )
            self.tally.add(kind, len(leaked), [self._place(block, columns[0], at) for at in leaked[:PLACES]])
            self._leaks[other.tally.part] += len(leaked)
        if self._running:
            self._look_for_drawn(block, columns[0], before)

    def _pairs_of(self, block: Block, columns: list[list[str]], characters: list[Numbers]) -> None:
        """What a target shows beside its source, and by how it is written."""
        same = [number for number, (source, target) in enumerate(zip(*columns, strict=True)) if source == target]
        self.tally.add(_SAME, len(same), (self._place(block, columns[0], number) for number in same))
        if self._writing is not None:
            found = self._writing.others(columns[1])
            places = (self._place(block, columns[1], at, number=1) for at in found)
            self.tally.add(self._writing.kind, len(found), places)
        self._ratios.add(
            characters[0], characters[1], lambda at: self._place(block, columns[0], at, columns[1]), PLACES
        )

    def _look_for_drawn(self, block: Block, texts: list[str], before: "Sequence[PartCheck]") -> None:
        """Lines that were drawn one by one have other neighbours here, and no passage tells of them."""
        long = np.flatnonzero(lengths_of(texts) >= LINE)
        hashes = hashes_of([texts[at] for at in long.tolist()])
        self._lines.append(hashes)
        for other in before:
            known = long[seen(hashes, other.lines)].tolist()
            count, places = self._drawn.get(other.tally.part, (0, []))
            places = [*places, *(self._place(block, texts, at) for at in known[:PLACES])][:PLACES]
            self._drawn[other.tally.part] = count + len(known), places

    def _compared(self, block: Block, texts: list[str]) -> tuple[list[str], NDArray[np.bool_]]:
        """What is looked for in other parts, and where it is enough to be known again."""
        if self._running:
            found, lengths = passages(texts)
            return found, lengths >= LEAST
        every = np.ones(len(texts), np.bool_)
        return contents(block.columns[0]) if self._shape == "series" else texts, every

    def _sides(self, block: Block, columns: list[list[str]]) -> list[Numbers]:
        return [self._side(number, block, columns[number]) for number in range(len(self._texts))]

    def _readings(self, block: Block, texts: list[str]) -> None:
        """What series show by themselves."""
        length = self._series.steps(block.columns[0])
        self._lengths[self._fields[0]][0].add(length)
        found = self._series.odd(block.columns[0])
        found[self._too_long("steps")] = np.flatnonzero(length > self._longest).tolist()
        for kind, at in found.items():
            self.tally.add(kind, len(at), [self._place(block, texts, one) for one in at[:PLACES]])

    def _side(self, number: int, block: Block, texts: list[str]) -> Numbers:
        """What one field shows by itself. Returns its lengths in characters."""
        field = self._texts[number]
        signs = signs_of(texts)
        found: dict[Kind, list[int]] = odd_looks(texts, signs) | self._scripts[number].strangers(texts, signs)
        characters = lengths_of(texts)
        words = lengths_of(texts, lambda text: len(text.split()))
        lengths = [characters, words]
        if self._measures:
            tokens, unknown = map(np.asarray, self._measures[number](texts))
            lengths.append(tokens)
            self._unknown[field][0] += int(unknown.sum())
            self._unknown[field][1] += int(tokens.sum())
            found[Kind("note", "unknown tokens", "a larger vocabulary, subwords or bytes")] = np.flatnonzero(
                unknown
            ).tolist()
            found[self._too_long("tokens")] = np.flatnonzero(tokens > self._longest).tolist()
        else:
            long = (words > self._longest) | (characters > _LETTERS_A_TOKEN * self._longest)
            found[self._too_long("words")] = np.flatnonzero(long).tolist()
        for counts, values in zip(self._lengths[field], lengths, strict=True):
            counts.add(values)
        for kind, at in found.items():
            places = [self._place(block, texts, one, number=number) for one in at[:PLACES]]
            named = Kind(kind.severity, f"{field}: {kind.title}", kind.remedy)
            self.tally.add(named, len(at), places)
        return characters

    def _too_long(self, unit: str) -> Kind:
        extra = "" if unit in ("tokens", "steps") else f", or {_LETTERS_A_TOKEN * self._longest:,} characters"
        return Kind(
            "warning",
            f"longer than {self._longest:,} {unit}{extra}",
            "they are left out or cut, as data.too_long says; raise data.longest to keep them",
        )

    def _place(
        self, block: Block, texts: Sequence[str], at: int, beside: Sequence[str] | None = None, number: int = 0
    ) -> Place:
        aligned = len(self._files) == 2 and block.places.numbered
        file = self._files[number] if aligned else block.file
        text = shortened(texts[at]) + (f" | {shortened(beside[at])}" if beside else "")
        return Place(block.places.of(file, block.lines[at]), text)

    def finish(self) -> tuple[list[Finding], Statistics]:
        """After the last corpus."""
        for reason, count in self._skipped.counts.items():
            severity: Any = "note" if reason in _BLANK else "fault"
            remedy = "they are left out" if reason in _BLANK else f"{_FIXES.get(reason, 'mend them')}, {OR_SKIP}"
            every = self.tally.examples + self._skipped.total
            self.tally.add(Kind(severity, reason, remedy), count, map(Place, self._skipped.places[reason]), every)
        for stop in self._stops:  # behind the lines that may be its cause
            self.tally.add(Kind("fault", stop, STOPS), 1)
        if self._shape == "pairs":
            self.tally.add(_RATIO, *self._ratios.odd(PLACES))
        self._find_drawn()
        self._find_repeats()
        lengths = {field: tuple(counts.summary() for counts in each) for field, each in self._lengths.items()}
        labels = len(self.labels) if self._shape in LABELLED else None
        if self._shape in LABELLED and self._shape != "tags":  # V and v may be tags of their own
            groups = alike(self.labels)
            count = sum(self.labels[label] for group in groups for label in group)
            self.tally.add(ALIKE, count, [Place(", ".join(map(repr, group))) for group in groups[:PLACES]])
        if self.tally.part == "training" and self._shape != "tags" and len(self.labels) == 1:
            (only,) = self.labels
            self.tally.add(Kind("fault", f"one class only: {only}", "add examples of another"), self.tally.examples)
        statistics = Statistics(
            self.tally.part, self.tally.examples, self._skipped.total, lengths, labels, self._rates()
        )
        return [_graver(finding) for finding in self.tally.findings()], statistics

    def _rates(self) -> dict[str, float]:
        return {field: unknown / total for field, (unknown, total) in self._unknown.items() if total}

    def _find_drawn(self) -> None:
        self.lines = np.sort(np.concatenate(self._lines)) if self._lines else self.lines
        for part, (count, places) in self._drawn.items():
            if count > _DRAWN * len(self.lines) and self._leaks[part] < count / 2:
                remedy = (
                    "keep a whole piece of the text apart: lines that were drawn from it are known by their neighbours"
                )
                self.tally.add(Kind("warning", f"lines are in the {part} data as well", remedy), count, places)

    def _find_repeats(self) -> None:
        sources = np.concatenate(self._sources) if self._sources else np.empty(0, np.int64)
        pairs = np.concatenate(self._pairs) if self._pairs else sources
        self._pairs.clear()
        if not self._running:  # of running text a line is no example
            self._find_again(sources, pairs)
        self._sources.clear()
        self.hashes = np.sort(sources)

    def _find_again(self, sources: Hashes, pairs: Hashes) -> None:
        again = repeats(pairs)
        how = ", for example with sort -u" if self._sortable else ""
        kind = Kind("warning", "the same example again", f"remove them{how}, unless they are meant")
        self.tally.add(kind, len(again), lambda: self._repeated(again, pairs))
        if self._shape != "text":
            other = disagreements(sources, pairs)
            what = {"pairs": "target", "tags": "tags"}.get(self._shape, "label")
            kind = Kind(
                "note" if self._shape == "pairs" else "warning",
                f"the same {self._fields[0]} with another {what}",
                "no model can know which is right; fine where several answers are",
            )
            self.tally.add(kind, len(other), lambda: self._repeated(other, sources))

    def _repeated(self, again: Numbers, hashes: Hashes) -> list[Place]:
        indices = again[:PLACES].tolist()
        here = [self._whereabouts.where(index) for index in indices]
        there = [self._whereabouts.where(first_of(hashes, index)) for index in indices]
        texts = self._whereabouts.texts(here)
        return [Place(f"{one}, as {other}", text) for one, other, text in zip(here, there, texts, strict=True)]


def _leak_remedy(other: PartCheck) -> str:
    return f"remove them from the {other.tally.part} data: a model that has seen the question is not tested by it"


def _graver(finding: Finding) -> Finding:
    """A leak of some size is a fault."""
    if "data as well" in finding.title and finding.share >= _LEAK:
        return Finding(
            "fault", finding.title, finding.part, finding.count, finding.share, finding.places, finding.remedy
        )
    return finding
