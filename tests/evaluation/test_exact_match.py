"""Exact matches, of any reference."""

from seqloom.evaluation import ExactMatch, total
from seqloom.evaluation.exact_match import SequenceErrorRate


def score(metric: ExactMatch, said: list[str], *wanted: list[str]) -> float:
    return float(metric.score(total(metric.statistics(said, wanted))))


def test_exact_match() -> None:
    assert score(ExactMatch(), ["a", "b", "C", "d "], ["a", "x", "c", "d"]) == 25.0
    assert score(ExactMatch(), ["a", "b", "C", "d "], ["a", "x", "c", "d"], ["", "b", "", ""]) == 50.0
    assert score(ExactMatch(lowercase=True), ["a", "b", "C", "d "], ["a", "x", "c", "d"]) == 50.0


def test_errors_are_the_rest() -> None:
    said, wanted, others = ["a", "b", "C"], ["a", "x", "c"], ["", "b", ""]
    assert score(SequenceErrorRate(), said, wanted, others) == 100 - score(ExactMatch(), said, wanted, others)
    assert not SequenceErrorRate().higher_is_better
    assert SequenceErrorRate().score(total(SequenceErrorRate().statistics(["a"], [["a"]]))) == 0
