"""Pieces of music, event by event: say what comes next."""
# N events of all rows  B rows

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from seqloom.data.cache import Examples
from seqloom.data.order import Reshape
from seqloom.data.ragged import Longs, Ragged, Values
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.settings import Music
from seqloom.text import BEGIN, END

PITCHES = 128


class MusicTask(LanguageTask):
    """A piece is a document. One that is longer than the context is cut into parts that overlap by one event, at other
    places in each epoch; in training each piece is transposed and stretched by chance, in each epoch otherwise.
    """

    settings: Music

    def __init__(self, settings: Music, codecs: Codecs) -> None:
        super().__init__(settings, codecs)

    @property
    def marks(self) -> int:
        return -1  # the last event of a part is a goal only

    @property
    def reshape(self) -> Reshape | None:
        return self.parts

    def parts(self, examples: Examples, draw: np.random.Generator | None) -> Examples:
        """With begin and end marks. draw: in training."""
        whole = examples.columns["target"].framed(before=[BEGIN], after=[END])
        context = self.settings.context
        begins, ends, row_P = list[int](), list[int](), list[int]()
        for row, (begin, end) in enumerate(zip(whole.starts[:-1].tolist(), whole.starts[1:].tolist(), strict=True)):
            long = end - begin > context + 1
            first = begin + (int(draw.integers(1, context + 1)) if draw is not None and long else context)
            edges = [begin, *range(first, end - 1, context)]
            begins += edges
            ends += [edge + 1 for edge in (*edges[1:], end - 1)]
            row_P += [row] * len(edges)
        first_P = np.array(begins, np.int64)
        lengths = np.array(ends, np.int64) - first_P
        at_N = np.arange(lengths.sum()) + np.repeat(first_P - (np.cumsum(lengths) - lengths), lengths)
        target = Ragged.of(whole.values_N[at_N], lengths)
        return Examples({"target": target}, examples.corpus_B[row_P], examples.line_B[row_P])

    def vary(self, examples: Examples, seeds: Sequence[int], longest: int | None) -> Examples:
        if not (self.settings.transpose or self.settings.stretch):
            return examples
        rows, varied = examples.columns["target"], []
        for row, seed in enumerate(seeds):
            draw = np.random.default_rng(seed)
            most = self.settings.transpose
            events = self._transposed(rows[row], int(draw.integers(-most, most + 1)))
            if self.settings.stretch:
                events = self._stretched(events, 1 + self.settings.stretch * draw.uniform(-1, 1))
            varied.append(events[: self.settings.context + 1])
        lengths = np.array([len(row) for row in varied], np.int64)
        return Examples({"target": Ragged.of(np.concatenate(varied), lengths)}, examples.corpus_B, examples.line_B)

    def batch(self, examples: Examples) -> Batch:
        rows = examples.columns["target"]
        given, goal = rows.without_last(), rows.without_first()
        return Batch(examples, None, Side.of(given), goals(goal), len(goal.values_N))

    @cached_property
    def _words(self) -> list[str]:
        return self.vocabulary.pieces(range(len(self.vocabulary)))

    @cached_property
    def _pitches(self) -> tuple[Longs, npt.NDArray[np.int64]]:
        """For each event, its pitch (−1: none); and for each event and pitch, the event at that pitch."""
        ids = {word: id for id, word in enumerate(self._words)}
        pitch_V, moved_VP = np.full(len(ids), -1), np.zeros((len(ids), PITCHES), np.int64)
        for word, id in ids.items():
            kind, _, digits = word.rpartition("-")
            if digits.isdecimal() and kind in ("", "on", "off"):
                pitch_V[id] = int(digits)
                moved_VP[id] = [ids[f"{kind}-{pitch}" if kind else str(pitch)] for pitch in range(PITCHES)]
        return pitch_V, moved_VP

    def _transposed(self, events_T: Values, semitones: int) -> Values:
        """As far as all pitches stay ones that there are. Drums have none."""
        pitch_V, moved_VP = self._pitches
        pitch_T = pitch_V[events_T]
        sounds = pitch_T >= 0
        if not sounds.any():
            return events_T
        semitones = int(np.clip(semitones, -pitch_T[sounds].min(), PITCHES - 1 - pitch_T[sounds].max()))
        moved_T = moved_VP[events_T, np.maximum(pitch_T + semitones, 0)]
        return np.where(sounds, moved_T, events_T).astype(events_T.dtype)

    @cached_property
    def _shifts(self) -> tuple[Longs, Longs]:
        """For each event, the steps of time that it takes; and the event of so many steps."""
        steps_V = np.array([int(word[6:]) if word.startswith("shift-") else 0 for word in self._words])
        shift_S = np.zeros(steps_V.max() + 1, np.int64)
        shift_S[steps_V] = np.arange(len(steps_V))
        return steps_V, shift_S

    def _stretched(self, events_T: Values, factor: float) -> Values:
        """All moments at another tempo, each put on the grid again, so that nothing drifts."""
        steps_V, shift_S = self._shifts
        longest = len(shift_S) - 1
        steps_T = steps_V[events_T]
        at = np.flatnonzero(steps_T == 0)
        time_E = np.append(np.cumsum(steps_T)[at], steps_T.sum())  # of each event, and where the part ends
        new_E = np.rint(time_E * factor).astype(np.int64)
        gap_E = new_E - np.append(0, new_E[:-1])
        whole_E, rest_E = np.divmod(gap_E, longest)
        events: list[int] = []
        for event, whole, rest in zip([*events_T[at].tolist(), None], whole_E.tolist(), rest_E.tolist(), strict=True):
            events += [int(shift_S[longest])] * whole + ([int(shift_S[rest])] if rest else [])
            events += [] if event is None else [event]
        return np.array(events, events_T.dtype)
