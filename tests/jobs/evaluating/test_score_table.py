"""Tables of scores: a row stays a row, whatever stands in a label."""

import numpy as np
import pytest

from seqloom.evaluation.confusion import confusion
from seqloom.evaluation.labels import LabelF1
from seqloom.evaluation.report import Counts, report
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.evaluation.slices import Slice
from seqloom.jobs.evaluating.score_table import tables
from seqloom.jobs.table import plain

ODD = ["a\tb", "c\nd", "e\x1bf", "g h"]


@pytest.mark.parametrize("labels", [ODD, [*ODD, *map(str, range(10))]])
def test_signs_that_would_break_a_row(labels: list[str]) -> None:
    said, wanted = [[label] for label in [*labels[1:], labels[0]]], [[label] for label in labels]
    metric = LabelF1(labels)
    counts = Counts(metric, (metric.statistics(said, [wanted]),))
    parts = [Slice("label", label, np.array([row])) for row, label in enumerate(labels)]
    found = report(["run"], [counts], EvaluationSettings(resamples=100), slices=parts)
    shown = tables(found, [("run", confusion(said, wanted))])
    assert shown[2].title.partition(": ")[2].startswith("macro F1 by label")
    for table in shown[1:]:
        lines = list(plain(table))
        assert len(lines) == len(table.rows) + 2
        text = "\n".join(lines)
        assert all(label in text for label in ("a⇥b", "c↵d", "e\\x1bf", "g h"))
        assert not {"\t", "\x1b"} & set(text)
        assert text.count("\n") == len(lines) - 1
