"""A recipe: one system in one file, with all that a run of it needs."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from seqloom.data.readings import ReadingsSettings
from seqloom.data.settings import DataSettings
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.recipes.published import Published
from seqloom.layers.bottleneck_convolution import BottleneckConvolution
from seqloom.layers.convolution import Convolution
from seqloom.layers.embedding import Patches, Spelled, Tokens, positions_of
from seqloom.layers.gated_linear import GatedLinear
from seqloom.layers.images import Images
from seqloom.layers.positions import Learned, NoPositions
from seqloom.layers.recurrence import Recurrence
from seqloom.models.head_settings import HorizonOutput, TokensOutput
from seqloom.models.settings import ModelSettings
from seqloom.settings import Checked, Conflicts
from seqloom.tasks import Classify, Forecast, Language, Masked, Music, Tag, TaskSettings, Translate, task_class
from seqloom.text import BPE, TextSettings, Words
from seqloom.training.settings import TrainingSettings

CONSTANT = Recurrence | Convolution | BottleneckConvolution | GatedLinear
"""Mixers whose states do not grow with the text."""


class Recipe(Checked):
    """What a recipe file may hold."""

    source: str = Field(default="", description="where the system was published")
    task: TaskSettings = Translate()
    text: TextSettings = TextSettings()
    readings: ReadingsSettings = ReadingsSettings()
    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    generation: GenerationSettings = GenerationSettings()
    target: Published = Field(default=Published(), description="what was published: shown beside what is measured")

    @property
    def longest_seen(self) -> int:
        """Tokens that a side of an example has at most in training."""
        if isinstance(self.task, Music) or (isinstance(self.task, Language) and self.task.lines == "text"):
            return self.task.context
        return self.data.longest

    def _conflicts(self) -> Conflicts:
        why = task_class(self.task).refuses(self.model)
        if why is not None:
            yield ("model", "family"), why
        if self.training.best not in task_class(self.task).scores:
            known = ", ".join(task_class(self.task).scores)
            yield ("training", "best"), f"{self.task.kind} has no score '{self.training.best}'; it has {known}"
        if self.training.reward is not None and not isinstance(self.task, Translate):
            yield ("training", "reward"), f"answers are drawn and scored, and {self.task.kind} writes none; remove it"
        yield from self._masked_faults()
        yield from self._running_faults()
        yield from self._joined_faults()
        yield from self._picture_faults()
        if isinstance(self.task, Music) and not self._every_word:
            yield (
                ("text", "source"),
                "events are words, of which none may be unknown: source = { kind = 'words' }, without size and least",
            )
        if isinstance(self.task, Forecast):
            yield from self._series_faults(self.task)
        yield from self._spelled_faults()
        yield from self._vector_faults()
        if self.data.longest_source is not None and task_class(self.task).columns == ("target",):
            yield ("data", "longest_source"), f"{self.task.kind} has no source; set data.longest"
        two = task_class(self.task).shape == "pairs" and not self.text.shared
        if two and self.model.tie in ("inputs", "all"):
            yield ("model", "tie"), f"tie = '{self.model.tie}' needs one vocabulary for both sides: text.shared = true"

    def _running_faults(self) -> Conflicts:
        running = isinstance(self.task, Language) and self.task.lines == "text"
        whole = running or isinstance(self.task, Tag | Masked)
        if whole and isinstance(self.text.source, BPE) and self.text.source.dropout:
            what = "tagged words" if isinstance(self.task, Tag) else "running text"
            yield ("text", "source", "dropout"), f"{what} cannot be cut anew in each epoch; set dropout = 0"
        if isinstance(self.task, Language) and self.task.carry:
            yield from self._carry_faults()
        if running or isinstance(self.task, Masked | Music):
            assert isinstance(self.task, Language | Masked | Music)
            for length in learned_positions(self.model):
                if self.task.context > length:
                    yield ("task", "context"), f"{self.task.context} tokens, but the model's positions end at {length}"

    def _carry_faults(self) -> Conflicts:
        """What has to remember a text without an end."""
        decoder = self.model.side("decoder")
        endless = next((mixer for mixer in decoder.mixers() if not isinstance(mixer, CONSTANT)), None)
        if endless is not None:
            yield (
                ("task", "carry"),
                f"{endless.kind} would remember the whole text; carry is for recurrence, convolution and gated-linear",
            )
        if not isinstance(decoder.positions, NoPositions):
            yield ("task", "carry"), "positions are counted from the text's beginning then; set positions to none"
        if any(corpus.weight != 1 for corpus in self.data.corpora):
            yield ("data", "corpora"), "a text that is read from its beginning to its end has no weight; leave it out"
        if self.training.r_drop:
            yield ("training", "r_drop"), "reads each window twice, and only one state can be carried on; set it to 0"

    def _masked_faults(self) -> Conflicts:
        says = isinstance(self.model.output, TokensOutput) and self.model.output.follows
        if says and not (isinstance(self.task, Masked) and self.task.follows):
            yield ("model", "output", "follows"), "only the task masked, with follows = true, asks what follows"
        if isinstance(self.task, Masked) and not self.task.follows and self.training.best == "follows":
            yield ("training", "best"), "the task does not ask what follows; set task.follows = true, or another score"
        if isinstance(self.task, Masked) and self.task.follows and not says:
            yield ("task", "follows"), "the model says nothing of it; set model.output.follows = true, or this to false"

    def _series_faults(self, task: Forecast) -> Conflicts:
        steps = task.look_back + (task.horizon if task.known or task.calendar else 0)
        for length in learned_positions(self.model):
            if steps > length:
                need = positions_of(self.model.input, steps)
                yield ("model", "positions", "length"), f"{steps} steps are read, which are {need} positions; set it so"
        for name in ("smoothing", "r_drop"):
            if getattr(self.training, name):
                yield ("training", name), "is of labels and tokens, and a forecast is numbers; set it to 0"
        quantiles = isinstance(self.model.output, HorizonOutput) and self.model.output.quantiles
        if self.training.best == "crps" and not quantiles:
            yield ("training", "best"), "crps is of quantiles; name some: model.output.quantiles = [0.1, 0.5, 0.9]"

    def _spelled_faults(self) -> Conflicts:
        """Of words with their letters."""
        asks = isinstance(self.task, Tag | Classify) and self.task.spelled
        reads = isinstance(self.model.input, Spelled)
        if asks and not reads:
            yield ("task", "spelled"), "the model reads no letters; set model.input.kind = 'spelled', or this to false"
        if reads and not asks:
            yield (
                ("model", "input", "kind"),
                "letters are of words that are tagged, or of texts that are classified: set task.spelled = true",
            )
        if asks and not isinstance(self.text.source, Words):
            yield ("text", "source"), "letters are of whole words: source = { kind = 'words' }"

    def _vector_faults(self) -> Conflicts:
        """Of the words of a file of vectors."""
        read, text = self.model.input, self.text.source
        if not isinstance(read, Tokens) or not read.all_words:
            return
        if read.vectors is None:
            yield ("model", "input", "all_words"), "there is no file whose words they are; name it: model.input.vectors"
        if not isinstance(text, Words) or text.least > 1 or text.size is not None:
            yield (
                ("text", "source"),
                "the file's words are whole ones: source = { kind = 'words' }, without size and least",
            )

    @property
    def _every_word(self) -> bool:
        text = self.text.source
        return isinstance(text, Words) and text.split == "spaces" and text.size is None and text.least == 1

    def _picture_faults(self) -> Conflicts:
        if isinstance(self.model.input, Images) and not self._every_word and task_class(self.task).shape != "series":
            yield (
                ("text", "source"),
                "a picture's pixels are numbers with spaces between them, of which none may be unknown: "
                "source = { kind = 'words' }, without size and least",
            )

    def _joined_faults(self) -> Conflicts:
        """Of a source and a target that are one text."""
        if not joins(self):
            if isinstance(self.task, Translate) and self.task.learn == "all":
                yield (
                    ("task", "learn"),
                    f"'all' is of decoder-only models; a model of {self.model.family} says no source",
                )
            return
        if not self.text.shared:
            yield (
                ("text", "shared"),
                "a decoder-only model reads source and target as one text: it needs one vocabulary, shared = true",
            )
        needed = (self.data.longest_source or self.data.longest) + self.data.longest + 1
        for length in learned_positions(self.model):
            if needed > length:
                yield (
                    ("model", "positions", "length"),
                    f"source, separator and target may have {needed} tokens together, but the model's positions end at "
                    f"{length}; set data.longest and data.longest_source lower",
                )


def joins(recipe: Recipe) -> bool:
    """Whether source and target are one text to the model."""
    return isinstance(recipe.task, Translate) and recipe.model.family == "decoder-only"


def learned_positions(
    model: ModelSettings, *sides: Literal["encoder", "decoder"], series: bool = False
) -> Iterator[int]:
    """How many tokens the positions of each stack are enough for, where they are learned. sides: of these only.

    series: what is read are readings, not tokens.
    """
    for name in sides or ("encoder", "decoder"):
        positions = model.side(name).positions
        if name in model.family and isinstance(positions, Learned):
            if name == "encoder" and isinstance(model.input, Images):
                yield model.input.most_pixels(positions.length) if series else model.input.longest(positions.length)
            elif name == "encoder" and isinstance(model.input, Patches):
                yield positions.length * model.input.every
            else:
                yield positions.length
