"""One class for the whole sequence."""

from typing import ClassVar

from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.encoding import ClassEncoder, Encoder
from seqloom.data.ragged import Ragged
from seqloom.data.reading import Shape
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import over_source, sequence_loss
from seqloom.tasks.settings import Classify
from seqloom.tasks.task import Goals, Task
from seqloom.text import END, Labels


class ClassifyTask(Task):
    shape: ClassVar[Shape] = "classes"
    columns = ("source", "target")
    scores = ("loss", "accuracy")

    def __init__(self, settings: Classify, codecs: Codecs) -> None:
        assert isinstance(codecs.target, Labels)
        self.settings, self.codecs, self.labels = settings, codecs, codecs.target
        self.encoder = self.build_encoder()

    def build_encoder(self) -> Encoder:
        return ClassEncoder(self.codecs.vocabulary, self.labels, self.settings.spelled)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "encoder-only":
            return f"classify reads a sequence and names its class: it needs an encoder-only model, not {model.family}"
        if model.input.kind not in ("tokens", "spelled", "images") or model.output.kind != "classes":
            return (
                f"it reads text and names a class, and the model reads {model.input.kind}, writes {model.output.kind}"
            )
        return None

    def sizes(self) -> Sizes:
        return Sizes(len(self.codecs.source), len(self.labels))

    def batch(self, examples: Examples) -> Batch:
        target = examples.columns["target"]
        count = int((target.values_N >= 0).sum())
        side, goal = self.side(examples.columns["source"]), goals(target)
        return Batch(examples, side, None, goal, count, steps_vary=self.settings.spelled)

    def side(self, rows: Ragged) -> Side:
        """What is read of each row: an end mark behind it, so that an empty text is a sequence too."""
        return Side.of(rows.framed(after=[END]))

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, EncoderOnly)
        return sequence_loss(model, over_source(model), batch, goals)
