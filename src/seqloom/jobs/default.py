"""The recipe for who names none: the task and the kind of text are read off the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqloom.data.reading import Block, Shape, read, shape_of, size
from seqloom.data.settings import Bad, Corpus

BLOCKS = 2
"""What examples look like is told by the first."""

ENOUGH = 8 << 20
"""How many there are is told by so many bytes: files are read in large pieces, and fewer would mislead."""

SMALL_TEXT = 5_000_000
"""Running text of fewer bytes is read by characters."""


@dataclass(frozen=True)
class Look:
    """What the first examples look like."""

    shape: Shape
    examples: int
    """About how many there are in all."""
    words: float
    """In the longer side of an example, on average."""
    bytes: int


def look(corpora: Sequence[Corpus], bad: Bad, shape: Shape | None = None) -> Look:
    """shape: if it is known already."""
    first, total = corpora[0], sum(map(size, corpora))
    guess = shape or shape_of(first)
    blocks, rows, read_bytes = list[Block](), 0, 0
    for block in read(first, guess, bad):
        blocks += [block] if len(blocks) < BLOCKS else []
        rows, read_bytes = rows + len(block.lines), read_bytes + block.bytes
        if read_bytes > ENOUGH:
            break
    if shape is None and guess == "pairs" and _few_answers(blocks):
        guess = "classes"
    examples = round(rows * max(1.0, total / max(read_bytes, 1)))
    return Look(guess, examples, _words(blocks, guess), total)


def _few_answers(blocks: Sequence[Block]) -> bool:
    """Labels: few different ones, each seen often, none of more than a few words."""
    answers = [str(answer) for block in blocks for answer in block.columns[1]]
    kinds = set(answers)
    return (
        len(kinds) >= 2 and len(kinds) <= min(200, len(answers) / 10) and all(len(kind.split()) <= 3 for kind in kinds)
    )


def _words(blocks: Sequence[Block], shape: Shape) -> float:
    columns = 2 if shape == "pairs" else 1
    counts = [
        max(len(value.split()) if isinstance(value, str) else len(value) for value in row)
        for block in blocks
        for row in zip(*block.columns[:columns], strict=True)
    ]
    return sum(counts) / max(len(counts), 1)


# Muon needs far fewer steps than AdamW (docs/decisions/0016); its rates are chosen later, by jobs/rates.py
OPTIMISER = {"kind": "muon", "rate": 0.01, "others": {"rate": 0.003, "decay": 0.0}}


def default_settings(seen: Look) -> dict[str, Any]:
    """The task, its text and its training; the model follows when the data has been counted."""
    training: dict[str, Any] = {"optimiser": OPTIMISER}
    match seen.shape:
        case "pairs":
            training["smoothing"] = 0.1
        case "tags" | "classes":
            training["best"] = "accuracy"  # the loss rises again while the answers still get better
        case "text":
            pass
    return _task(seen) | {"training": training}


def _task(seen: Look) -> dict[str, Any]:
    match seen.shape:
        case "pairs":
            few = seen.words < 3
            pieces: dict[str, Any] = {"kind": "characters"} if few else {"kind": "bpe", "size": _pieces(seen.examples)}
            return {"task": {"kind": "translate"}, "text": {"source": pieces, "shared": True}}
        case "text":
            small = seen.bytes < SMALL_TEXT
            pieces = {"kind": "characters"} if small else {"kind": "bpe", "size": _pieces(seen.examples)}
            return {"task": {"kind": "language"}, "text": {"source": pieces}}
        case "tags":
            return {"task": {"kind": "tag"}, "text": {"source": {"kind": "bpe", "size": 4000}}}
        case "classes":
            return {"task": {"kind": "classify"}, "text": {"source": {"kind": "bpe", "size": 4000}}}


def _pieces(examples: int) -> int:
    return 4000 if examples < 50_000 else 8000 if examples < 1_000_000 else 16_000
