"""The recipe for who names none: the task and the kind of text are read off the data."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Any

from seqloom.data.reading import Block, Shape, read, shape_of, size, table
from seqloom.data.reading.named_columns import is_pair, label_column, named_columns
from seqloom.data.settings import Bad, Corpus
from seqloom.jobs.deciding.series_choice import looks_like_series, suited

BLOCKS = 2
"""What examples look like is told by the first."""

ENOUGH = 8 << 20
"""How many there are is told by so many bytes: files are read in large pieces, and fewer would mislead."""

SMALL_TEXT = 5_000_000
"""Running text of fewer bytes is read by characters."""

SOME = 300
"""Of fewer examples it cannot be told whether their words come again."""

RARE = 0.3
"""Of a side's words, if more are seen only once: whole words cannot be learnt."""

SHORT = 60
"""Characters of an example that can be read one by one."""

# scripts without spaces, in which a "word" is a whole sentence: Thai to Burmese, Khmer, Japanese, Chinese
_UNSPACED = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Look:
    """What the first examples look like."""

    shape: Shape
    examples: int
    """About how many there are in all."""
    words: float
    """In the longer side of an example, on average."""
    bytes: int
    characters: float = 0.0
    """In the longer side of an example, on average."""
    rare: float = 0.0
    """The share of words that are seen only once, on the side that has more of them."""
    letters: int = 0
    """Different characters, of both sides."""
    labels_first: tuple[str, ...] = ()
    """Some labels, where they stand in the first column and the texts in the second."""
    label_column: str = ""
    """Its name, where that alone tells that it holds labels."""
    midi: bool = False
    """Whether the texts are events of music."""
    task: tuple[tuple[str, int], ...] = ()
    """Of series: settings of the task that suit their length and their steps."""
    picture: tuple[int, int, int] | None = None
    """Rows, columns and channels, where examples are pictures."""
    unlike: bool = False
    """Whether pictures are of several sizes, or too large as they are, and are to be brought to this one."""


def look(corpora: Sequence[Corpus], bad: Bad, shape: Shape | None = None) -> Look:
    """shape: if it is known already."""
    first, total = corpora[0], sum(map(size, corpora))
    if shape == "timeline" or (shape is None and looks_like_series(first)):
        return Look("timeline", 0, 0.0, total, task=suited(first) if looks_like_series(first) else ())
    guess = shape or shape_of(first)
    blocks, rows, read_bytes = list[Block](), 0, 0
    for block in read(first, guess, bad):
        blocks += [block] if len(blocks) < BLOCKS else []
        rows, read_bytes = rows + len(block.lines), read_bytes + block.bytes
        if read_bytes > ENOUGH:
            break
    labels = _labels_first(first, guess, blocks) if shape in (None, "classes") else ()
    said = ""
    if shape is None and guess == "pairs":
        is_classes, said = _are_classes(first, _side(blocks, 1))
        guess = "classes" if labels or is_classes else guess
    examples = round(rows * max(1.0, total / max(read_bytes, 1)))
    if guess == "series":
        pictures = [x for x in _side(blocks, 0) if x.ndim == 3]
        picture = _picture(pictures)
        unlike = picture is not None and {x.shape[:2] for x in pictures} != {picture[:2]}
        return Look(guess, examples, 0.0, total, picture=picture, unlike=unlike)
    sides = [_side(blocks, 1)] if labels else [_side(blocks, side) for side in range(2 if guess == "pairs" else 1)]
    longer, rare = (_longer(sides, _words), _longer(sides, _characters)), max(map(_rare, sides))
    return Look(guess, examples, longer[0], total, longer[1], rare, _letters(sides), labels, said, midi=first.midi)


def _are_classes(corpus: Corpus, targets: Sequence[Any]) -> tuple[bool, str]:
    """Whether the targets are labels, and the column's name, if only that tells it.

    A column with one value holds labels, too: then it is told that there is nothing to learn from them. Beside a
    source it may be what all of them are to become. Values of which none comes again are labels by no name.
    """
    names = named_columns(corpus, "pairs")
    if _few_kinds(targets, 2 if len(corpus.files) > 1 or is_pair(names) else 1):
        return True, ""
    label = label_column(names) if len(set(map(str, targets))) < len(targets) else ""
    return bool(label), label


def _side(blocks: Sequence[Block], side: int) -> list[Any]:
    return [value for block in blocks for value in block.columns[side]]


def _picture(pictures: Sequence[Any]) -> tuple[int, int, int] | None:
    """The size that half of them have, if it is not large, else a small one of their middle; with colours of some."""
    if not pictures:
        return None
    channels = max(x.shape[-1] for x in pictures)
    (size, count), *_ = Counter(x.shape[:2] for x in pictures).most_common(1)
    if 2 * count < len(pictures) or max(size) > LARGE_SIDE:
        rows, columns = (median(x.shape[side] for x in pictures) for side in (0, 1))
        shrunk = min(1.0, LONG_SIDE / max(rows, columns))
        size = tuple(max(1, round(side * shrunk / GRID)) * GRID for side in (rows, columns))
    return size[0], size[1], channels


def _few_kinds(values: Sequence[Any], least: int = 2) -> bool:
    """Labels: few different ones, each seen often, none of more than a few words."""
    kinds = set(map(str, values))
    return least <= len(kinds) <= min(200, len(values) / 10) and all(len(kind.split()) <= 3 for kind in kinds)


def _labels_first(corpus: Corpus, shape: Shape, blocks: Sequence[Block]) -> tuple[str, ...]:
    """Labels before sentences, in columns that nothing names."""
    if shape not in ("pairs", "classes"):
        return ()
    columns = table(corpus, shape)
    if columns is None or not columns.by_place or len(columns.first) < 2:
        return ()
    labels, texts = _side(blocks, 0), _side(blocks, 1)
    if _few_kinds(labels) and not _few_kinds(texts) and _longer([texts], _words) >= 3:
        return tuple(list(dict.fromkeys(map(str, labels)))[:3])
    return ()


def _longer(sides: Sequence[Sequence[Any]], length: Callable[[Any], int]) -> float:
    """The mean length of an example's longer side."""
    longest = [max(map(length, example)) for example in zip(*sides, strict=True)]
    return sum(longest) / max(len(longest), 1)


def _words(value: Any) -> int:
    return len(value.split() if isinstance(value, str) else value)


def _characters(value: Any) -> int:
    return len(value if isinstance(value, str) else " ".join(value))


def _letters(sides: Sequence[Sequence[Any]]) -> int:
    """How many different characters there are."""
    found = set[str]()
    for value in chain.from_iterable(sides):
        found.update(value if isinstance(value, str) else " ".join(value))
    return len(found)


def _rare(side: Sequence[Any]) -> float:
    """The share of a side's words that are seen once."""
    if len(side) < SOME:
        return 0.0
    counts = Counter(word for value in side for word in (value.split() if isinstance(value, str) else value))
    once = sum(count == 1 and not _UNSPACED.search(word) for word, count in counts.items())
    return once / max(counts.total(), 1)


PICTURES = 32  # in a batch, which counts their pixels
LONG_SIDE, GRID = 128, 8  # pixels of pictures that are scaled; a multiple is cut into patches
LARGE_SIDE = 256  # pixels, from which on pictures of one size are scaled too: photographs would take days and a disk

# Muon needs far fewer steps than AdamW (docs/decisions/0016); its rates are chosen later, by jobs/deciding/rates.py
OPTIMISER = {"kind": "muon", "rate": 0.01, "others": {"rate": 0.003, "decay": 0.0}}


def default_settings(seen: Look) -> dict[str, Any]:
    """The task, its text and its training; the model follows when the data has been counted."""
    training: dict[str, Any] = {"optimiser": OPTIMISER}
    match seen.shape:
        case "pairs":
            training["smoothing"] = 0.1
            # what is written gets better long after the loss rises again
            training["best"] = "exact" if _by_characters(seen) else "chrf"
        case "tags" | "classes" | "series":
            training["best"] = "accuracy"  # the loss rises again while the answers still get better
            if seen.picture is not None:
                training["batch"] = PICTURES * seen.picture[0] * seen.picture[1]
        case "timeline":
            training["best"] = "mse"
        case "text":
            pass
    return _task(seen) | {"training": training}


def _task(seen: Look) -> dict[str, Any]:
    match seen.shape:
        case "pairs":
            size = SIZES[0][1] if seen.rare > RARE else _pieces(seen.examples)
            pieces: dict[str, Any] = {"kind": "characters"} if _by_characters(seen) else _bpe(seen, size)
            return {"task": {"kind": "translate"}, "text": {"source": pieces, "shared": True}}
        case "text" if seen.midi:
            # all keys are played alike, so that each piece can be heard in many
            music = {"kind": "music", "transpose": 3, "stretch": 0.05}
            drawn = {"sample": {"temperature": 1.0}}  # the likeliest music goes round in circles
            return {"task": music, "text": {"source": {"kind": "words"}}, "generation": drawn}
        case "text":
            small = seen.bytes < SMALL_TEXT
            pieces = {"kind": "characters"} if small else _bpe(seen, max(4000, _pieces(seen.examples)))
            return {"task": {"kind": "language"}, "text": {"source": pieces}}
        case "timeline":
            return {"task": {"kind": "forecast", **dict(seen.task)}, "text": {}}
        case "tags":
            return {"task": {"kind": "tag"}, "text": {"source": _bpe(seen, 4000)}}
        case "classes":
            return {"task": {"kind": "classify"}, "text": {"source": _bpe(seen, 4000)}}
        case "series":
            settings: dict[str, Any] = {"task": {"kind": "classify", "reads": "series"}, "text": {}}
            rows, columns, _ = seen.picture or (0, 0, 0)
            settings |= {"data": {"longest": rows * columns}} if seen.picture else {}
            return settings | ({"readings": {"size": [rows, columns]}} if seen.unlike else {})


def _bpe(seen: Look, size: int) -> dict[str, Any]:
    """Letters that would take most of the pieces, as those of Chinese, come on top."""
    return {"kind": "bpe", "size": size if 2 * seen.letters <= size else size + seen.letters}


def _by_characters(pairs: Look) -> bool:
    """Single words, or words such as numbers that hardly ever come again."""
    return pairs.words < 3 or (pairs.rare > RARE and pairs.characters < SHORT)


# fewer examples than so many → pieces: small data wants small vocabularies (Sennrich & Zhang 2019)
SIZES = ((5000, 1000), (20_000, 2000), (50_000, 4000), (1_000_000, 8000))
LARGEST = 16_000


def _pieces(examples: int) -> int:
    return next((size for below, size in SIZES if examples < below), LARGEST)
