"""All parts of the data, one after the other."""

from collections.abc import Callable, Sequence

from seqloom.data.check.part import Measure, PartCheck
from seqloom.data.check.report import PLACES, SEVERITIES, Part, Place, Report
from seqloom.data.check.series import AS_THEY_ARE
from seqloom.data.check.tally import Kind
from seqloom.data.check.writing import Writing
from seqloom.data.reading import FIELDS, Shape
from seqloom.data.readings import ReadingsSettings
from seqloom.data.settings import Corpus


def check(
    corpora: Sequence[Corpus],
    valid: Sequence[Corpus] = (),
    test: Sequence[Corpus] = (),
    *,
    shape: Shape = "pairs",
    longest: int = 512,
    measures: Sequence[Measure] = (),
    readings: ReadingsSettings = AS_THEY_ARE,
    running: bool = False,
    writing: Writing | None = None,
    progress: Callable[[int], object] = lambda count: None,
) -> Report:
    """Everything that is wrong or odd, not only the first fault.

    `progress` is told the bytes that were read, some at a time; `seqloom.data.reading.size` says how many there are.
    With `measures`, one for each field that is text (source and target, or text), lengths are in tokens too and
    unknown tokens are counted. 16 bytes are kept for each example, and some 40 more are needed while repeats are found.
    readings: how series are read. running: lines are parts of one text, and no examples. writing: of targets.
    """
    fields = 2 if shape == "pairs" else 1
    if measures and len(measures) != fields:
        raise ValueError(f"{len(measures)} measures for {fields} fields of text ({', '.join(FIELDS[shape])})")
    report, before = Report(), list[PartCheck]()
    parts: tuple[tuple[Part, Sequence[Corpus]], ...] = (("training", corpora), ("validation", valid), ("test", test))
    for part, given in parts:
        if not given:
            continue
        here = PartCheck(part, shape, longest, measures, readings, running, writing)
        for corpus in given:
            here.look(corpus, before, progress)
        if before and before[0].tally.part == "training":
            _unlearnt(here, before[0])
        findings, statistics = here.finish()
        report.findings.extend(findings)
        report.statistics.append(statistics)
        before.append(here)
    report.findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return report


def _unlearnt(here: PartCheck, training: PartCheck) -> None:
    """Labels that training never sees."""
    new = sorted(here.labels.keys() - training.labels.keys())
    kind = Kind(
        "warning", "labels that are not in the training data", "no model can learn them; are the names the same?"
    )
    here.tally.add(kind, sum(here.labels[label] for label in new), [Place(label) for label in new[:PLACES]])
