"""A report for people and for programs: text, Markdown, LaTeX, JSON lines."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, assert_never

from rich.console import Console

from seqloom.evaluation.bleu import ORDER
from seqloom.evaluation.interval import LEVEL
from seqloom.evaluation.report import Report, Shown
from seqloom.jobs.drawn_table import draw
from seqloom.jobs.evaluating.evaluated import Evaluated, confusions
from seqloom.jobs.evaluating.score_table import (
    NONE,
    P_BOOTSTRAP,
    P_RANDOMISATION,
    number,
    shown_slices,
    tables,
    titled,
)
from seqloom.jobs.lines.json_line import json_line
from seqloom.jobs.table import in_latex, latex, markdown, plain
from seqloom.text.display import in_line

Form = Literal["text", "markdown", "latex", "jsonl"]


def page(report: Report, what: Evaluated, form: Form) -> str:
    """All of it, with a line feed at the end."""
    match form:
        case "text":
            parts = ["\n".join(plain(table)) for table in tables(report, confusions(what))]
            return "\n\n".join([*parts, *_examples(report, what), "\n".join(below(report))]) + "\n"
        case "markdown":
            parts = ["\n".join(markdown(table)) for table in tables(report, confusions(what))]
            examples = [f"```\n{text}\n```" for text in _examples(report, what)]
            return "\n\n".join([*parts, *examples, "\n".join(f"- {line}" for line in below(report))]) + "\n"
        case "latex":
            parts = ["\n".join(latex(table)) for table in tables(report, confusions(what))]
            examples = ["\n".join(_latex_example(each, report, what)) for each in report.shown]
            examples = [*map(in_latex, _faultless(report)), *examples]
            return "\n\n".join([*parts, *examples, "\n".join(f"% {line}" for line in below(report))]) + "\n"
        case "jsonl":
            return "".join(json_line(record) for record in _records(report, what))
        case _:
            assert_never(form)


def show(report: Report, what: Evaluated, console: Console) -> None:
    """The text, with tables as a terminal can draw them."""
    for table in tables(report, confusions(what)):
        draw(table, console)
    for text in [*_examples(report, what), "\n".join(below(report))]:
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _latex_example(each: Shown, report: Report, what: Evaluated) -> Iterator[str]:
    """A small table, whose second column breaks lines."""
    yield r"\begin{tabular}{lp{0.8\linewidth}}"
    yield r"\hline"
    yield rf"\multicolumn{{2}}{{l}}{{{in_latex(_headline(each, report))}}} \\ \hline"
    for name, text in _texts(each, what):
        yield rf"{name} & {in_latex(text)} \\"
    yield r"\hline"
    yield r"\end{tabular}"


def below(report: Report) -> Iterator[str]:
    """What a reader must know to trust the numbers, and to have them again."""
    for title, signature in report.signatures:
        yield f"{title}: {signature}"
    if any(part.score is None for part in shown_slices(report)):
        yield f"BLEU is left out ({NONE}) of slices in which no reference has {ORDER} tokens"
    settings = report.settings
    yield f"interval: bootstrap percentiles|level:{LEVEL}|resamples:{settings.resamples}|seed:{settings.seed}"
    if len(report.systems) > 1:
        yield (
            f"{P_RANDOMISATION}: paired approximate randomisation|trials:{settings.trials}"
            f"|seed:{settings.seed}; * p < 0.05, ** p < 0.01, *** p < 0.001"
        )
        yield f"{P_BOOTSTRAP}: paired bootstrap (Koehn 2004)|resamples:{settings.resamples}"
    if len(report.systems) > 2:
        first, others = report.systems[0], len(report.systems) - 1
        yield f"{others} systems are compared with {first}; the p-values are not corrected for that"


def _examples(report: Report, what: Evaluated) -> list[str]:
    return [*_faultless(report), *("\n".join(_example(each, report, what)) for each in report.shown)]


def _faultless(report: Report) -> list[str]:
    """Of systems of which examples are shown, but none that is bad."""
    worst = {each.system for each in report.shown if each.worst}
    several = len(report.systems) > 1
    return [
        f"{f'{system}, ' if several else ''}worst: none is wrong, all {report.examples:,} are as the reference"
        for system in dict.fromkeys(each.system for each in report.shown)
        if system not in worst
    ]


def _headline(each: Shown, report: Report) -> str:
    which = "worst" if each.worst else "best"
    system = f"{each.system}, " if len(report.systems) > 1 else ""
    return f"{system}{which}: example {each.row + 1:,}, {titled(each.metric)} {number(each.metric, each.score)}"


def _example(each: Shown, report: Report, what: Evaluated) -> Iterator[str]:
    yield _headline(each, report)
    for name, text in _texts(each, what):
        yield f"  {name:10} {in_line(text)}"


def _texts(each: Shown, what: Evaluated) -> Iterator[tuple[str, str]]:
    if what.sources is not None:
        yield "source", what.sources[each.row]
    for texts in what.references:
        yield "reference", texts[each.row]
    answers = what.answers[what.systems.index(each.system)] if what.answers else ()
    if answers:
        yield "hypothesis", answers[each.row]


def _records(report: Report, what: Evaluated) -> Iterator[dict[str, Any]]:
    signatures = dict(report.signatures)
    for each in report.measured:
        record: dict[str, Any] = {
            "kind": "score",
            "system": each.system,
            "metric": each.metric.name,
            "score": each.score,
            "low": each.interval.low,
            "high": each.interval.high,
            "level": LEVEL,
            "higher_is_better": each.metric.higher_is_better,
            "examples": report.examples,
            "signature": signatures[each.metric.title],
        }
        if each.comparison is not None:
            record |= {
                "baseline": report.systems[0],
                "difference": each.comparison.difference,
                "difference_low": each.comparison.interval.low,
                "difference_high": each.comparison.interval.high,
                "p_randomisation": each.comparison.randomisation,
                "p_bootstrap": each.comparison.bootstrap,
            }
        yield record
    for part in report.slices:
        where = {"kind": "slice", "by": part.slice.by, "slice": part.slice.name, "examples": len(part.slice.rows)}
        yield where | {"system": part.system, "metric": part.metric.name, "score": part.score}
    names = {each.metric.title: each.metric.name for each in report.measured}
    for system, title, label in report.kinds:
        yield {"kind": "label", "system": system, "metric": names[title], "label": label.kind} | {
            name: getattr(label, name) for name in ("wanted", "precision", "recall", "f1")
        }
    for system, found in confusions(what):
        for (wanted, said), count in sorted(found.counts.items()):
            yield {"kind": "confusion", "system": system, "wanted": wanted, "said": said, "count": count}
    for shown in report.shown:
        yield _shown_record(shown, what)


def _shown_record(each: Shown, what: Evaluated) -> dict[str, Any]:
    texts: dict[str, Any] = {"references": [texts[each.row] for texts in what.references]}
    texts |= {name: text for name, text in _texts(each, what) if name != "reference"}
    where: Sequence[tuple[str, Any]] = (("example", each.row + 1), ("metric", each.metric.name), ("score", each.score))
    return {"kind": "worst" if each.worst else "best", "system": each.system, **dict(where), **texts}
