"""Runs and data: each run answers all examples, or says how likely they are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqloom.data.reading import Skipped, read
from seqloom.data.settings import Corpus
from seqloom.evaluation.build import LABEL, RATE, TEXT, MetricName, RateMetric, named, rate_metric
from seqloom.evaluation.labels import Labels
from seqloom.evaluation.metric import Statistics
from seqloom.evaluation.report import Counts
from seqloom.evaluation.spans import OUTSIDE, marks_spans
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answer import Answer, Question
from seqloom.jobs.asked import Columns, corpora_like
from seqloom.jobs.corpora import table_notes
from seqloom.jobs.evaluated import Evaluated, Note
from seqloom.jobs.generation import generation_of
from seqloom.jobs.likelihood import Likelihood, of_pairs, of_texts
from seqloom.jobs.model import Model, load
from seqloom.jobs.opened import still_training
from seqloom.jobs.predict import CUT, UNENDED
from seqloom.jobs.progress import share_bar
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.tasks import Task
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import UNKNOWN, Characters, Words
from seqloom.text import Labels as KnownLabels

FEW_PIECES = 200  # of a vocabulary of words: phonemes, notes and the like
FEW_LABELS = 3  # that a message names
PSEUDO: tuple[RateMetric, ...] = ("perplexity",)
"""Of each token, given all others; characters are not counted, as the ends of lines are not asked for."""
WINDOW = 2048  # examples that are answered together, so that like lengths meet


@dataclass
class Data:
    """Examples as they were read: what is asked, what is wanted, and where each stands."""

    columns: list[list[Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)


def evaluated_runs(
    runs: Sequence[str],
    files: Sequence[str],
    metrics: Sequence[str],
    changes: Sequence[str],
    device: str,
    skip_bad: bool,
    note: Note,
    columns: tuple[str | None, str | None] = (None, None),
) -> tuple[Evaluated, list[MetricName]]:
    """What was said, and the metrics to count: those asked for, or those of the task. columns: of source and target."""
    systems, model = _systems(runs), load(runs[0], device)
    corpora = corpora_like(files, model.recipe.data.corpora, Columns(*columns))
    data = _read(model, corpora, skip_bad)
    for line in (*table_notes(corpora, model.task.shape), *data.skipped.lines()):
        note(line)
    names = _metrics(model.task, data, metrics)
    _refuse_other_labels(model, data, runs[0], files)
    parts = [_said(model, data, names, changes, runs[0], note)]
    unknown = _unknown(model, data)
    for run in runs[1:]:
        other = load(run, device)
        if other.task.shape != model.task.shape:
            kinds = other.recipe.task.kind, model.recipe.task.kind
            raise UserError(
                f"{run}: does another task ({kinds[0]}) than {runs[0]} ({kinds[1]}); compare like with like"
            )
        _refuse_other_labels(other, data, run, files)
        parts.append(_said(other, data, names, changes, run, note))
    return _evaluated(systems, data, parts, names, model.task, unknown), names


@dataclass(frozen=True)
class _Said:
    texts: list[str]
    labels: list[Labels]
    likely: Likelihood | None


def _read(model: Model, corpora: Sequence[Corpus], skip_bad: bool) -> Data:
    data = Data()
    for corpus in corpora:
        for block in read(corpus, model.task.shape, "skip" if skip_bad else "stop"):
            data.columns = data.columns or [[] for _ in block.columns]
            for into, column in zip(data.columns, block.columns, strict=True):
                into.extend(column)
            data.places += [f"{block.file}:{line}" for line in block.lines]
            data.skipped.add(block.report)
    return data


def _refuse_other_labels(model: Model, data: Data, run: str, files: Sequence[str]) -> None:
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


def _metrics(task: Task, data: Data, asked: Sequence[str]) -> list[MetricName]:
    match task:
        case TranslateTask():
            return named(asked or _of_texts(task), (*TEXT, *RATE), "translations")
        case LanguageTask():
            return named(asked or RATE, RATE, "language models")
        case MaskedTask():
            return named(asked or PSEUDO, PSEUDO, "masked language models")
        case TagTask():
            spans = marks_spans(tag for tags in data.columns[1] for tag in tags)
            return named(asked or ("accuracy", "span-f1" if spans else "f1-macro"), LABEL, "tags")
        case ClassifyTask():
            return named(asked or ("accuracy", "f1-macro"), LABEL, "classes")
        case _:
            raise TypeError(f"{type(task).__name__} has no scores")


def _of_texts(task: TranslateTask) -> tuple[MetricName, ...]:
    """Of words in sentences, of characters, or of pieces such as phonemes."""
    if isinstance(task.target.settings, Characters):
        return ("exact", "cer", "chrf")
    if isinstance(task.target.settings, Words) and len(task.target) <= FEW_PIECES:
        return ("exact", "per")
    return ("bleu", "chrf", "ter", "exact")


def _said(model: Model, data: Data, names: Sequence[MetricName], changes: Sequence[str], run: str, note: Note) -> _Said:
    for text in still_training(model.opened):
        note(text)
    settings = generation_of(model.opened[0], changes)
    likely = None
    if isinstance(model.task, LanguageTask | MaskedTask):
        return _Said([], [], of_texts(model, data.columns[0]))
    if any(name in RATE for name in names):
        likely = of_pairs(model, data.columns[0], data.columns[1])
    with share_bar(f"{run} answers") as moved:
        answers = list(_answers(model, data, settings, moved))
    for what in _faults(answers):
        note(f"{run}: {what}")
    return _Said([answer.text for answer in answers], _labels(model.task, answers, data), likely)


def _answers(
    model: Model, data: Data, settings: GenerationSettings, moved: Callable[[float], None]
) -> Iterator[Answer]:
    for begin in range(0, len(data.places), WINDOW):
        asked = []
        for number in range(begin, min(begin + WINDOW, len(data.places))):
            source = data.columns[0][number]
            try:
                question = Question(source if isinstance(source, str) else tuple(source))
                asked.append(model.prepare(question, number, settings))
            except UserError as error:
                raise UserError(f"{data.places[number]}: {error}") from None
        said = {}
        for number, answers in model.answer(asked, settings):
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


def _unknown(model: Model, data: Data) -> list[int] | None:
    """How many pieces of each source the vocabulary does not have."""
    source = model.task.codecs.source
    if isinstance(model.task, LanguageTask | MaskedTask):
        return None
    if isinstance(model.task, TagTask):
        return [source.encode_words(words)[0].count(UNKNOWN) for words in data.columns[0]]
    return [ids.count(UNKNOWN) for ids in source.encode(data.columns[0])]


def _evaluated(
    systems: tuple[str, ...],
    data: Data,
    parts: Sequence[_Said],
    names: Sequence[MetricName],
    task: Task,
    unknown: list[int] | None,
) -> Evaluated:
    texts = [[text if isinstance(text, str) else " ".join(text) for text in column] for column in data.columns]
    labelled = isinstance(task, TagTask | ClassifyTask)
    wanted = [[name] for name in data.columns[1]] if isinstance(task, ClassifyTask) else data.columns[-1]
    return Evaluated(
        systems=systems,
        answers=() if isinstance(task, LanguageTask | MaskedTask) else tuple(part.texts for part in parts),
        references=(texts[-1],),
        sources=texts[0] if len(texts) > 1 else None,
        unknown=unknown,
        counts=tuple(_rated(name, parts) for name in names if name in RATE),
        labels=(*(part.labels for part in parts), wanted) if labelled else None,
    )


def _rated(name: RateMetric, parts: Sequence[_Said]) -> Counts:
    metric, stats = rate_metric(name), list[Statistics]()
    for part in parts:
        assert part.likely is not None
        units = part.likely.tokens if name == "perplexity" else part.likely.characters
        stats.append(metric.statistics(part.likely.log_probs, [units]))
    return Counts(metric, tuple(stats))


def _systems(runs: Sequence[str]) -> tuple[str, ...]:
    """The folders' names, where they tell the runs apart."""
    short = [Path(run).name or run for run in runs]
    if len(set(runs)) < len(runs):
        twice = next(run for run in runs if runs.count(run) > 1)
        raise UserError(f"{twice}: is named twice; name each run once")
    return tuple(short if len(set(short)) == len(short) else runs)
