"""One class for a whole series of readings: a motion, a sound, a picture pixel by pixel."""

from collections.abc import Sequence
from dataclasses import replace

from seqloom.data.cache import Examples
from seqloom.data.encoding import Encoder, SeriesEncoder
from seqloom.data.ragged import Ragged
from seqloom.data.readings import Readings
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Side
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.settings import Vary
from seqloom.tasks.varied import varied


class ClassifySeriesTask(ClassifyTask):
    shape = "series"

    def build_encoder(self) -> Encoder:
        assert isinstance(self.codecs.source, Readings)
        return SeriesEncoder(self.codecs.source, self.labels)

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "encoder-only":
            return f"classify reads a sequence and names its class: it needs an encoder-only model, not {model.family}"
        if model.input.kind in ("tokens", "spelled") or model.output.kind != "classes":
            return (
                "with task.reads = 'series' it reads numbers (input = { kind = 'vectors' }, patches or images) and "
                f"names a class, and the model reads {model.input.kind}, writes {model.output.kind}"
            )
        return None

    def vary(self, examples: Examples, seeds: Sequence[int], longest: int | None) -> Examples:
        vary = self.settings.vary
        if vary == Vary():
            return examples
        assert isinstance(self.codecs.source, Readings)
        source = varied(examples.columns["source"], vary, self.codecs.source, seeds, longest)
        return replace(examples, columns={**examples.columns, "source": source})

    @property
    def marks(self) -> int:
        return 0

    def side(self, rows: Ragged) -> Side:
        return Side.of(rows)
