"""One tag for each word."""

import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.encoding import TagEncoder
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch, Side, goals
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import over_source, sequence_loss
from seqloom.tasks.settings import Tag
from seqloom.tasks.task import Goals, Task
from seqloom.text import Labels
from seqloom.text.labels import UNSEEN


class TagTask(Task):
    """The tag of a word that is several pieces stands at its first piece; the others do not count.

    Of spelled words the model makes one step of each, and the goal has as many.
    """

    encoder: TagEncoder

    shape = "tags"
    columns = ("source", "target")
    scores = ("loss", "accuracy", "exact", "span-f1")

    def __init__(self, settings: Tag, codecs: Codecs) -> None:
        assert isinstance(codecs.target, Labels)
        self.settings, self.codecs, self.labels = settings, codecs, codecs.target
        self.encoder = TagEncoder(codecs.vocabulary, codecs.target, settings.spelled)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "encoder-only":
            return f"tag gives each word a tag: it needs an encoder-only model, not {model.family}"
        if model.input.kind not in ("tokens", "spelled") or model.output.kind != "tags":
            return f"it reads text and writes tags, and the model reads {model.input.kind}, writes {model.output.kind}"
        return None

    @property
    def marks(self) -> int:
        return 0

    def sizes(self) -> Sizes:
        return Sizes(len(self.codecs.source), len(self.labels))

    def batch(self, examples: Examples) -> Batch:
        source, target = examples.columns["source"], examples.columns["target"]
        count, goal = int((target.values_N >= 0).sum()), goals(target).clamp(min=UNSEEN)
        if self.settings.spelled:
            goal = goal[torch.from_numpy(source.values_N < len(self.codecs.source))]
        return Batch(examples, Side.of(source), None, goal, count, steps_vary=self.settings.spelled)

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert isinstance(model, EncoderOnly)
        return sequence_loss(model, over_source(model), batch, goals)
