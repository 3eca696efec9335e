"""F1 of spans is seqeval's."""

import pytest
import seqeval.metrics as seqeval
from seqeval.scheme import BILOU, IOB2, IOBES

from seqloom.evaluation import SpanF1, total
from seqloom.evaluation.build import label_metric
from seqloom.evaluation.spans import has_ends, kinds_of, marks_spans
from seqloom.settings import UserError
from tests.evaluation.tags import mixed, random_tags, score


@pytest.mark.parametrize("scheme", ["BI", "BIES", "BIE", "I"])
def test_lenient_spans_against_seqeval(scheme: str) -> None:
    wanted = random_tags(scheme, 300, 4)
    said = mixed(random_tags(scheme, 300, 3), wanted)
    kinds = kinds_of(tag for row in (*said, *wanted) for tag in row)
    for average in ("micro", "macro"):
        expected = 100 * seqeval.f1_score(wanted, said, average=average)
        assert score(SpanF1(kinds, average), said, wanted) == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(("letters", "scheme"), [("BI", IOB2), ("BIES", IOBES), ("BILU", BILOU)])
def test_strict_spans_against_seqeval(letters: str, scheme: type) -> None:
    wanted = random_tags(letters, 300, 6)
    said = mixed(random_tags(letters, 300, 5), wanted)
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
