"""Exact matches, of any reference."""

from seqloom.evaluation import ExactMatch, total


def score(metric: ExactMatch, said: list[str], *wanted: list[str]) -> float:
    return float(metric.score(total(metric.statistics(said, wanted))))


def test_exact_match() -> None:
    assert score(ExactMatch(), ["a", "b", "C", "d "], ["a", "x", "c", "d"]) == 25.0
    assert score(ExactMatch(), ["a", "b", "C", "d "], ["a", "x", "c", "d"], ["", "b", "", ""]) == 50.0
    assert score(ExactMatch(lowercase=True), ["a", "b", "C", "d "], ["a", "x", "c", "d"]) == 50.0
