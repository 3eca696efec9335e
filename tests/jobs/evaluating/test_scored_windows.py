"""Running text in windows: each token is scored once, and those that are asked for have so much before them."""

import math
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.answering.scoring import Given, score
from seqloom.jobs.evaluate import Evaluate, evaluate
from seqloom.jobs.evaluating.scored_windows import Windows, windows_of
from seqloom.settings import UserError
from seqloom.tasks.language import LanguageTask
from tests.jobs.asked_runs import Runs


@pytest.mark.parametrize(
    ("windows", "wanted"),
    [
        (Windows(4), [([0], [1, 2, 3, 4]), ([4], [5, 6, 7, 8]), ([8], [9, 10])]),
        (Windows(4, 2), [([0], [1, 2, 3, 4]), ([2, 3, 4], [5, 6]), ([4, 5, 6], [7, 8]), ([6, 7, 8], [9, 10])]),
        (Windows(4, 4), [([0], [1, 2, 3, 4]), ([4], [5, 6, 7, 8]), ([6, 7, 8], [9, 10])]),
        (Windows(20, 5), [([0], list(range(1, 11)))]),
    ],
)
def test_each_token_once(windows: Windows, wanted: list[tuple[list[int], list[int]]]) -> None:
    found = [(list(one.source), list(one.target)) for one in windows(np.arange(11))]
    assert found == wanted
    assert list(windows(np.arange(1))) == []


def test_more_before_each_token(runs: Runs, place: Path) -> None:
    """Of a window of six, two are scored: each token is as likely as it is given the four or five before it."""
    text = "".join(runs.files["text"].read_text().splitlines(keepends=True)[:3])
    (place / "test.txt").write_text(text)
    model = seqloom.load(runs["text"])
    assert isinstance(model.task, LanguageTask)
    ids = model.task.encoder([text.splitlines()])["target"].values_N.tolist()
    assert len(ids) > 12
    given = [Given(model.task.encoder.before[-1:], ids[:1])]
    for at in range(1, len(ids)):
        end = min(len(ids) - 1, max(6, 6 + 2 * -(-(at - 6) // 2)))
        given.append(Given(ids[max(0, end - 6) : at], [ids[at]]))
    nats = -sum(one.log_prob for one in score(model.networks, given, model.task.vocabulary, model.device))
    assert _perplexity(runs["text"], place, "context=6", "stride=2") == pytest.approx(
        math.exp(nats / len(ids)), rel=1e-4
    )
    assert _perplexity(runs["text"], place, "context=6") != pytest.approx(math.exp(nats / len(ids)), rel=1e-3)


def _perplexity(run: Path, place: Path, *changes: str) -> float:
    asked = tuple(f"evaluation.{change}" for change in changes)
    found, _ = evaluate(Evaluate((str(run),), (str(place / "test.txt"),), metrics=("perplexity",), changes=asked))
    return found.measured[0].score


@pytest.mark.parametrize(
    ("run", "settings", "message"),
    [
        ("pairs", EvaluationSettings(stride=3), "evaluation.stride: is of running text, and pairs reads none"),
        ("documents", EvaluationSettings(context=3), "evaluation.context: is of running text"),
        ("window", EvaluationSettings(stride=17), "evaluation.stride=17: more than the 16 tokens"),
    ],
)
def test_mistakes(runs: Runs, run: str, settings: EvaluationSettings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        windows_of(seqloom.load(runs[run]), run, settings)


def test_nothing_asked(runs: Runs) -> None:
    assert windows_of(seqloom.load(runs["pairs"]), "pairs", EvaluationSettings()) is None
