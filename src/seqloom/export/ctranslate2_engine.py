"""Greedy writing with CTranslate2, on a CPU: the same answers as `generation/greedy.py`, by another program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch

from seqloom.export.ctranslate2_model import convert, positions
from seqloom.generation.contract import Item
from seqloom.generation.greedy import is_plain
from seqloom.models.encoder_decoder import EncoderDecoder

Compute = Literal["float32", "int8"]
BATCH = 64
"""Items that one thread writes together: with more it gains nothing, and short ones wait for long ones."""
FAULTS = (ImportError, OSError, RuntimeError, ValueError, TypeError, AttributeError)
"""What another version, another processor or a full disk may raise."""


class EngineFault(Exception):  # noqa: N818 (a fault of another program)
    """CTranslate2 does not work here; whoever asked has another engine."""


def installed() -> bool:
    return find_spec("ctranslate2") is not None


@dataclass(frozen=True)
class Marks:
    """Tokens that mean something. never: not written, however likely."""

    begin: int
    end: int
    unknown: int
    never: frozenset[int]


@dataclass(frozen=True)
class Line:
    """What was written to an item. log_prob: of all its tokens and the end mark; None where it was cut."""

    item: Item
    tokens: tuple[int, ...]
    log_prob: float | None

    @property
    def ended(self) -> bool:
        return self.log_prob is not None


@dataclass(frozen=True)
class Limits:
    """Tokens that a source and an answer may have, with their marks."""

    reads: int
    writes: int

    @classmethod
    def of(cls, network: EncoderDecoder) -> "Limits":
        return cls(*positions(network))

    def takes(self, item: Item) -> bool:
        """Whether it has no wishes, and fits."""
        return is_plain(item) and len(item.source) < self.reads and item.longest < self.writes


class Engine:
    """reverse: sources are read backwards, as the model was trained.

    The converted model lies in a temporary folder until it is read, so that nothing can be stale or another's.
    """

    def __init__(self, network: EncoderDecoder, marks: Marks, reverse: bool, kinds: Sequence[Compute]) -> None:
        self.marks, self.reverse = marks, reverse
        try:
            import ctranslate2

            self.version = str(ctranslate2.__version__)
            with TemporaryDirectory(prefix="seqloom-") as folder:
                path = Path(folder) / "model"
                convert(network, path, marks.begin, marks.end, marks.unknown)
                self._translators = {kind: _read(path, kind) for kind in kinds}
        except FAULTS as error:
            raise EngineFault(str(error)) from None

    def write(self, items: Sequence[Item], rows: int, kind: Compute) -> Iterator[list[Line]]:
        """To items that fit, some after the other. An item is left out, if it said what must not be written.

        rows: written together, in batches side by side. Those of like length share one: it is as long as its longest.
        """
        near = sorted(items, key=lambda item: len(item.source))
        for begin in range(0, len(near), rows):
            yield self._written(near[begin : begin + rows], kind)

    def _written(self, items: Sequence[Item], kind: Compute) -> list[Line]:
        sources = [reversed(item.source) if self.reverse else item.source for item in items]
        share = -(-len(items) // torch.get_num_threads())
        try:
            found = self._translators[kind].translate_batch(
                [[str(token) for token in (*source, self.marks.end)] for source in sources],
                max_batch_size=min(BATCH, share),
                beam_size=1,
                length_penalty=0,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max(item.longest for item in items) + 1,  # the end mark, if it is there
                return_scores=True,
                return_end_token=True,
            )
        except FAULTS as error:
            raise EngineFault(str(error)) from None
        pairs = zip(items, found, strict=True)
        lines = (self._line(item, [int(token) for token in one.hypotheses[0]], one.scores[0]) for item, one in pairs)
        return [line for line in lines if not self.marks.never.intersection(line.tokens)]

    def _line(self, item: Item, tokens: list[int], log_prob: float) -> Line:
        ends = tokens[-1:] == [self.marks.end] and len(tokens) - 1 <= item.longest
        kept = tuple(tokens[:-1] if ends else tokens[: item.longest])
        return Line(item, kept, log_prob if ends else None)


def _read(path: Path, kind: Compute) -> Any:
    """Each thread writes batches of its own: to share one took twice as long, with 256 sentences and two threads."""
    import ctranslate2

    threads = torch.get_num_threads()
    try:
        return ctranslate2.Translator(str(path), "cpu", compute_type=kind, inter_threads=threads, intra_threads=1)
    finally:
        torch.set_num_threads(threads)  # OpenMP is told its number here, too, which is torch's own OpenMP
