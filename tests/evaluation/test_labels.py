"""Accuracy and F1 are scikit-learn's."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as sklearn

from seqloom.evaluation import Accuracy, LabelF1, SpanF1, total
from tests.evaluation.tags import mixed, random_tags, score

WANTED = random_tags("BI", 60, 2)
SAID = mixed(random_tags("BI", 60, 1), WANTED)
FLAT_SAID, FLAT_WANTED = ([label for labels in rows for label in labels] for rows in (SAID, WANTED))


def test_labels_against_scikit_learn() -> None:
    kinds = {*FLAT_SAID, *FLAT_WANTED, "never"}
    assert score(Accuracy(), SAID, WANTED) == pytest.approx(100 * sklearn.accuracy_score(FLAT_WANTED, FLAT_SAID))
    for average in ("macro", "micro"):
        wanted = 100 * sklearn.f1_score(FLAT_WANTED, FLAT_SAID, average=average)
        assert score(LabelF1(kinds, average), SAID, WANTED) == pytest.approx(wanted)  # type: ignore[arg-type]


def test_a_label_said_but_never_wanted_counts_for_macro() -> None:
    said, wanted = [["x"], ["y"], ["z"]], [["x"], ["y"], ["y"]]
    kinds = {"x", "y", "z", "other"}
    flat = [label for (label,) in said], [label for (label,) in wanted]
    expected = 100 * sklearn.f1_score(flat[1], flat[0], average="macro", zero_division=0)
    assert score(LabelF1(kinds, "macro"), said, wanted) == pytest.approx(expected)


def test_each_label() -> None:
    metric = LabelF1({*FLAT_SAID, *FLAT_WANTED, "never"})
    found = metric.by_kind(total(metric.statistics(SAID, [WANTED])))
    names = sorted({*FLAT_SAID, *FLAT_WANTED})
    expected = sklearn.precision_recall_fscore_support(FLAT_WANTED, FLAT_SAID, labels=names, zero_division=0)
    assert [each.kind for each in found] == names
    rows = [(each.precision, each.recall, each.f1, each.wanted) for each in found]
    assert np.allclose(np.array(rows), np.stack([*(100 * np.stack(expected[:3])), expected[3]]).T)


def test_one_reference_alone() -> None:
    with pytest.raises(ValueError, match="accuracy compares with one reference, not 2"):
        Accuracy().statistics([["a"]], [[["a"]], [["b"]]])


def test_nothing_at_all() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(LabelF1({"a"}), [], []) == 0.0
        assert score(SpanF1({"a"}), [["O"]], [["O"]]) == 0.0
        assert score(Accuracy(), [], []) == 0.0
