"""A corpus, once: read, encoded, split and written into the cache; found there the next time."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqloom.data.building import Building, digest
from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.crew import MOST, Encoded, can_start, cores, encode_all
from seqloom.data.encoding import Encoder, Fields, SeriesEncoder, TagEncoder, names_of_labels
from seqloom.data.other_form import OtherForm
from seqloom.data.ragged import ColumnType, Ragged
from seqloom.data.reading import Block, Shape, Skipped, fingerprint, size
from seqloom.data.reading.format_choice import format_of
from seqloom.data.reading.midi import files_of
from seqloom.data.reading.stored_file import shown
from seqloom.data.series_faults import read_fitting
from seqloom.data.settings import Bad, Corpus
from seqloom.settings import UserError
from seqloom.settings.cache_folder import cache_folder
from seqloom.text.labels import UNSEEN

FORMAT = 9  # to be raised when what stands in a cache changes
LEAST = 100  # characters; less of a running text is no validation
NAMES = 5  # of labels, as examples
LARGE = 20_000_000  # bytes; with less, starting processes takes longer than they save

Report = Callable[[int], None]
"""Told how many bytes were read since the last time."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Fit:
    """What happens to examples that are bad or too long."""

    bad: Bad = "stop"
    longest: int | None = None
    too_long: str = "skip"
    longest_source: int | None = None
    """Of sources, where it is another number."""

    def most(self, column: str) -> int:
        assert self.longest is not None
        return self.longest_source if column == "source" and self.longest_source is not None else self.longest


@dataclass(frozen=True)
class HeldOut:
    """Which examples are kept from training, for validation.

    share       of all examples. Of pairs, tags, classes and music those whose source's checksum is low: a source that
                stands twice is on one side both times. Of texts the end.
    examples    how many there are in the corpus
    characters  of a running text, line ends included: it is split there, even if it is all one line
    sums        the lowest and the highest checksum of all sources, so that something is on both sides
    """

    share: float
    examples: int
    characters: int | None = None
    sums: tuple[int, int] | None = None

    def split(self, block: Block, shape: Shape, before: int) -> tuple[Block, Mask, int]:
        """The block, which of it is held out, and how much of the corpus came before the next one.

        A long line of a running text in which the end begins becomes two. before: as it was returned the last time.
        """
        if self.characters is not None:
            return self._running(block, before, self.characters)
        after = before + len(block.lines)
        if shape == "text" and self.sums is None:
            first = min(round(self.examples * (1 - self.share)), max(self.examples - 1, 1))
            return block, np.arange(before, after) >= first, after
        limit = self.share * 2**32 - 1
        if self.sums is not None and not self.sums[0] <= limit < self.sums[1]:
            limit = self.sums[0]
        return block, checksums(block) <= limit, after

    def _running(self, block: Block, before: int, total: int) -> tuple[Block, Mask, int]:
        edge = min(round(total * (1 - self.share)), max(total - LEAST, total // 2))
        lengths = np.fromiter((len(line) + 1 for line in block.columns[0]), np.int64, len(block.lines))
        ends = before + np.cumsum(lengths)
        after = int(ends[-1]) if len(ends) else before
        begins = ends - lengths
        # a line is not cut without need: a short one stays whole, if enough comes after it
        needed = (lengths > LEAST) | (total - ends < LEAST // 2)
        across = np.flatnonzero((begins < edge) & (edge < ends - 1) & needed)
        if len(across):
            row = int(across[0])
            block = _cut(block, row, edge - int(begins[row]))
            begins = np.insert(begins, row + 1, edge)
        return block, begins >= edge, after


def _cut(block: Block, row: int, at: int) -> Block:
    """One line as two, between words where there are some near."""
    lines, (texts,) = list(block.lines), block.columns
    text = texts[row]
    space = text.rfind(" ", max(1, at - LEAST), at)
    at = space if space > 0 else at
    texts = [*texts[:row], text[:at], text[at:], *texts[row + 1 :]]
    return replace(block, lines=[*lines[: row + 1], *lines[row:]], columns=(texts,))


def checksums(block: Block) -> npt.NDArray[np.uint32]:
    """Of the sources."""
    return np.fromiter((zlib.crc32(_text(source)) for source in block.columns[0]), np.uint32, len(block.lines))


@dataclass(frozen=True)
class LabelCount:
    """Labels that the encoder knows and others, and the most frequent names of those."""

    known: int = 0
    unseen: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A corpus in the cache. held_out: None, if nothing was to be held out."""

    corpus: Corpus
    examples: Cache
    held_out: Cache | None
    skipped: Skipped
    too_long: int
    labels: LabelCount
    other_form: OtherForm
    longest: Mapping[str, int]
    """The most tokens of each column, also of what is too long."""


def prepare(
    corpus: Corpus,
    shape: Shape,
    encoder: Encoder,
    fit: Fit,
    key: Any,
    held_out: HeldOut | None = None,
    report: Report | None = None,
) -> Prepared:
    """key: what else the encoded examples depend on, as JSON can say it (settings, vocabularies)."""
    facts = [FORMAT, content(corpus, shape), shape, asdict(fit), key]
    name = digest([*facts, None if held_out is None else asdict(held_out)])
    folder = cache_folder() / "examples" / name
    if not folder.exists():
        with Building(folder) as partial:
            _build(partial, corpus, shape, encoder, fit, held_out, report)
    try:
        main = Cache(folder / "examples.arrow")
        other = None if held_out is None else Cache(folder / "held_out.arrow")
        skipped = _skipped(main.facts["skipped"]).renamed(_numbers(corpus), _names(corpus))
        labels = LabelCount(**main.facts["labels"])
        # caches of earlier versions tell neither
        form, longest = OtherForm(**main.facts.get("other_form", {})), main.facts.get("longest", {})
        return Prepared(corpus, main, other, skipped, main.facts["too_long"], labels, form, longest)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder}: cannot be read ({error}); remove this folder, it will be made again") from None


def content(corpus: Corpus, shape: Shape) -> list[Any]:
    """All that the examples of a corpus follow from: what its files hold and how they are read, not their names."""
    how = corpus.model_dump(mode="json", exclude={"weight", "files"})
    return [fingerprint(corpus), how | {"format": format_of(corpus, shape)}]


def _build(
    folder: Path,
    corpus: Corpus,
    shape: Shape,
    encoder: Encoder,
    fit: Fit,
    held_out: HeldOut | None,
    report: Report | None,
) -> None:
    skipped, facts, too_long = Skipped(), dict[str, Any](), 0
    columns, strange, form, longest = encoder.columns, _Strange(encoder), OtherForm(), Counter[str]()
    with (
        CacheWriter(folder / "examples.arrow", columns, facts) as main,
        _other(folder, columns, held_out, facts) as other,
        closing(_encoded(corpus, shape, encoder, fit, held_out)) as each,
    ):
        for (block, mask), encoded in each:
            skipped.add(block.report)
            encoded, form = strange.numbered(block, encoded), form.with_block(encoder, block)
            longest |= {name: int(column.lengths_B.max(initial=0)) for name, column in encoded.items()}
            lines = np.asarray(block.lines, np.int64)
            examples, long = _fitting(Examples(encoded, np.zeros(len(lines), np.int64), lines), fit)
            too_long += int(long.sum())
            blank = _blank(examples)
            for line in lines[blank]:  # which a MIDI file never is
                skipped.note("blank line", (f"{block.file}:{line}",))
            kept = ~blank if fit.too_long == "truncate" else ~(blank | long)
            main.add(examples.take(np.flatnonzero(kept & ~mask)))
            if other is not None:
                other.add(examples.take(np.flatnonzero(kept & mask)))
            if report is not None:
                report(block.bytes)
        facts |= {"skipped": asdict(skipped.renamed(_names(corpus), _numbers(corpus))), "other_form": asdict(form)}
        facts |= {"labels": asdict(strange.count()), "unseen": strange.names}
        facts |= {"too_long": too_long, "longest": longest}


class _Strange:
    """Counts the labels that an encoder does not know; of tags, which mark spans together, each keeps its name."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.known, self.unseen = encoder, 0, Counter[str]()

    def numbered(self, block: Block, encoded: Mapping[str, Ragged]) -> Mapping[str, Ragged]:
        """What the block was encoded to, with a number for each unseen tag."""
        found = names_of_labels(self.encoder, block.columns)
        if found is None:
            return encoded
        labels, names = found
        unseen = [name for name in names if name not in labels]
        self.known += len(names) - len(unseen)
        self.unseen.update(unseen)
        if not unseen or not isinstance(self.encoder, TagEncoder):
            return encoded
        numbers = {name: UNSEEN - number for number, name in enumerate(self.unseen)}
        target = encoded["target"]
        values_N = target.values_N.copy()
        values_N[values_N == UNSEEN] = [numbers[name] for name in unseen]
        return {**encoded, "target": replace(target, values_N=values_N)}

    @property
    def names(self) -> list[str]:
        """Of tags, in the order of their numbers."""
        return list(self.unseen) if isinstance(self.encoder, TagEncoder) else []

    def count(self) -> LabelCount:
        names = tuple(name for name, _ in self.unseen.most_common(NAMES))
        return LabelCount(self.known, self.unseen.total(), names)


def _other(folder: Path, columns: Mapping[str, ColumnType], held_out: HeldOut | None, facts: Mapping[str, Any]) -> Any:
    return nullcontext() if held_out is None else CacheWriter(folder / "held_out.arrow", columns, facts)


def _encoded(
    corpus: Corpus, shape: Shape, encoder: Encoder, fit: Fit, held_out: HeldOut | None
) -> Encoded[tuple[Block, Mask]]:
    """Reading, and encoding on all cores."""

    def with_masks() -> Iterator[tuple[tuple[Block, Mask], Fields]]:
        before = 0
        form = encoder.readings.form if isinstance(encoder, SeriesEncoder) else None
        for block in read_fitting(corpus, shape, fit.bad, form):
            mask = np.zeros(len(block.lines), bool)
            if held_out is not None:
                block, mask, before = held_out.split(block, shape, before)
            yield (block, mask), block.columns

    large = size(corpus) >= LARGE and can_start()
    return encode_all(encoder, with_masks(), min(cores(), MOST) if large else 0)


def _blank(examples: Examples) -> Mask:
    """Where no column holds anything: a document without text."""
    sizes = np.stack([column.lengths_B for column in examples.columns.values()])
    return np.asarray(sizes.sum(0) == 0)


def _fitting(examples: Examples, fit: Fit) -> tuple[Examples, Mask]:
    """The examples, cut if they are to be cut; and which of them are too long."""
    if fit.longest is None:
        return examples, np.zeros(len(examples), bool)
    over = np.stack([column.lengths_B > fit.most(name) for name, column in examples.columns.items()])
    long: Mask = np.any(over, axis=0)
    if fit.too_long == "truncate" and long.any():
        columns = {name: column.cut(fit.most(name)) for name, column in examples.columns.items()}
        examples = Examples(columns, examples.corpus_B, examples.line_B)
    return examples, long


def _text(source: Any) -> bytes:
    if isinstance(source, np.ndarray):
        return source.tobytes()
    return (source if isinstance(source, str) else " ".join(source)).encode()


def _numbers(corpus: Corpus) -> tuple[str, ...]:
    """What files are called in the cache, where another corpus of the same content may find them."""
    return tuple(map(str, range(len(files_of(corpus)))))


def _names(corpus: Corpus) -> tuple[str, ...]:
    return tuple(map(shown, files_of(corpus)))


def _skipped(kept: Mapping[str, Any]) -> Skipped:
    return Skipped(dict(kept["counts"]), {reason: tuple(places) for reason, places in kept["places"].items()})
