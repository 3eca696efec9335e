"""Pairs for a decoder-only model: source, separator and target as one text (Liu et al. 2018, section 4.2.3)."""
# M places whose next token is a goal

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.ragged import Longs, Ragged
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.output import Output
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import sequence_loss
from seqloom.tasks.settings import Translate
from seqloom.tasks.task import Goals
from seqloom.tasks.translate import TranslateTask
from seqloom.text import END, SEPARATOR


class JoinedTask(TranslateTask):
    """One vocabulary for both sides. The end mark is a goal only, so a row has one token more than its two sides."""

    joined = True

    def __init__(self, settings: Translate, codecs: Codecs) -> None:
        super().__init__(settings, codecs)
        if codecs.target is not codecs.source:
            raise ValueError("source and target are one text here, so they need one vocabulary: text.shared")

    def sizes(self) -> Sizes:
        return Sizes(len(self.target), len(self.target))

    def batch(self, examples: Examples) -> Batch:
        return self._batch(examples, self.settings.learn)

    def valid_batch(self, examples: Examples) -> Batch:
        """Of the target alone, so that its loss can be compared with an encoder-decoder's."""
        return self._batch(examples, "target")

    def _batch(self, examples: Examples, learn: Literal["target", "all"]) -> Batch:
        source, target = examples.columns["source"], examples.columns["target"]
        source = source.reversed() if self.settings.reverse else source
        whole = side_by_side(source.framed(after=[SEPARATOR]), target.framed(after=[END]))
        given, after = whole.without_last(), whole.without_first()
        asked_M = None
        if learn == "target":
            asked_M = _ends(given.starts, target.lengths_B + 1)
            after = Ragged.of(after.values_N[asked_M], target.lengths_B + 1)
        return Batch(
            examples,
            source=None,
            target=Side.of(given),
            goal=goals(after),
            count=len(after.values_N),
            asked_M=None if asked_M is None else torch.from_numpy(asked_M),
        )

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, DecoderOnly)

        def run(batch: Batch) -> Output:
            target = batch.target
            assert target is not None
            return model(target.tokens_N, target.layout).at(batch.asked_M)

        return sequence_loss(model, run, batch, goals)


def side_by_side(left: Ragged, right: Ragged) -> Ragged:
    """Each row of the one with the same row of the other behind it."""
    both = Ragged.join([left, right])
    order = np.arange(2 * len(left)).reshape(2, -1).T.flatten()
    return Ragged(both.take(order).values_N, np.concatenate(([0], np.cumsum(left.lengths_B + right.lengths_B))))


def _ends(starts: Longs, lengths_B: Longs) -> Longs:
    """The places of the last so many values of each row."""
    before_B = np.cumsum(lengths_B) - lengths_B
    return np.arange(int(lengths_B.sum())) + np.repeat(starts[1:] - lengths_B - before_B, lengths_B)
