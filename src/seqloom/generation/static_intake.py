"""How items begin on static states: read by an encoder and put into their places, by heart too.

What comes is filled up to one of few shapes and travels as one row of numbers; all else is worked out on the device. To
ask for an encoder's hundred kernels one by one would take longer than to write several tokens to all of them.
"""
# B rows of an intake  N tokens of all rows  A items

from collections.abc import Sequence
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from seqloom.generation.beam_books import BeamBooks
from seqloom.generation.contract import Item, StaticScorer
from seqloom.generation.greedy_books import GreedyBooks
from seqloom.layers.mixer import State
from seqloom.layers.recording import NotRecordedError, Recording, Tape
from seqloom.layers.static_state import NotStaticError, Places, Rows, put

MOST = 24  # shapes that are kept; others are read as they come
FINE = 8  # parts of a power of two to which the number of tokens is filled up


@runtime_checkable
class FramedScorer(StaticScorer, Protocol):
    """One that can start items whose lengths only the device knows."""

    @property
    def framed(self) -> bool:
        """Whether this model can."""

    def read(self, item: Item) -> Sequence[int]:
        """The tokens that its encoder reads."""

    def start_framed(self, tokens_N: Tensor, lengths_B: Tensor, longest: int) -> State:
        """The state before the first token of each answer. Rows of no tokens, and tokens behind the last row, fill it
        up."""


class Intake:
    """spare: a place that nobody is written at; rows that only fill up are put there. source: of the longest."""

    def __init__(
        self,
        scorer: StaticScorer,
        tape: Tape,
        parts: tuple[Places, State, GreedyBooks | BeamBooks],
        fan: int,
        spare: int,
        source: int,
    ) -> None:
        self.scorer, self.tape, self.parts, self.fan, self.spare, self.source = scorer, tape, parts, fan, spare, source
        self.works = isinstance(scorer, FramedScorer) and scorer.framed
        self._shapes: dict[tuple[int, int], tuple[Tensor, Recording]] = {}

    def forget(self) -> None:
        """Recordings hold this, and this holds them: their memory would wait for the collector of garbage."""
        self._shapes.clear()

    def begin(self, places: Sequence[int], items: Sequence[Item]) -> bool:
        """These items take these places. False: nothing was done, as they have to be started otherwise."""
        if not self.works:
            return False
        assert isinstance(self.scorer, FramedScorer)
        sources = [self.scorer.read(item) for item in items]
        lengths = [len(source) for source in sources]
        shape = _rows(len(items)), _tokens(sum(lengths))
        if max(lengths) > self.source or (shape not in self._shapes and len(self._shapes) >= MOST):
            return False
        if shape not in self._shapes:
            there = torch.zeros(3 * shape[0] + shape[1], dtype=torch.int64, device=self.scorer.device)
            self._shapes[shape] = there, Recording(_Work(self, there, *shape), self.tape)
        there, recording = self._shapes[shape]
        there.copy_(
            self._numbers(shape, (lengths, places, [item.longest for item in items]), sources), non_blocking=True
        )
        try:
            recording.play()
        except (NotRecordedError, NotStaticError):
            if self.tape.broken:
                raise
            self.works = False
        return self.works

    def _numbers(
        self, shape: tuple[int, int], each: Sequence[Sequence[int]], sources: Sequence[Sequence[int]]
    ) -> Tensor:
        """each: lengths, places, the longest answers; behind them come all tokens."""
        (rows, tokens), count = shape, len(sources)
        numbers = torch.zeros(3 * rows + tokens, dtype=torch.int64, pin_memory=self.scorer.device.type == "cuda")
        here = numbers.numpy()
        here[rows : 2 * rows] = self.spare
        here[: 3 * rows].reshape(3, rows)[:, :count] = each
        flat = np.fromiter(chain.from_iterable(sources), np.int64)
        here[3 * rows : 3 * rows + len(flat)] = flat
        return numbers


class _Work:
    """All of it on the device, from numbers that lie there."""

    def __init__(self, intake: Intake, there: Tensor, rows: int, tokens: int) -> None:
        self.intake, self.sizes, self.there = intake, [rows] * 3 + [tokens], there

    @torch.inference_mode()
    def __call__(self) -> None:
        intake, scorer = self.intake, self.intake.scorer
        assert isinstance(scorer, FramedScorer)
        lengths_B, items_B, longest_B, tokens_N = self.there.split(self.sizes)
        state = scorer.start_framed(tokens_N, lengths_B, intake.source)
        rows, (places, static, books) = Rows(items_B, intake.fan), intake.parts
        places.begin(rows)
        put(static, rows, state)
        books.begin(items_B, longest_B, torch.full_like(items_B, scorer.begin))
        books.done_A[intake.spare :].fill_(True)


def _rows(number: int) -> int:
    return 1 << max(number - 1, 15).bit_length()


def _tokens(number: int) -> int:
    """Up to one of few numbers, which 16 divides."""
    step = max(16, (1 << (number - 1).bit_length()) // 2 // FINE)
    return -(-number // step) * step
