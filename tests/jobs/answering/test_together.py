"""Runs that answer together."""

import math

import pytest

import seqloom
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs


def test_runs_that_answer_together(runs: Runs) -> None:
    one, other = seqloom.load(runs["pairs"]), seqloom.load(runs["other"])
    both = seqloom.load([runs["pairs"], runs["other"]])
    answer = both.predict("abc")
    assert both.score("abc", answer).log_prob == pytest.approx(answer.log_prob, abs=1e-4)
    pieces = zip(one.score("abc", answer).pieces, other.score("abc", answer).pieces, strict=True)
    means = [math.log((math.exp(a.log_prob) + math.exp(b.log_prob)) / 2) for a, b in pieces]
    assert answer.log_prob == pytest.approx(sum(means), abs=1e-4)
    assert seqloom.load([runs["pairs"], runs["pairs"]]).predict("abc").text == one.predict("abc").text
    classes = seqloom.load([runs["classes"], runs["classes"]])
    assert classes.predict("good").probability == pytest.approx(
        seqloom.load(runs["classes"]).predict("good").probability
    )


def test_runs_that_do_not_go_together(runs: Runs) -> None:
    with pytest.raises(UserError, match=r"sentences: has another vocabulary than .*pairs"):
        seqloom.load([runs["pairs"], runs["sentences"]])
    with pytest.raises(UserError, match=r"tags: does another task \(tag\) than .*pairs \(translate\)"):
        seqloom.load([runs["pairs"], runs["tags"]])
