"""Pairs: read one sequence, write another."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.encoding import PairEncoder
from seqloom.data.ragged import Ragged
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.output import Output
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import sequence_loss
from seqloom.tasks.settings import Translate
from seqloom.tasks.task import Goals, Task
from seqloom.text import BEGIN, END, Vocabulary

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class TranslateTask(Task):
    shape = "pairs"
    columns = ("source", "target")
    scores = ("loss", "exact", "bleu", "chrf", "gleu")

    def __init__(self, settings: Translate, codecs: Codecs) -> None:
        assert isinstance(codecs.target, Vocabulary)
        self.settings, self.codecs, self.target = settings, codecs, codecs.target
        self.encoder = PairEncoder(codecs.vocabulary, codecs.target)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family == "encoder-only":
            return (
                "translate reads one sequence and writes another: it needs an encoder-decoder, or a decoder-only model "
                "that reads both as one text, not encoder-only"
            )
        return _no_tokens(model)

    def sizes(self) -> Sizes:
        return Sizes(len(self.codecs.source), len(self.target))

    def batch(self, examples: Examples) -> Batch:
        source, target = examples.columns["source"], examples.columns["target"]
        source = source.reversed() if self.settings.reverse else source
        return Batch(
            examples,
            source=Side.of(source.framed(after=[END])),
            target=Side.of(target.framed(before=[BEGIN])),
            goal=goals(target.framed(after=[END])),
            count=len(target.values_N) + len(target),
        )

    def answered(self, examples: Examples, answers: Ragged, ended_B: Bools, weight_B: Floats) -> Batch:
        """Other answers to the same sources, each to count so often as its weight says.

        ended_B: False: it was cut, so that nothing is said of its end mark.
        """
        # as in a validation: whatever is learnt, the goal is the answer alone
        batch = self.valid_batch(replace(examples, columns={**examples.columns, "target": answers}))
        lengths_B = answers.lengths_B + 1
        weight_N = np.repeat(weight_B, lengths_B)
        weight_N[(np.cumsum(lengths_B) - 1)[~ended_B]] = 0
        return replace(batch, count=0, weight_N=torch.from_numpy(weight_N.astype(np.float32)))

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, EncoderDecoder)

        def run(batch: Batch) -> Output:
            source, target = batch.source, batch.target
            assert source is not None
            assert target is not None
            return model(source.tokens_N, source.layout, target.tokens_N, target.layout)

        return sequence_loss(model, run, batch, goals)


def _no_tokens(model: ModelSettings) -> str | None:
    if model.input.kind != "tokens":
        return f"its input is text, and the model reads {model.input.kind}"
    if model.output.kind != "tokens":
        return f"its output is text, and the model writes {model.output.kind}"
    return None
