"""Accuracy and F1 are scikit-learn's, F1 of spans is seqeval's."""

import random
import warnings

import numpy as np
import pytest
import seqeval.metrics as seqeval
import sklearn.metrics as sklearn
from seqeval.scheme import BILOU, IOB2, IOBES

from seqloom.evaluation import Accuracy, LabelF1, Metric, SpanF1, total
from seqloom.evaluation.build import label_metric
from seqloom.evaluation.labels import Labels
from seqloom.evaluation.spans import has_ends, kinds_of, marks_spans
from seqloom.settings import UserError


def _tags(scheme: str, count: int, seed: int) -> list[list[str]]:
    """Tags at random: well and badly formed."""
    draw = random.Random(seed)
    names = ["O", *(f"{prefix}-{kind}" for prefix in scheme for kind in ("PER", "LOC", "a-b"))]
    return [draw.choices(names, k=draw.randint(1, 9)) for _ in range(count)]


def score(metric: Metric[Labels], said: list[list[str]], wanted: list[list[str]]) -> float:
    return float(metric.score(total(metric.statistics(said, [wanted]))))


def _mixed(said: list[list[str]], wanted: list[list[str]]) -> list[list[str]]:
    """As long as what is wanted, and every other example right."""
    fitted = [(one * 9)[: len(other)] for one, other in zip(said, wanted, strict=True)]
    return [other if at % 2 else one for at, (one, other) in enumerate(zip(fitted, wanted, strict=True))]


WANTED = _tags("BI", 60, 2)
SAID = _mixed(_tags("BI", 60, 1), WANTED)
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


@pytest.mark.parametrize("scheme", ["BI", "BIES", "BIE", "I"])
def test_lenient_spans_against_seqeval(scheme: str) -> None:
    wanted = _tags(scheme, 300, 4)
    said = _mixed(_tags(scheme, 300, 3), wanted)
    kinds = kinds_of(tag for row in (*said, *wanted) for tag in row)
    for average in ("micro", "macro"):
        expected = 100 * seqeval.f1_score(wanted, said, average=average)
        assert score(SpanF1(kinds, average), said, wanted) == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(("letters", "scheme"), [("BI", IOB2), ("BIES", IOBES), ("BILU", BILOU)])
def test_strict_spans_against_seqeval(letters: str, scheme: type) -> None:
    wanted = _tags(letters, 300, 6)
    said = _mixed(_tags(letters, 300, 5), wanted)
    metric = label_metric("span-f1-strict", wanted, said)
    expected = 100 * seqeval.f1_score(wanted, said, mode="strict", scheme=scheme)
    assert score(metric, said, wanted) == pytest.approx(expected)
    assert score(metric, said, wanted) != pytest.approx(score(label_metric("span-f1", wanted, said), said, wanted))
    assert f"mode:strict-{'bio' if letters == 'BI' else 'bioes'}" in metric.signature()


def test_spans_by_type() -> None:
    said, wanted = [["B-A", "I-A", "O", "B-B"]], [["B-A", "I-A", "O", "O"]]
    metric = SpanF1({"A", "B"})
    a, b = metric.by_kind(total(metric.statistics(said, [wanted])))
    assert (a.kind, a.precision, a.recall, a.f1, a.wanted) == ("A", 100, 100, 100, 1)
    assert (b.kind, b.precision, b.recall, b.f1, b.wanted) == ("B", 0, 0, 0, 0)


def test_tags_that_mark_no_spans() -> None:
    assert marks_spans(["O", "B-PER", "U-x"])
    assert not marks_spans(["O", "NOUN"])
    assert not marks_spans(["O"])
    assert not marks_spans(["B"])
    assert has_ends(["B-x", "L-x"])
    assert not has_ends(["B-x", "I-x"])
    with pytest.raises(UserError, match="'NOUN' marks no span: such tags are O, or begin with B-, I-, E- or S-"):
        SpanF1({"x"}).spans(["NOUN"])


def test_one_reference_alone() -> None:
    with pytest.raises(ValueError, match="accuracy compares with one reference, not 2"):
        Accuracy().statistics([["a"]], [[["a"]], [["b"]]])


def test_nothing_at_all() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(LabelF1({"a"}), [], []) == 0.0
        assert score(SpanF1({"a"}), [["O"]], [["O"]]) == 0.0
        assert score(Accuracy(), [], []) == 0.0
