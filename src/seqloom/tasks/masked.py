"""Text with gaps: say what stands in them, and perhaps whether one segment follows another (Devlin et al. 2019)."""
# N tokens of all rows  M masked tokens  B rows

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.encoding import SentenceEncoder
from seqloom.data.order import Reshape
from seqloom.data.ragged import Longs, Ragged
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.output import Output
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import sequence_loss
from seqloom.tasks.recut import seeds_of
from seqloom.tasks.sentence_pairs import documents, joined, pairs
from seqloom.tasks.settings import Masked
from seqloom.tasks.task import Goals, Task
from seqloom.text import BEGIN, MASK, SEPARATOR, SPECIALS
from seqloom.text.labels import NONE

FIXED = 0
"""The seed of a validation's masks and pairs, which are the same every time."""


class MaskedTask(Task):
    """Lines are sentences; an empty line ends a document. A row is: begin, segment, separator, segment, separator.

    Each epoch makes other pairs of segments and other masks, a function of the seed, the epoch and the place.
    """

    shape = "text"
    columns = ("target",)
    scores = ("loss", "accuracy", "follows")

    def __init__(self, settings: Masked, codecs: Codecs) -> None:
        self.settings, self.codecs, self.vocabulary = settings, codecs, codecs.vocabulary
        self.encoder = SentenceEncoder(codecs.vocabulary)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "encoder-only":
            what = f"masked reads both sides of a gap: it needs an encoder-only model, not {model.family}"
            return f"{what}; set model.family = 'encoder-only', or take a recipe such as bert-small"
        if model.input.kind != "tokens" or model.output.kind != "tokens":
            return f"its input and output are text, and the model reads {model.input.kind}, writes {model.output.kind}"
        return None

    @property
    def marks(self) -> int:
        return 2

    def sizes(self) -> Sizes:
        return Sizes(len(self.vocabulary), len(self.vocabulary))

    @property
    def reshape(self) -> Reshape | None:
        return self.segments

    def segments(self, examples: Examples, draw: np.random.Generator | None) -> Examples:
        """Pairs of segments, or single ones; `target` says whether the second follows. draw: in training."""
        draw = np.random.default_rng(FIXED) if draw is None else draw
        rows = self._pieces(examples)
        made, line_B = _sentences_only(*rows)
        room = self.settings.context - self.marks
        if not len(made.values_N):
            nothing = Ragged.of(made.values_N[:0], np.zeros(0, np.int64))
            return Examples({"source": nothing, "target": nothing}, examples.corpus_B[:0], examples.line_B[:0])
        if self.settings.follows:
            found = list(pairs(made, room - 1, draw))
            source, first_B = joined(made, found), np.array([pair.sentence for pair in found])
            follows_B = np.array([pair.follows for pair in found])
        else:
            source, first_B = _windows(made, room, draw)
            follows_B = np.ones(len(source), bool)
        target = Ragged.of(follows_B.astype(made.values_N.dtype), np.ones(len(source), np.int64))
        return Examples(
            {"source": source, "target": target}, examples.corpus_B[line_B[first_B]], examples.line_B[line_B[first_B]]
        )

    def _pieces(self, examples: Examples) -> tuple[Ragged, Longs]:
        """Sentences, of which one that is too long for an example is several; and where each comes from."""
        rows, most = examples.columns["target"], max(1, self.settings.context - self.marks - 1)
        parts_B = np.maximum(1, -(-rows.lengths_B // most))
        row_P = np.repeat(np.arange(len(rows)), parts_B)
        number_P = np.arange(len(row_P)) - np.repeat(np.cumsum(parts_B) - parts_B, parts_B)
        return Ragged.of(rows.values_N, np.minimum(most, rows.lengths_B[row_P] - number_P * most)), row_P

    def vary(self, examples: Examples, seeds: Sequence[int], longest: int | None) -> Examples:
        """With marks, and some tokens replaced: `given` is what is read, `asked` is 1 where a token is asked for."""
        whole = examples.columns["source"].framed(before=[BEGIN], after=[SEPARATOR])
        given, asked = whole.values_N.copy(), np.zeros(len(whole.values_N), np.uint8)
        for row, seed in enumerate(seeds):
            here = slice(whole.starts[row], whole.starts[row + 1])
            self._mask(given[here], asked[here], np.random.default_rng(seed))
        columns = {
            "source": whole,
            "target": examples.columns["target"],
            "given": Ragged(given, whole.starts),
            "asked": Ragged(asked, whole.starts),
        }
        return Examples(columns, examples.corpus_B, examples.line_B)

    def _mask(self, given_T: np.ndarray, asked_T: np.ndarray, draw: np.random.Generator) -> None:
        """In place. At least one token is asked for, where there is any."""
        places = np.flatnonzero((given_T != BEGIN) & (given_T != SEPARATOR))
        count = min(len(places), max(1, round(self.settings.share * len(places))))
        chosen = draw.choice(places, count, replace=False)
        asked_T[chosen] = 1
        chance = draw.random(count)
        masked, other = self.settings.masked, self.settings.masked + self.settings.random
        given_T[chosen[chance < masked]] = MASK
        strange = chosen[(chance >= masked) & (chance < other)]
        if len(self.vocabulary) > len(SPECIALS):
            given_T[strange] = draw.integers(len(SPECIALS), len(self.vocabulary), len(strange))

    def batch(self, examples: Examples) -> Batch:
        if "given" not in examples.columns:
            examples = self.vary(examples, seeds_of(examples, FIXED, 0), None)
        whole, given, asked = (examples.columns[name] for name in ("source", "given", "asked"))
        asked_M = np.flatnonzero(asked.values_N)
        goal = Ragged.of(whole.values_N[asked_M], np.array([len(asked_M)]))
        side = replace(Side.of(given), segments_N=torch.from_numpy(segments_of(whole)))
        return Batch(
            examples,
            source=side,
            target=None,
            goal=goals(goal),
            count=len(asked_M),
            asked_M=torch.from_numpy(asked_M),
            follows_B=goals(examples.columns["target"]) if self.settings.follows else None,
        )

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        """The masked tokens', and for each of them the mean of the rows' for what follows: the sum of two means."""
        assert isinstance(model, EncoderOnly)
        follows: list[Tensor] = []

        def run(batch: Batch) -> Output:
            output = read(model, batch)
            if batch.follows_B is not None:
                follows.append(model.follow_scores(output).float())
            return output.at(batch.asked_M)

        loss = sequence_loss(model, run, batch, goals)
        if batch.follows_B is None:
            return loss
        scores_B, goal_B = torch.cat(follows), batch.follows_B
        goal_B = goal_B.repeat(len(scores_B) // max(1, len(goal_B)))  # where two passes are to agree, rows stand twice
        return loss + F.cross_entropy(scores_B, goal_B, ignore_index=NONE) * batch.counted


def read(model: EncoderOnly, batch: Batch) -> Output:
    source = batch.source
    assert source is not None
    return model(source.tokens_N, source.layout, source.segments_N if model.segmented else None)


def segments_of(rows: Ragged) -> Longs:
    """0 up to the first separator of a row, itself included, and 1 behind it."""
    ended_N = np.cumsum(rows.values_N == SEPARATOR) - (rows.values_N == SEPARATOR)
    before_B = ended_N[np.minimum(rows.starts[:-1], max(len(ended_N) - 1, 0))] if len(ended_N) else ended_N
    return np.minimum(1, ended_N - np.repeat(before_B, rows.lengths_B)).astype(np.int64)


def _sentences_only(rows: Ragged, row_P: Longs) -> tuple[Ragged, Longs]:
    """Without empty rows, of which there are none in a cache; the ends of documents stay."""
    kept = np.flatnonzero(rows.lengths_B)
    return rows.take(kept), row_P[kept]


def _windows(rows: Ragged, room: int, draw: np.random.Generator) -> tuple[Ragged, Longs]:
    """Stretches of documents, of which the first begins somewhere else each time."""
    begins, ends = list[int](), list[int]()
    for document in documents(rows):
        begin, end = int(rows.starts[document.start]), int(rows.starts[document.stop])
        first = begin + int(draw.integers(1, room + 1))
        edges = [begin, *range(first, end, room), end]
        begins += edges[:-1]
        ends += edges[1:]
    lengths = np.array(ends) - np.array(begins)
    values = np.concatenate([rows.values_N[begin:end] for begin, end in zip(begins, ends, strict=True)])
    return Ragged.of(values, lengths), np.searchsorted(rows.starts, np.array(begins), side="right") - 1
