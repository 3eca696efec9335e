"""A report as plain text."""

from collections.abc import Iterator

from seqloom.data.check.report import STOPS, Finding, Report, Statistics
from seqloom.settings.words import counted

_HEADS = {"fault": "FAULT", "warning": "warning", "note": "note"}


def render(report: Report) -> str:
    """Numbers first, then the findings, the worst first."""
    lines = [line for statistics in report.statistics for line in _numbers(statistics)]
    for finding in report.findings:
        lines += ["", *_finding(finding)] if lines else _finding(finding)
    counts = {severity: sum(finding.severity == severity for finding in report.findings) for severity in _HEADS}
    summary = ", ".join(f"{count} {severity}{'s' * (count != 1)}" for severity, count in counts.items())
    return "\n".join([*lines, "", summary]) + "\n"


def _numbers(statistics: Statistics) -> Iterator[str]:
    left_out = f", {statistics.left_out:,} left out" if statistics.left_out else ""
    labels = f", {counted(statistics.labels, 'different label')}" if statistics.labels is not None else ""
    yield f"{statistics.part}: {counted(statistics.examples, 'example')}{left_out}{labels}"
    for field, each in statistics.lengths.items() if statistics.examples else ():
        for lengths in each:
            yield (
                f"  {field}: {lengths.total:,} {lengths.unit}; half have at most {lengths.half:,}, "
                f"99 % at most {lengths.most:,}, the longest {lengths.longest:,}"
            )
        if field in statistics.unknown:
            yield f"  {field}: {statistics.unknown[field]:.2%} of the tokens are unknown"


def _finding(finding: Finding) -> Iterator[str]:
    share = f" ({finding.share:.2%})" if finding.share and finding.count > 1 else ""
    count = "" if finding.remedy == STOPS else f": {finding.count:,}{share}"
    yield f"{_HEADS[finding.severity]}: {finding.part}: {finding.title}{count}"
    for place in finding.places:
        yield f"    {place.where}" + (f"  {place.text}" if place.text else "")
    yield f"    → {finding.remedy}"
