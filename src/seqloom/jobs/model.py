"""A trained model, ready to be asked: `seqloom.load`."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import torch

from seqloom.data.readings import Floats, Readings
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.scorer import looks
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Question, Scored, Wanted, longest_fault
from seqloom.jobs.answering.answerer import answerer_of
from seqloom.jobs.answering.filling import Filler
from seqloom.jobs.answering.forecasting import Forecast, Forecaster, read_asked
from seqloom.jobs.answering.generation import ARGUMENTS, generation_of
from seqloom.jobs.answering.labelling import Labeller
from seqloom.jobs.answering.node_labeller import NodeLabeller
from seqloom.jobs.answering.represented import Represented
from seqloom.jobs.answering.representing import Layer, Representer
from seqloom.jobs.answering.streaming import Streamed
from seqloom.jobs.answering.together import refuse_strangers
from seqloom.jobs.answering.writing import Prepared, Writer
from seqloom.jobs.arguments import pairs_of, refuse_arguments, series_of_arguments, texts_of
from seqloom.jobs.opened import Opened, open_run
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.settings import UserError
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.nodes import NodesTask
from seqloom.text import Vocabulary

if TYPE_CHECKING:  # they know this file
    from seqloom.inspect.changes import Change
    from seqloom.jobs.looking.looked import Looked

Run = str | PathLike[str]
Text = str | Question | Floats


def load(run: Run | Sequence[Run], device: str = "auto") -> "Model":
    """A run's model; the data it learnt from is not needed. Of a list of runs, one model that asks them all.

    A file that is missing or damaged raises seqloom.settings.UserError.
    """
    runs = [run] if isinstance(run, str | PathLike) else list(run)
    if isinstance(device, PathLike) or (not _is_device(device) and Path(device).is_dir()):
        named = ", ".join(repr(str(one)) for one in [*runs, device])
        raise UserError(f"{device}: is no device, but a folder; several runs are a list: load([{named}])")
    if not runs:
        raise UserError("no run is named; load takes the folder of one, such as runs/demo-dates")
    return Model([open_run(Path(one), device) for one in runs])


def _is_device(name: str) -> bool:
    try:
        return name == "auto" or bool(torch.device(name))
    except RuntimeError:
        return False


class Wishes(TypedDict, total=False):
    """What `predict` takes besides; it says there what each means."""

    beam: int | None
    sample: bool
    changes: Sequence[str]
    prefix: str
    must: Sequence[str]
    must_not: Sequence[str]
    attention: bool


class Model:
    """Answers texts and scores them. Of what task it is, and how it writes by default, its run says."""

    def __init__(self, opened: Sequence[Opened]) -> None:
        self.opened = tuple(opened)
        first = self.opened[0]
        refuse_strangers(self.opened)
        self.recipe, self.task, self.device = first.recipe, first.task, first.device
        self.networks = [one.network for one in opened]
        self._answerer = answerer_of(self.opened)

    def __repr__(self) -> str:
        runs = ", ".join(str(one.run.path) for one in self.opened)
        return f"Model({runs}: {self.recipe.task.kind}, {self.device.type})"

    @property
    def labels(self) -> bool:
        """Whether its answers are labels, not written texts."""
        return isinstance(self._answerer, Labeller | NodeLabeller)

    def forecaster(self, name: str) -> Forecaster:
        """name: of the run, for the message to who asks another task's model."""
        if not isinstance(self._answerer, Forecaster):
            raise UserError(f"{name}: does {self.recipe.task.kind}, and forecasts no series")
        return self._answerer

    def forecast(self, file: Run) -> list[Forecast]:
        """What comes after the end of each series of a file, which is read as training's was; in its own units."""
        forecaster = self.forecaster(str(self.opened[0].run.path))
        table, _ = read_asked(forecaster.task, str(file), str(self.opened[0].run.path))
        return list(forecaster.after(table))

    @property
    def reads_series(self) -> bool:
        """Whether it is asked with readings, not with texts."""
        return self.task.shape == "series"

    @property
    def aligns(self) -> bool:
        """Whether it looks at a source while it writes, so that its answers can be aligned with it."""
        return all(isinstance(network, EncoderDecoder) and bool(looks(network)) for network in self.networks)

    @property
    def writer(self) -> Writer | None:
        """What writes its answers token by token; None: they are labels, numbers, or fill gaps."""
        return self._answerer if isinstance(self._answerer, Writer) else None

    @property
    def labeller(self) -> Labeller | None:
        """What names its labels; None: its answers are none."""
        return self._answerer if isinstance(self._answerer, Labeller) else None

    @property
    def filler(self) -> Filler | None:
        """What fills the gaps of a text; None: it fills none."""
        return self._answerer if isinstance(self._answerer, Filler) else None

    @property
    def node_labeller(self) -> NodeLabeller | None:
        """What labels the nodes of a graph; None: it has none."""
        return self._answerer if isinstance(self._answerer, NodeLabeller) else None

    @overload
    def predict(  # type: ignore[overload-overlap]  # a text is a sequence of texts too, to the type checker
        self, texts: Text, *, n_best: None = None, **wishes: Unpack[Wishes]
    ) -> Answer: ...
    @overload
    def predict(  # type: ignore[overload-overlap]
        self, texts: Text, *, n_best: int, **wishes: Unpack[Wishes]
    ) -> list[Answer]: ...
    @overload
    def predict(self, texts: Iterable[Text], *, n_best: None = None, **wishes: Unpack[Wishes]) -> list[Answer]: ...
    @overload
    def predict(self, texts: Iterable[Text], *, n_best: int, **wishes: Unpack[Wishes]) -> list[list[Answer]]: ...

    def predict(
        self,
        texts: Text | Iterable[Text],
        *,
        n_best: int | None = None,
        beam: int | None = None,
        sample: bool = False,
        changes: Sequence[str] = (),
        prefix: str = "",
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
        attention: bool = False,
        **other: Any,
    ) -> Answer | list[Answer] | list[list[Answer]]:
        """The answer to a text; to several, as many in their order. n_best: instead of each answer a list of some.

        A model of series takes an array, values_TC, or a list of arrays; of pictures, values_RCC, or a list of them.

        changes    settings of [generation]: ["generation.longest=100"]
        prefix     every answer begins with it; end it behind a word, as it is cut into pieces as if it were whole.
                   For one answer of several, ask Question(text, prefix="…")
        must       phrases that every answer holds
        must_not   phrases that no answer holds
        attention  answers also say where the model looked, and which words belong together
        """
        refuse_arguments(("n_best", *Wishes.__annotations__), other)
        settings = generation_of(self.opened[0], changes, beam, 1 if n_best is None else n_best, sample, ARGUMENTS)
        wished = Question("", prefix, _phrases(must), _phrases(must_not))
        plain, one = self._questions(texts, wished)
        self.look_over(plain)
        asked = []
        for number, question in enumerate(plain):
            try:
                asked.append(self.prepare(question, number, settings))
            except UserError as error:
                raise UserError(f"text {number + 1}: {error}") from None
        said = dict(self.answer(asked, settings, attention))
        each = [said[number] for number in range(len(plain))]
        if n_best is None:
            best = [answers[0] for answers in each]
            return best[0] if one else best
        return each[0] if one else each

    def _questions(self, asked: object, wished: Question) -> tuple[list[Question], bool]:
        """And whether it is one alone."""
        readings = self.task.codecs.source
        if isinstance(readings, Readings):
            return series_of_arguments(asked, readings.columns is not None)
        plain = [replace(wished, source=text) if isinstance(text, str) else text for text in texts_of(asked)]
        return plain, isinstance(asked, str | Question)

    def stream(
        self,
        text: Text,
        *,
        beam: int | None = None,
        sample: bool = False,
        changes: Sequence[str] = (),
        prefix: str = "",
        must: Sequence[str] = (),
        must_not: Sequence[str] = (),
        **other: Any,
    ) -> Streamed:
        """The answer to one text, piece by piece while it is written: for piece in model.stream("Once"): …

        Joined, the pieces are what `predict` says. Greedily or drawn, each token is one; a beam says what is sure.
        """
        refuse_arguments(tuple(name for name in Wishes.__annotations__ if name != "attention"), other)
        settings = generation_of(self.opened[0], changes, beam, 1, sample, ARGUMENTS)
        wished = Question("", prefix, _phrases(must), _phrases(must_not))
        question = replace(wished, source=text) if isinstance(text, str) else text
        if not isinstance(question, Question):
            raise UserError("stream takes one text; for several, predict([…]) answers them together")
        return self.streamed(self.prepare(question, 0, settings), settings)

    @property
    def streams(self) -> bool:
        """Whether its answers are written one token after the other."""
        return isinstance(self._answerer, Writer)

    def streamed(self, asked: Prepared, settings: GenerationSettings) -> Streamed:
        if not isinstance(self._answerer, Writer):
            raise UserError(f"{self.recipe.task.kind}: its answer is there at once, and is not streamed; use predict")
        return Streamed(self._named_pieces(self._answerer.stream(asked, settings)))

    def _named_pieces(self, pieces: Generator[str, None, Answer]) -> Generator[str, None, Answer]:
        with self.named():
            return (yield from pieces)

    def look_over(self, questions: Sequence[Question]) -> None:
        """Cut the words of many at once, which is many times faster than one by one; `prepare` finds them then."""
        if not isinstance(self.task.codecs.source, Vocabulary):
            return
        with suppress(UserError):  # which `prepare` will tell of the question that it is
            self.task.codecs.source.encode([one.source for one in questions if isinstance(one.source, str)])

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        """A question that `answer` takes; a UserError, if no answer can be as it is wished."""
        if wrong := longest_fault(question.longest) or question.text_fault():
            raise UserError(wrong)
        return self._answerer.prepare(question, number, settings)

    def answer(
        self,
        asked: Sequence[Prepared],
        settings: GenerationSettings,
        attention: bool = False,
        wanted: Wanted = "pieces",
    ) -> Iterator[tuple[int, list[Answer]]]:
        """Each question's number with its answers, best first, in whatever order they are done.

        wanted: of written answers.
        """
        with self.named():
            if isinstance(self._answerer, Writer):
                yield from self._answerer.answer(asked, settings, attention, wanted)
            else:
                yield from self._answerer.answer(asked, settings, attention)

    def engine_notes(self) -> list[str]:
        """What was not told yet of the engine that writes: which, where it is not seqloom's own."""
        if self.writer is None:
            return []
        told, self.writer.engines.notes = self.writer.engines.notes, []
        return told

    def look(
        self,
        inputs: Any,
        *,
        target: Any = None,
        beam: int | None = None,
        changes: Sequence[str] = (),
        what_if: "Sequence[Change | Mapping[str, Any]]" = (),
        name: str | None = None,
    ) -> "Looked":
        """What it says to a text and why: every step, drawn in a notebook; `.save("look.html")` keeps it as one file.

        A list of texts is looked at one by one; of a series, a picture or split words, give a list of one.

        target   the answer to force, instead of its own
        changes  settings of [generation]: ["generation.length.alpha=1"]
        what_if  parts to change meanwhile: [{"kind": "head", "layer": "decoder.blocks.0.cross", "head": 0}]
        name     what the page calls the model; else as its folder
        """
        from seqloom.jobs.looking.looked import look_at

        settings = generation_of(self.opened[0], changes, beam, None, False, ARGUMENTS)
        return look_at(self, inputs, target, settings, what_if, name)

    @overload
    def represent(  # type: ignore[overload-overlap]
        self, texts: str, *, layer: Layer = -1, kind: Literal["numpy", "torch"] = "numpy"
    ) -> Represented: ...
    @overload
    def represent(
        self, texts: Iterable[str | Sequence[str]], *, layer: Layer = -1, kind: Literal["numpy", "torch"] = "numpy"
    ) -> list[Represented]: ...

    def represent(
        self,
        texts: str | Iterable[str | Sequence[str]],
        *,
        layer: Layer = -1,
        kind: Literal["numpy", "torch"] = "numpy",
    ) -> Represented | list[Represented]:
        """Contextual vectors of a text, or of several: one a token, one a word (`of_words`), one for all (`pooled()`).

        They are the states of the encoder, or of the only stack. A tagger takes lists of words too.

        layer  0: what the first block reads; 1, 2, …: behind each block; -1: the last; "all": one above the other
        kind   of the arrays: numpy or torch
        """
        if len(self.networks) > 1:
            raise UserError("the vectors of several runs have nothing in common; load one of them")
        if isinstance(self.task, NodesTask | ForecastTask):
            raise UserError(f"{self.recipe.task.kind}: this model reads no text: there are no words to represent")
        if kind not in ("numpy", "torch"):
            raise UserError(f"kind should be 'numpy' or 'torch', but is {kind!r}")
        one = isinstance(texts, str)
        many = [texts] if isinstance(texts, str) else list(texts)
        for number, text in enumerate(many, 1):
            if wrong := Question(text).text_fault():
                raise UserError(f"text {number}: {wrong}")
        found = list(Representer(self.task, self.networks[0], self.device).represent(many, layer))
        found = [each.to_numpy() for each in found] if kind == "numpy" else found
        return found[0] if one else found

    @overload
    def score(  # type: ignore[overload-overlap]
        self, source: str, target: str | Answer | None = None
    ) -> Scored: ...
    @overload
    def score(self, source: str, target: Sequence[str | Answer]) -> list[Scored]: ...
    @overload
    def score(
        self, source: Sequence[str], target: str | Answer | Sequence[str | Answer] | None = None
    ) -> list[Scored]: ...

    def score(
        self, source: str | Sequence[str], target: str | Answer | Sequence[str | Answer] | None = None
    ) -> Scored | list[Scored]:
        """How likely the target is for a source; for a language model, how likely a text is, or one behind a prompt.

        Of lists, each target is scored for its source; of one source and a list of targets, or one target and a list of
        sources, all of them. An Answer is scored as it was written, token by token; a text is cut into tokens anew.
        """
        pairs, one = pairs_of(source, target)
        with self.named():
            found = self._answerer.score(pairs)
        return found[0] if one else found

    @contextmanager
    def named(self) -> Iterator[None]:
        """An error of the weights says of which file."""
        try:
            yield
        except NoNumbersError:
            raise NoNumbersError(f"{', '.join(str(one.run.model) for one in self.opened)}: ") from None


def _phrases(phrases: Iterable[str]) -> tuple[str, ...]:
    """A text is left as it is, for Question to refuse: it would be a list of letters."""
    return phrases if isinstance(phrases, str) else tuple(phrases)  # type: ignore[return-value]
