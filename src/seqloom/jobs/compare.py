"""Systems at equal cost: each is trained, each answers the same test, one table shows them all."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seqloom.evaluation.build import MetricName, named
from seqloom.evaluation.report import Report
from seqloom.evaluation.rolling import RollingMetric
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.generation import SECTION as GENERATION
from seqloom.jobs.answering.generation import refuse_unused, typed_changes
from seqloom.jobs.answering.together import other_settings
from seqloom.jobs.comparing.command import ALL, BEST, Compare
from seqloom.jobs.comparing.compared import Compared
from seqloom.jobs.comparing.folder import ComparedFolder
from seqloom.jobs.comparing.result import Result
from seqloom.jobs.comparing.rows import baseline, ensemble_row, evaluated, metrics_of, of_same_examples, row_of
from seqloom.jobs.comparing.system import (
    System,
    in_training,
    refuse_changed,
    refuse_known,
    refuse_unreadable,
    refuse_unreadable_data,
    systems_of,
    validated_on,
)
from seqloom.jobs.comparing.work import Outcome, Workshop
from seqloom.jobs.corpora.build import fingerprints
from seqloom.jobs.deciding.asked import asked
from seqloom.jobs.evaluate import SECTION as EVALUATION
from seqloom.jobs.evaluate import evaluation_settings, reported
from seqloom.jobs.evaluating.evaluated import Note
from seqloom.jobs.evaluating.likelihood import readings
from seqloom.jobs.evaluating.rolling import OF_QUANTILES, shared_metrics
from seqloom.jobs.evaluating.said import allowed
from seqloom.jobs.evaluating.scored_windows import windows_for
from seqloom.jobs.recipes.recipe import learned_positions
from seqloom.models.head_settings import HorizonOutput
from seqloom.settings import FailedError, UserError
from seqloom.settings.words import nearest, one_of
from seqloom.tasks import Forecast, Nodes, Translate, task_class
from seqloom.tasks.forecast import shown_levels
from seqloom.training.watch import View

HELD_OUT = "which also chose each system's best model; what no training saw would be --test FILE"


def compare(command: Compare, note: Note = lambda text: None, view: View = "auto") -> Compared:
    """note: hears what is going on. What failed is told in its row; the table is in the folder then.

    FailedError: all failed, for the same reason.
    """
    folder = ComparedFolder(command.out)
    settings = evaluation_settings(command.changed(EVALUATION))
    if settings.part != "test":
        raise UserError("--set evaluation.part is for `seqloom evaluate`; here all are scored on the test")
    _refuse_first(command)
    systems = systems_of(command.systems, command.training(), folder.runs)
    _refuse(command, systems)
    for system in systems:
        most = min(learned_positions(system.recipe.model, "decoder"), default=sys.maxsize)
        windows_for(system.recipe.task, most, system.name, settings)
    if command.test:
        refuse_known(systems, command.test, command.columns)
        refuse_unreadable(systems, command.test, command.columns, command.skip_bad)
    elif command.valid:
        refuse_known(systems, command.valid, command.columns, "--valid, which is scored without a --test,")
    refuse_unreadable_data(systems)
    folder.refuse_other()
    with folder.locked():
        folder.begin(_request(command, systems), command.force)
        refuse_changed(systems)
        compared = _compared(command, systems, Workshop(command, settings, folder, note, view), settings, note)
        folder.write(compared)
    return compared


def _compared(
    command: Compare, systems: Sequence[System], workshop: Workshop, settings: EvaluationSettings, note: Note
) -> Compared:
    results = workshop.all(systems)
    _refuse_nothing(results)
    rows = [row_of(system, results[system.name]) for system in systems]
    if command.ensemble:
        name, members, result = workshop.ensemble(systems, results)
        results[name] = result
        rows.append(ensemble_row(name, members, result, rows))
    rows = of_same_examples(rows, results)
    good = {row.name for row in rows if not row.failed}
    measured = {name: result for name, result in results.items() if name in good and isinstance(result, Result)}
    of_graph, of_series = (isinstance(systems[0].recipe.task, kind) for kind in (Nodes, Forecast))
    asked = named(command.metrics, *allowed(systems[0].recipe.task))
    names = asked or (metrics_of(measured, _differ(measured), _left_out(systems)) if measured else [])
    return Compared(
        tuple(rows),
        _report(command, measured, settings, note, names) if measured else None,
        command.budget,
        f"nodes of {' '.join(command.data) or 'the training data'}" if of_graph else _test(command, of_series),
        next((measured[system.name].device for system in systems if system.command and system.name in measured), ""),
        _differ(measured),
        tuple(_notes(command, systems, measured, names)),
        "classes" if of_graph else task_class(systems[0].recipe.task).shape,
    )


def _refuse_nothing(results: Mapping[str, Outcome]) -> None:
    """Where all failed for the same reason, a table would say no more than that."""
    why = {result if isinstance(result, str) else None for result in results.values()}
    if len(why) == 1 and (reason := why.pop()) is not None:
        raise FailedError(reason)


def _report(
    command: Compare,
    measured: dict[str, Result],
    settings: EvaluationSettings,
    note: Note,
    names: Sequence[MetricName],
) -> Report | None:
    """With the baseline first: the others are compared with it. None: nobody has one of the scores."""
    asked = bool(command.metrics)
    if list(names) == ["bpc"] and all(_fault(result) for result in measured.values()):
        return None
    found = reported(evaluated(measured, names), names, settings, note, asked)
    first = baseline(command.baseline, found)
    if first == found.systems[0]:
        return found
    return reported(evaluated({first: measured[first], **measured}, names), names, settings, note, asked)


def _differ(measured: Mapping[str, Result]) -> bool:
    """Whether the vocabularies that they write in do, so that tokens of one are not those of another."""
    likely = [result.said.likely for result in measured.values()]
    return len({one.vocabulary for one in likely if one is not None}) > 1


def _fault(result: Result) -> str | None:
    """Why it has no bits per character."""
    return None if result.said.likely is None else result.said.likely.fault


def _notes(
    command: Compare, systems: Sequence[System], measured: Mapping[str, Result], names: Sequence[MetricName]
) -> Iterator[str]:
    """What all systems have to tell is told once."""
    if command.baseline == BEST:
        yield "the best was chosen by this very test, which the p-values do not know"
    elif command.baseline is not None and command.baseline not in measured:
        yield f"{command.baseline}, which the others were to be compared with, has no scores: it is the first that has"
    known = in_training(systems, command.test or command.valid)
    yield from [] if known is None else [known]
    yield from validated_on(systems, command.test, command.columns)
    every = Counter(said for result in measured.values() for said in set(result.notes))
    yield from (said for said, times in every.items() if times == len(measured))
    for name, result in measured.items():
        yield from (f"{name}: {said}" for said in result.notes if every[said] < len(measured))
    if (left_out := _left_out(systems)) and not command.metrics:
        said = "; ".join(f"{name}: {shown_levels(levels)}" for name, levels in _levels(systems))
        yield f"{' and '.join(left_out)} are left out, as they would be of other quantiles ({said})"
    yield from readings({name: result.said.likely for name, result in measured.items()})
    if "bpc" in names and (_differ(measured) or "perplexity" not in names):  # else perplexity says as much
        yield from (f"{name}: {_fault(result)}" for name, result in measured.items() if _fault(result))


# -- what cannot be done


def _refuse_first(command: Compare) -> None:
    if not command.systems:
        raise UserError("nothing to compare: name recipes or runs, such as seqloom compare A B --data FILE --minutes 5")
    if "-" in (*command.data, *command.valid, *command.test):
        raise UserError("standard input can be read once, but each system reads the data: write it into a file")
    if command.budget is not None and not 0 < command.budget.amount < float("inf"):
        limit = command.budget.limit
        such = {"minutes": "5", "flops": "1e15", "epochs": "10"}[limit]
        raise UserError(f"--{limit} {command.budget.amount}: a number above 0 is needed, which ends, such as {such}")


def _refuse(command: Compare, systems: Sequence[System]) -> None:
    trained = [system for system in systems if system.command is not None]
    if trained and command.budget is None:
        raise UserError(
            f"{trained[0].name}: how much may its training cost? Give --minutes N, --flops N or --epochs N, "
            "which hold for every recipe"
        )
    if isinstance(systems[0].recipe.task, Nodes):
        _refuse_of_graph(command, systems)
    rewarded = next((system for system in trained if system.recipe.training.reward is not None), None)
    if rewarded is not None:
        raise UserError(
            f"{rewarded.name}: training.reward is for a model that has learnt already, and here all begin anew: "
            f"train it with `seqloom train {rewarded.name} --from RUN` and name its run"
        )
    for system in trained:  # now: not when it has learnt for hours, and is asked
        refuse_unused(system.recipe.task, _written(system, command), typed_changes(command.changes))
    named(command.metrics, *allowed(systems[0].recipe.task))
    if command.metrics and (levels := _levels(systems)):
        shared_metrics(levels, command.metrics)
    for system in trained[1:]:
        if _learnt(system) != _learnt(trained[0]):
            raise UserError(
                f"{system.name}: learns from other data than {trained[0].name}; name it for all with --data"
            )
    if not trained and command.budget is not None:
        raise UserError(f"all systems are runs that are trained: --{command.budget.limit} has nothing to limit")
    done = next((system for system in systems if system.command is None), None)
    if done is not None and not command.test:
        raise UserError(
            f"{done.run}: a run that was trained before may have seen what others hold out: name a --test FILE"
        )
    _refuse_names(command, [system.name for system in systems])
    _refuse_strangers([system for system in systems if system.name in command.ensemble])


def _written(system: System, command: Compare) -> GenerationSettings:
    """How it will write: a UserError for what is wrong with that."""
    assert system.command is not None
    changes = (*system.command.changes, *command.changed(GENERATION))
    return asked(replace(system.command, changes=changes)).recipe.generation


def _levels(systems: Sequence[System]) -> list[tuple[str, tuple[float, ...]]]:
    """Which quantiles forecasters say; of other tasks nothing."""
    outputs = [(system.name, system.recipe.model.output) for system in systems]
    return [(name, output.quantiles) for name, output in outputs if isinstance(output, HorizonOutput)]


def _left_out(systems: Sequence[System]) -> tuple[RollingMetric, ...]:
    """Scores that are not of the same."""
    return OF_QUANTILES if len({levels for _, levels in _levels(systems)}) > 1 else ()


def _refuse_of_graph(command: Compare, systems: Sequence[System]) -> None:
    """Whoever is trained here keeps the same nodes for the test; of a run nobody knows."""
    if command.test or command.valid:
        raise UserError("--valid and --test: of a graph the column split says which nodes are valid and test")
    done = next((system for system in systems if system.command is None), None)
    if done is not None:
        raise UserError(
            f"{done.run}: of graphs, recipes are compared here; of runs, `seqloom evaluate A B --data nodes.tsv "
            "edges.tsv` tests the difference"
        )
    if command.ensemble:
        raise UserError("--ensemble: is not of systems that label nodes; leave it out")


def _refuse_names(command: Compare, names: Sequence[str]) -> None:
    """Of systems that are to write together, or to be compared with."""
    wanted = [(name, "--ensemble") for name in command.ensemble if name != ALL]
    wanted += [(command.baseline, "--baseline")] if command.baseline not in (None, BEST) else []
    for name, option in wanted:
        if name not in names:
            near = nearest(name, names)
            raise UserError(
                f"{option} {name}: no such system; " + (f"did you mean {near!r}?" if near else f"it is {one_of(names)}")
            )
    if len(command.ensemble) == 1 and command.ensemble != (ALL,):
        raise UserError(
            f"--ensemble {command.ensemble[0]}: one system is no ensemble; name two or more, or none for all"
        )


def _refuse_strangers(members: Sequence[System]) -> None:
    """Of pairs nothing but the settings is needed to know; what vocabularies say is known behind training."""
    for other in members[1:]:
        one, first = other.recipe.task, members[0].recipe.task
        if isinstance(one, Translate) and isinstance(first, Translate) and one != first:
            raise UserError(
                f"--ensemble: {other.name} has another {', '.join(other_settings(one, first))} than {members[0].name}; "
                "systems that write together have the same [task]"
            )


def _request(command: Compare, systems: Sequence[System]) -> dict[str, Any]:
    """What has to be the same for systems to be compared, also with those of an earlier go."""
    trained = next((system for system in systems if system.command is not None), None)
    return {
        "budget": None if command.budget is None else {command.budget.limit: command.budget.amount},
        "data": {} if trained is None else fingerprints(trained.recipe.data),
        "settings": sorted(command.training().changes),
    }


def _learnt(system: System) -> list[str]:
    return sorted(fingerprints(system.recipe.data).values())


def _test(command: Compare, of_series: bool) -> str:
    if command.test:
        return " ".join(command.test)
    if of_series:  # a note says which part that is
        return f"what is kept back of {' '.join(command.data) or 'the training data'}"
    if command.valid:
        return f"{' '.join(command.valid)}, {HELD_OUT}"
    return f"examples held out of {' '.join(command.data) or 'the training data'}, {HELD_OUT}"
