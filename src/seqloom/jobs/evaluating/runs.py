"""Runs and data: each run answers all examples, or says how likely they are."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from seqloom.data.reading import Shape, fingerprint
from seqloom.data.readings import Readings, steps_of
from seqloom.data.series_faults import read_fitting
from seqloom.data.settings import Bad, Corpus
from seqloom.data.unlike import unlike
from seqloom.evaluation.build import RATE, MetricName, rate_metric
from seqloom.evaluation.likelihood import BitsPerCharacter
from seqloom.evaluation.metric import Metric
from seqloom.evaluation.report import Counts
from seqloom.evaluation.rolling import ROLLING, Rolling
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.corpora.build import name_of, table_notes, text_of
from seqloom.jobs.deciding.asked import Columns, corpora_like
from seqloom.jobs.evaluating.evaluated import Evaluated, Note
from seqloom.jobs.evaluating.likelihood import readings
from seqloom.jobs.evaluating.rolling import Kept, errors, metric_of, shared_metrics, test_of
from seqloom.jobs.evaluating.said import Data, Said, metrics_of_model, read_data, refuse_other_labels, say, unknown_of
from seqloom.jobs.evaluating.system_name import name_systems
from seqloom.jobs.learning.request import data_of
from seqloom.jobs.lines.node_labels import also_learnt, asked_nodes, graph_of
from seqloom.jobs.model import Model, load
from seqloom.jobs.opened import still_training
from seqloom.jobs.progress import share_bar
from seqloom.settings import UserError
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.music import MusicTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.settings import TaskSettings
from seqloom.tasks.translate import TranslateTask
from seqloom.text.form import would_be

ENSEMBLE, ALL = "ensemble", "all"


def evaluated_runs(
    runs: Sequence[str],
    files: Sequence[str],
    metrics: Sequence[str],
    changes: Sequence[str],
    device: str,
    skip_bad: bool,
    note: Note,
    columns: tuple[str | None, str | None] = (None, None),
    settings: EvaluationSettings | None = None,
    ensemble: Sequence[str] = (),
) -> tuple[Evaluated, list[MetricName]]:
    """What was said, and the metrics to count: those asked for, or those of the task.

    runs: their folders, or NAME=FOLDER. columns: of source and target.
    ensemble: names of some that also answer together, as one more.
    """
    systems, runs = name_systems(runs, "run")
    members = _members(ensemble, systems, runs)
    model = load(runs[0], device)
    if members and isinstance(model.task, NodesTask):
        raise UserError(f"--ensemble: is not of runs that label nodes, and {runs[0]} does")
    settings = settings or EvaluationSettings()
    if isinstance(model.task, ForecastTask):
        given = corpora_like(files, model.recipe.data.corpora, Columns(*columns))
        return evaluated_forecasts(systems, runs, given, metrics, changes, device, note, settings.part, members)
    if settings.part != "test":
        raise UserError(
            f"--set evaluation.part={settings.part}: is of a series that a forecaster was trained on, and {runs[0]} "
            f"does {model.recipe.task.kind}; name the file with --data"
        )
    bad: Bad = "skip" if skip_bad else "stop"
    corpora, data, said = _data(model, files, columns, bad)
    for line in (
        *said,
        *data.skipped.lines(),
        *_learnt(model, corpora),
        *other_forms(model, data),
        *_unlike(model, data, files),
    ):
        note(line)
    names = metrics_of_model(model, data, metrics)
    refuse_other_labels(model, data, runs[0], files)
    parts = [_said(model, data, names, changes, runs[0], note, settings)]
    unknown = unknown_of(model, data)
    for run in runs[1:]:
        other = load(run, device)
        refuse_other_task(run, other.recipe.task, runs[0], model.recipe.task)
        refuse_other_labels(other, data, run, files)
        for line in (*_learnt(other, corpora), *_learnt_nodes(other, data)):
            note(line)
        parts.append(_said(other, data, names, changes, run, note, settings))
    if members:
        parts.append(_said(load(members, device), data, names, changes, ENSEMBLE, note, settings))
        systems = (*systems, ENSEMBLE)
    shape: Shape = "classes" if data.graph is not None else model.task.shape
    what = together(systems, data.columns, parts, names, shape, unknown)
    sizes = sizes_of(model, data)
    what = what if sizes is None else replace(what, sizes=sizes)
    for line in readings({name: part.likely for name, part in zip(systems, parts, strict=True)}):
        note(line)
    for metric in (count.metric for count in what.counts if len(set(count.units)) > 1):
        remedy = "; --metrics bpc compares them" if metric.name == "perplexity" else ""
        note(f"{metric.title} is per token, and the runs' vocabularies differ: it is not compared{remedy}")
    return what, names


def other_forms(model: Model, data: Data) -> Iterator[str]:
    """That a model cannot write references as they stand, since it learnt such texts in another form."""
    if not isinstance(model.task, TranslateTask):
        return
    normalise = model.task.target.normalise
    texts = [text for text in data.columns[1] if isinstance(text, str)]
    changed = [text for text in texts if normalise(text) != text]
    if changed:
        first = changed[0]
        yield (
            f"{len(changed):,} of {len(texts):,} references are not in the form that the run learnt to write "
            f"(text.target.normalise), so that no answer can be as they are: {would_be(first, normalise(first))}; "
            "bring them to that form"
        )


def _unlike(model: Model, data: Data, files: Sequence[str]) -> Iterator[str]:
    """Numbers of another scale than those of training."""
    source = model.task.codecs.source
    told = unlike(source, data.columns[0]) if isinstance(source, Readings) else None
    if told is not None:
        yield f"{' '.join(files)}: {told}"


def _members(names: Sequence[str], systems: Sequence[str], runs: Sequence[str]) -> list[str]:
    """The runs of those who answer together; `all`: of all."""
    if not names:
        return []
    for name in names:
        if name not in systems and name != ALL:
            raise UserError(f"--ensemble {name}: no run is called that; they are called {', '.join(systems)}")
    if ENSEMBLE in systems:
        raise UserError(f"a run is called {ENSEMBLE!r}, as those who answer together are; call it otherwise: NAME=RUN")
    members = [run for name, run in zip(systems, runs, strict=True) if ALL in names or name in names]
    if len(members) < 2:
        raise UserError(f"--ensemble: one run ({members[0]}) is no ensemble; name two or more, or none for all")
    return members


def _data(
    model: Model, files: Sequence[str], columns: tuple[str | None, str | None], bad: Bad
) -> tuple[tuple[Corpus, ...], Data, tuple[str, ...]]:
    """What the files hold as the model's task reads them; and what was guessed of them."""
    if isinstance(model.task, NodesTask):
        # the graph itself was read in training, and only the labels of its test were not
        data, note = node_data(model, files, bad)
        return (), data, (note,)
    source, shape = model.task.codecs.source, model.task.shape
    corpora = corpora_like(files, model.recipe.data.corpora, Columns(*columns), shape)
    form = source.form if isinstance(source, Readings) else None
    each = (read_fitting(corpus, shape, bad, form, named=False) for corpus in corpora)
    data = read_data(chain.from_iterable(each))
    if not data.places:
        raise UserError("\n".join([f"{' '.join(files)}: no example is left to score", *data.skipped.lines()]))
    return corpora, data, tuple(table_notes(corpora, shape))


def node_data(model: Model, files: Sequence[str], bad: Bad) -> tuple[Data, str]:
    """The nodes of a graph that are to be scored, and which these are, in words."""
    assert isinstance(model.task, NodesTask)
    graph, skipped = graph_of(model, files, bad)
    numbers, note = asked_nodes(graph, model.task.graph)
    both = [[column[number] for number in numbers] for column in (graph.ids, graph.labels)]
    return Data(both, [f"{files[0]}: {name}" for name in both[0]], skipped, graph), note


def sizes_of(model: Model, data: Data) -> tuple[str, list[int]] | None:
    """By what nodes and pieces of music are told apart in slices; None: by their lengths, as they are neither."""
    if isinstance(model.task, MusicTask):
        return "events", [len(piece.split()) for piece in data.columns[0]]
    if data.graph is None:
        return None
    joined = dict(zip(data.graph.ids, data.graph.neighbours().tolist(), strict=True))
    return "neighbours of the node", [joined[name] for name in data.columns[0]]


def evaluated_forecasts(
    systems: tuple[str, ...],
    runs: Sequence[str],
    corpora: Sequence[Corpus],
    metrics: Sequence[str],
    changes: Sequence[str],
    device: str,
    note: Note,
    part: Kept = "test",
    members: Sequence[str] = (),
) -> tuple[Evaluated, list[MetricName]]:
    """Forecasts that roll over the files; of several runs, over the same windows. members: who forecast together too.

    part: of a file that was trained on.
    """
    if changes:
        raise UserError(f"--set {changes[0]}: a forecast is not searched for; what can be set begins with evaluation.")
    # all are opened first: what does not go together is told before the first one forecasts
    models = [load(run, device) for run in runs] + ([load(members, device)] if members else [])
    called = [*runs, *([ENSEMBLE] if members else [])]
    forecasters = [model.forecaster(run) for run, model in zip(called, models, strict=True)]
    names = shared_metrics([(run, one.levels) for run, one in zip(called, forecasters, strict=True)], metrics)
    tests = [
        test_of(one.task, corpora, model.opened[0].run, part) for one, model in zip(forecasters, models, strict=True)
    ]
    for run, test in zip(called, tests, strict=True):
        if test.blocks != tests[0].blocks:
            raise UserError(f"{run}: forecasts other windows than {runs[0]}; compare runs of one horizon and one split")
    opened = [one for model in models[: len(runs)] for one in model.opened]
    for text in (*still_training(opened), *tests[0].notes):
        note(text)
    parts = []
    for run, forecaster, test in zip(called, forecasters, tests, strict=True):
        with share_bar(f"{run} forecasts") as moved:
            parts.append(Said([], [], None, errors(forecaster, test, names, moved)))
    systems = (*systems, ENSEMBLE) if members else systems
    return of_errors(systems, tests[0].blocks, parts, [metric_of(name, forecasters) for name in names]), list(names)


def of_errors(
    systems: tuple[str, ...], blocks: Sequence[str], parts: Sequence[Said], metrics: Sequence[Rolling]
) -> Evaluated:
    counts = [
        Counts(metric, tuple(metric.statistics(part.errors[metric.name], []) for part in parts)) for metric in metrics
    ]
    each = Evaluated(systems, tuple(blocks for _ in parts), (blocks,), counts=tuple(counts), steps=[1] * len(blocks))
    return replace(each, unit=("block of windows", "blocks of windows"))


def _said(
    model: Model,
    data: Data,
    names: Sequence[MetricName],
    changes: Sequence[str],
    run: str,
    note: Note,
    settings: EvaluationSettings,
) -> Said:
    for text in still_training(model.opened):
        note(text)
    said = say(model, data, names, changes, run, lambda text: note(f"{run}: {text}"), settings)
    if "bpc" in names and said.likely is not None and said.likely.fault is not None:
        note(f"{run}: {said.likely.fault}")
    return said


def refuse_other_task(name: str, task: TaskSettings, first: str, wanted: TaskSettings) -> None:
    """What one kind of model says of a text is not what another does: each token given those before, or all others."""
    if task.kind != wanted.kind:
        raise UserError(f"{name}: does another task ({task.kind}) than {first} ({wanted.kind}); compare like with like")


def together(
    systems: tuple[str, ...],
    columns: Sequence[Sequence[Any]],
    parts: Sequence[Said],
    names: Sequence[MetricName],
    shape: Shape,
    unknown: list[int] | None,
) -> Evaluated:
    """What several systems said to the same examples. columns: of these, as they were read."""
    if shape == "timeline":
        rolling = [
            Rolling(name, "windows:1 step apart|intervals:by blocks of a horizon") for name in ROLLING if name in names
        ]
        return of_errors(systems, columns[0], parts, rolling)
    texts = [[text_of(one) for one in column] for column in columns]
    wanted = [[name] for name in columns[1]] if shape in ("classes", "series") else columns[-1]
    return Evaluated(
        systems=systems,
        answers=() if shape == "text" else tuple(part.texts for part in parts),
        references=(texts[-1],),
        sources=texts[0] if len(texts) > 1 else None,
        unknown=unknown,
        counts=tuple(_rated(rate_metric(name), parts) for name in names if name in RATE),
        labels=(*(part.labels for part in parts), wanted) if shape in ("tags", "classes", "series") else None,
        sizes=("source steps", _steps(columns[0])) if shape == "series" else None,
    )


def _steps(series: Sequence[Any]) -> list[int]:
    """Of each; none where only a few words were kept of them."""
    return [len(steps_of(one)) for one in series if isinstance(one, np.ndarray)]


def _rated(metric: Metric[float], parts: Sequence[Said]) -> Counts:
    """Nats for each character of those who can write all of them; else for each token, of like vocabularies."""
    every = [part.likely for part in parts if part.likely is not None]
    if isinstance(metric, BitsPerCharacter):
        fair = [None if one.lost else metric.statistics(one.log_probs, [one.characters]) for one in every]
        return Counts(metric, tuple(fair))
    stats = tuple(metric.statistics(one.log_probs, [one.tokens]) for one in every)
    return Counts(metric, stats, tuple(one.vocabulary for one in every))


def _learnt(model: Model, corpora: Sequence[Corpus]) -> Iterator[str]:
    """What was trained on, which a run knows by its content: whoever learnt it by heart scores well there."""
    for one in model.opened:
        validated = {name_of(corpus) for corpus in one.recipe.data.valid}
        learnt = {content for name, content in data_of(one.run).items() if name not in validated}
        for corpus in corpora:
            if learnt and fingerprint(corpus) in learnt:
                yield (
                    f"{name_of(corpus)}: {one.run.path} was trained on these examples; "
                    "its scores on others, which it never saw, may be lower"
                )


def _learnt_nodes(model: Model, data: Data) -> Iterator[str]:
    """Of a graph: what is scored was chosen by what the first run learnt, and another may have learnt other nodes."""
    if data.graph is not None and isinstance(model.task, NodesTask):
        count = also_learnt(data.graph, data.columns[0], model.task.graph)
        if count:
            yield f"{model.opened[0].run.path}: was trained on {count:,} of these nodes, so that its score is too good"
