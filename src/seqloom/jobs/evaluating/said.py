"""What a model says to all examples of some data, and how likely it finds what was wanted."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from seqloom.data.graph import Graph
from seqloom.data.reading import Block, Skipped
from seqloom.evaluation.build import LABEL, RATE, TEXT, MetricName, RateMetric, named
from seqloom.evaluation.labels import Labels
from seqloom.evaluation.rolling import ROLLING
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.evaluation.spans import OUTSIDE, marks_spans
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Question
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.evaluating.evaluated import Note
from seqloom.jobs.evaluating.likelihood import Likelihood, of_pairs, of_texts
from seqloom.jobs.evaluating.rolling import Errors
from seqloom.jobs.evaluating.scored_windows import windows_of
from seqloom.jobs.lines.answer_counts import CUT, UNENDED
from seqloom.jobs.lines.node_labels import node_labels
from seqloom.jobs.model import Model
from seqloom.jobs.progress import share_bar
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.tasks import Task
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.music import MusicTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.settings import TaskSettings
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import UNKNOWN, Characters, Vocabulary, Words
from seqloom.text import Labels as KnownLabels

FEW_PIECES = 200  # of a vocabulary of words: phonemes, notes and the like
FEW_LABELS = 3  # that a message names
LIKELIHOOD: tuple[RateMetric, ...] = ("perplexity", "bpc")
PSEUDO: tuple[RateMetric, ...] = ("pseudo-perplexity",)
"""Of each token, given all others; characters are not counted, as the ends of lines are not asked for."""
WINDOW = 2048  # examples that are answered together, so that like lengths meet


@dataclass
class Data:
    """Examples as they were read: what is asked, what is wanted, and where each stands."""

    columns: list[list[Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)
    graph: Graph | None = None
    """What the examples are nodes of."""


@dataclass(frozen=True)
class Said:
    """What a model said: texts, or labels; and how likely it finds what was wanted."""

    texts: list[str]
    labels: list[Labels]
    likely: Likelihood | None
    errors: Errors = field(default_factory=dict)
    """of forecasts, in blocks of windows"""


def read_data(blocks: Iterable[Block]) -> Data:
    data = Data()
    for block in blocks:
        data.columns = data.columns or [[] for _ in block.columns]
        for into, column in zip(data.columns, block.columns, strict=True):
            into.extend(column)
        data.places += [block.place(row) for row in range(len(block.lines))]
        data.skipped.add(block.report)
    return data


def refuse_other_labels(model: Model, data: Data, run: str, files: Sequence[str]) -> None:
    """Some labels that a run never saw are wrong answers; all of them are a mistake."""
    known = model.task.codecs.target
    if not isinstance(known, KnownLabels):
        return
    wanted = {label for one in data.columns[1] for label in ([one] if isinstance(one, str) else one)}
    if not any(label in known for label in wanted):
        some, theirs = (", ".join(map(repr, labels[:FEW_LABELS])) for labels in (sorted(wanted), known.names))
        raise UserError(
            f"{' '.join(files)}: none of the labels ({some} …) is known to {run} ({theirs} …); "
            "are the columns the wrong way round?"
        )


def allowed(task: TaskSettings) -> tuple[tuple[MetricName, ...], str]:
    """The metrics that a task has, and what they are of."""
    match task.kind:
        case "translate":
            return (*TEXT, *LIKELIHOOD), "translations"
        case "music":
            return LIKELIHOOD[:1], "models of music"
        case "language":
            return LIKELIHOOD, "language models"
        case "masked":
            return PSEUDO, "masked language models"
        case "nodes":
            return ("accuracy", "f1-macro", "f1-micro"), "nodes"
        case "tag":
            return (*LABEL, "exact", "ser"), "tags"
        case "classify":
            return LABEL, "classes"
        case "forecast":
            return ROLLING, "forecasts"


def metrics_of_model(model: Model, data: Data, asked: Sequence[str]) -> list[MetricName]:
    return named(asked or _usual(model.task, data), *allowed(model.recipe.task))


def _usual(task: Task, data: Data) -> tuple[MetricName, ...]:
    match task:
        case TranslateTask():
            return _of_texts(task)
        case MusicTask():
            return LIKELIHOOD[:1]
        case LanguageTask():
            return LIKELIHOOD
        case MaskedTask():
            return PSEUDO
        case TagTask():
            spans = marks_spans(tag for tags in data.columns[1] for tag in tags)
            return ("accuracy", "span-f1" if spans else "f1-macro")
        case ClassifyTask() | NodesTask():
            return ("accuracy", "f1-macro")
        case _:
            raise TypeError(f"{type(task).__name__} has no scores")


def _of_texts(task: TranslateTask) -> tuple[MetricName, ...]:
    """Of words in sentences, of characters, or of pieces such as phonemes."""
    if isinstance(task.target.settings, Characters):
        return ("exact", "cer", "chrf")
    if isinstance(task.target.settings, Words) and len(task.target) <= FEW_PIECES:
        return ("exact", "per")
    return ("bleu", "chrf", "ter", "exact")


def say(
    model: Model,
    data: Data,
    names: Sequence[MetricName],
    changes: Sequence[str],
    run: str,
    note: Note,
    evaluation: EvaluationSettings | None = None,
) -> Said:
    """note: hears what is wrong with the answers; whose they are, it knows."""
    windows = windows_of(model, run, evaluation or EvaluationSettings())
    settings = generation_of(model.opened[0], changes)
    likely = None
    if isinstance(model.task, NodesTask):
        assert data.graph is not None
        return Said([], node_labels(model, data.graph, data.columns[0]), None)
    if isinstance(model.task, LanguageTask | MaskedTask):
        return Said([], [], of_texts(model, data.columns[0], data.places, windows))
    if any(name in RATE for name in names):
        likely = of_pairs(model, data.columns[0], data.columns[1], data.places)
    with share_bar(f"{run} answers") as moved:
        answers = list(_answers(model, data, settings, moved))
    for what in (*model.engine_notes(), *_faults(answers)):
        note(what)
    return Said([answer.text for answer in answers], _labels(model.task, answers, data), likely)


def _answers(
    model: Model, data: Data, settings: GenerationSettings, moved: Callable[[float], None]
) -> Iterator[Answer]:
    for begin in range(0, len(data.places), WINDOW):
        asked = []
        for number in range(begin, min(begin + WINDOW, len(data.places))):
            source = data.columns[0][number]
            try:
                question = Question(tuple(source) if isinstance(source, list) else source)
                asked.append(model.prepare(question, number, settings))
            except UserError as error:
                raise UserError(f"{data.places[number]}: {error}") from None
        said = {}
        for number, answers in model.answer(asked, settings, wanted="text"):
            said[number] = answers[0]
            moved(1 / len(data.places))
        yield from (said[one.number] for one in asked)


def _faults(answers: Sequence[Answer]) -> Iterator[str]:
    cut, endless = sum(bool(answer.cut) for answer in answers), sum(not answer.ended for answer in answers)
    if cut:
        yield counted(cut, *CUT)
    if endless:
        yield counted(endless, *UNENDED)


def _labels(task: Task, answers: Sequence[Answer], data: Data) -> list[Labels]:
    match task:
        case ClassifyTask():
            return [[answer.text] for answer in answers]
        case TagTask():
            return [_tags(one, len(tags)) for one, tags in zip(answers, data.columns[1], strict=True)]
        case _:
            return []


def _tags(answer: Answer, words: int) -> Labels:
    """Words beyond the model's positions have no tag: O stands for it."""
    tags = [piece.text for piece in answer.pieces]
    return tags + [OUTSIDE] * (words - len(tags))


def unknown_of(model: Model, data: Data) -> list[int] | None:
    """How many pieces of each source the vocabulary does not have."""
    source = model.task.codecs.source
    labels = isinstance(model.task, LanguageTask | MaskedTask | NodesTask)
    if labels or not isinstance(source, Vocabulary):
        return None
    if isinstance(model.task, TagTask):
        return [source.encode_words(words)[0].count(UNKNOWN) for words in data.columns[0]]
    return [ids.count(UNKNOWN) for ids in source.encode(data.columns[0])]
