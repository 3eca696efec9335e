"""Running text: say what comes next."""

import numpy as np
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.encoding import LineEncoder
from seqloom.data.order import Reshape
from seqloom.data.streams import Streams, cut_out
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.output import Output
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import sequence_loss
from seqloom.tasks.settings import Language, Music
from seqloom.tasks.task import Goals, Task
from seqloom.text import BEGIN, END


class LanguageTask(Task):
    shape = "text"
    columns = ("target",)
    scores = ("loss", "perplexity")
    encoder: LineEncoder
    settings: Language | Music

    def __init__(self, settings: Language | Music, codecs: Codecs) -> None:
        self.settings, self.codecs = settings, codecs
        self.vocabulary = codecs.vocabulary
        # of running text a row is a line too, its end included; `reshape` joins them again
        running = isinstance(settings, Language) and settings.lines == "text"
        self.encoder = LineEncoder(codecs.vocabulary, running=running)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "decoder-only":
            return (
                f"language says what comes next, from left to right: it needs a decoder-only model, not {model.family}"
            )
        if model.input.kind != "tokens" or model.output.kind != "tokens":
            return f"its input and output are text, and the model reads {model.input.kind}, writes {model.output.kind}"
        return None

    @property
    def marks(self) -> int:
        return -1 if self.encoder.running else 1  # a window's last token is a goal only

    def sizes(self) -> Sizes:
        return Sizes(len(self.vocabulary), len(self.vocabulary))

    @property
    def reshape(self) -> Reshape | None:
        """Documents are no longer than the context already: longer ones were left out or cut when they were read."""
        return self.windows if self.encoder.running else None

    @property
    def streams(self) -> Streams | None:
        return Streams(self.settings.context) if isinstance(self.settings, Language) and self.settings.carry else None

    def windows(self, examples: Examples, draw: np.random.Generator | None) -> Examples:
        """Windows of context + 1 tokens that overlap by one, at another offset in each epoch. draw: in training."""
        context = self.settings.context
        rows = examples.columns["target"]
        if len(rows.values_N) < 2:
            return examples.take(np.arange(0))
        first = context if draw is None else int(draw.integers(1, context + 1))
        stops = np.arange(first, len(rows.values_N) - 1, context)
        begins = np.concatenate(([0], stops))
        ends = np.concatenate((stops + 1, [len(rows.values_N)]))
        windows = cut_out(rows, begins, ends)
        line = np.searchsorted(rows.starts, begins, side="right") - 1
        return Examples({"target": windows}, examples.corpus_B[line], examples.line_B[line])

    def batch(self, examples: Examples) -> Batch:
        rows = examples.columns["target"]
        if not self.encoder.running:
            given, goal = rows.framed(before=[BEGIN]), rows.framed(after=[END])
        else:
            given, goal = rows.without_last(), rows.without_first()
        return Batch(examples, None, Side.of(given), goals(goal), len(goal.values_N), goes_on=examples.goes_on)

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, DecoderOnly)

        def run(batch: Batch) -> Output:
            target = batch.target
            assert target is not None
            if batch.carried is not None:
                return batch.carried.read(model, target.tokens_N, target.layout, batch.goes_on)
            return model(target.tokens_N, target.layout)

        return sequence_loss(model, run, batch, goals)
