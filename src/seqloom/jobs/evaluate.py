"""How good systems are: runs on data, or the answers of any systems in files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seqloom.data.check.cut_text import cut_already
from seqloom.evaluation.bleu import ORDER, Bleu
from seqloom.evaluation.build import LABEL, SERIES, TEXT, MetricName, bleu
from seqloom.evaluation.build import named as metrics_named
from seqloom.evaluation.report import Report, SliceScore, report
from seqloom.evaluation.scripts import settled, told
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.evaluating.evaluated import Evaluated, Note, count
from seqloom.jobs.evaluating.files import evaluated_files
from seqloom.jobs.evaluating.series import with_series
from seqloom.jobs.progress import share_bar
from seqloom.settings import Frozen, UserError, loads
from seqloom.settings.words import whole

SECTION = "evaluation."
MANY = 1000  # answers of which one is told what is being counted: TER takes seconds
TEXTS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")


@dataclass(frozen=True)
class Evaluate:
    """The words of `seqloom evaluate`."""

    runs: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    sources: str | None = None
    metrics: tuple[str, ...] = ()
    examples: int = 0
    changes: tuple[str, ...] = ()
    device: str = "auto"
    skip_bad: bool = False
    source: str | None = None
    target: str | None = None
    history: str | None = None
    ensemble: tuple[str, ...] = ()


class _Settings(Frozen):
    """What --set can change here."""

    evaluation: EvaluationSettings = EvaluationSettings()


def evaluation_settings(changes: Sequence[str]) -> EvaluationSettings:
    return loads("", _Settings, changes, name="--set").evaluation


def evaluate(command: Evaluate, note: Note = lambda text: None) -> tuple[Report, Evaluated]:
    """The report, and the texts that it is about. note: hears what is going on."""
    _refuse(command)
    ours = [change for change in command.changes if change.strip().startswith(SECTION)]
    settings = evaluation_settings(ours)
    if command.runs:
        from seqloom.jobs.evaluating.runs import evaluated_runs  # here, as files need no torch

        others = [change for change in command.changes if change not in ours]
        columns = command.source, command.target
        what, names = evaluated_runs(
            command.runs,
            command.data,
            command.metrics,
            others,
            command.device,
            command.skip_bad,
            note,
            columns,
            settings,
            command.ensemble,
        )
        return reported(what, names, settings, note, bool(command.metrics), command.examples), what
    for change in command.changes:
        if change not in ours:
            raise UserError(f"--set {change}: files are only counted; what can be set begins with {SECTION}")
    names = metrics_named(command.metrics or TEXTS, (*TEXT, *LABEL, *SERIES), "texts, labels or series")
    what, past = evaluated_files(command.hypotheses, command.references, command.sources, command.history)
    history = None if command.history is None else (command.history, past)
    what = with_series(what, names, settings, history, note)
    return reported(what, names, settings, note, bool(command.metrics), command.examples), what


def _refuse(command: Evaluate) -> None:
    if not whole(command.examples, 0):
        raise UserError(f"examples={command.examples}: a whole number is needed, such as 3; 0: none are shown")
    files = command.hypotheses or command.references or command.sources or command.history
    if command.runs and files:
        raise UserError("either runs with --data, or --hypotheses with --references; not both")
    if command.runs and not command.data:
        raise UserError("nothing to evaluate on: name the data with --data FILE…")
    if command.ensemble and not command.runs:
        raise UserError("--ensemble is of runs; files hold what was said already")
    if command.data and not command.runs:
        raise UserError("--data needs a RUN that answers it: seqloom evaluate RUN… --data FILE…")
    if (command.source or command.target) and not command.data:
        raise UserError("--source and --target are columns of --data; files of --hypotheses have none")
    if not (command.runs or files):
        raise UserError(
            "nothing to evaluate: name runs and data (seqloom evaluate RUN… --data FILE…), or the answers of systems "
            "(--hypotheses FILE… --references FILE…)"
        )


def reported(
    what: Evaluated,
    names: Sequence[MetricName],
    settings: EvaluationSettings,
    note: Note,
    named: bool = False,
    examples: int = 0,
) -> Report:
    """named: the metrics were asked for, also one that can be nothing but 0."""
    for part, texts in ("references", what.references[0]), *zip(what.systems, what.answers, strict=False):
        pieces = cut_already(texts)
        if pieces is not None:
            note(f"{part}: {pieces}; these scores are of pieces")
    if "bleu" in names:
        chosen = settled(settings, what.references)
        names = names if named else _possible(names, what, chosen, note)
        remark = told(chosen.bleu.tokenize) if chosen is not settings and "bleu" in names else None
        if remark:
            note(f"{remark}; --set evaluation.bleu.tokenize=… for others")
        settings = chosen
    many = len(what.references[0]) * len(what.systems) > MANY
    counts = list(count(what, names, settings, lambda title: note(f"counting {title}") if many else None))
    if not counts:
        raise UserError(f"--metrics {' '.join(names)}: nothing can be scored by that; --metrics perplexity can be")
    with share_bar("intervals and tests") as moved:
        made = report(what.systems, counts, settings, len(what.references), what.slices(), examples, moved)
    if made.examples == 1 and what.unit == Evaluated.unit:  # the number of blocks of forecasts is told
        note("there is one example: its intervals have no width, and say nothing")
    return replace(made, unit=what.unit, slices=_possible_slices(made.slices, what))


def _possible(
    names: Sequence[MetricName], what: Evaluated, settings: EvaluationSettings, note: Note
) -> Sequence[MetricName]:
    """Without BLEU where it could be nothing but 0."""
    if bleu(settings).possible(what.references):
        return names
    note(f"BLEU is left out: no reference has {ORDER} tokens; --metrics bleu counts it all the same")
    return [name for name in names if name != "bleu"]


def _possible_slices(scores: tuple[SliceScore, ...], what: Evaluated) -> tuple[SliceScore, ...]:
    """The same of slices; where all of the references are too short, BLEU was asked for."""
    metric = next((score.metric for score in scores if isinstance(score.metric, Bleu)), None)
    if metric is None or not metric.possible(what.references):
        return scores
    found = []
    for score in scores:
        references = ([texts[row] for row in score.slice.rows] for texts in what.references)
        none = score.metric is metric and not metric.possible(references)
        found.append(replace(score, score=None) if none else score)
    return tuple(found)
