"""What is done again of a comparison, and how long the rest is said to take."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.compare import compare
from seqloom.jobs.comparing.command import Compare
from seqloom.jobs.comparing.folder import ComparedFolder
from seqloom.jobs.comparing.result import load_result
from seqloom.jobs.comparing.system import systems_of
from seqloom.jobs.comparing.work import ANSWERS, Workshop
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.deciding.asked import Budget
from tests.jobs.run import PAIRS, write_pairs, write_recipe
from tests.jobs.series import RECIPE, write_series

FEW = ("evaluation.trials=100", "evaluation.resamples=100")


def _said(command: Compare) -> list[str]:
    heard = list[str]()
    compare(command, heard.append, view="lines")
    return heard


def test_metrics_are_counted_from_what_is_kept(
    place: Path, worked: list[Work], capfd: pytest.CaptureFixture[str]
) -> None:
    write_pairs(place / "pairs.tsv")
    write_pairs(place / "test.tsv", count=30, seed=2)
    write_recipe(place / "a.toml")
    command = Compare(
        ("a.toml",), ("pairs.tsv",), test=("test.tsv",), budget=Budget("epochs", 1.0), out=Path("out"), changes=FEW
    )
    assert _said(replace(command, metrics=("exact",))) == ["[1 of 1] a: trains for 1 epoch"]
    before = load_result(Path("out/answers/a.json"))
    assert before is not None
    assert before.said.likely is None
    assert _said(replace(command, metrics=("CHRF,cer",))) == ["[1 of 1] a: done before"]
    assert len(worked) == 1

    capfd.readouterr()
    assert _said(command) == ["[1 of 1] a: scores the references of the test"]
    assert _said(command) == ["[1 of 1] a: done before"]
    after = load_result(Path("out/answers/a.json"))
    assert after is not None
    assert replace(after, said=replace(after.said, likely=None)) == before
    scores = compare(command, view="none").scores["a"]
    alone = seqloom.evaluate("out/runs/a", data="test.tsv", metrics=["perplexity", "bpc"], changes=FEW).scores["a"]
    assert {name: scores[name] for name in alone} == alone
    assert _said(replace(command, changes=(*FEW, "generation.beam=2"))) == ["[1 of 1] a: answers the test"]
    assert "is done already" not in capfd.readouterr().err
    assert len(worked) == 3


def test_metrics_of_forecasts_are_counted_from_what_is_kept(place: Path, worked: list[Work]) -> None:
    write_series(place / "a.csv")
    write_series(place / "test.csv", steps=80, after=200)
    write_recipe(place / "r.toml", text=RECIPE)
    command = Compare(("r.toml",), ("a.csv",), test=("test.csv",), budget=Budget("epochs", 1.0), changes=FEW)
    usual = compare(replace(command, metrics=("mae",)), view="none")
    assert usual.scores["r"].keys() == {"mae"}
    assert compare(replace(command, metrics=("mse-units",)), view="none").scores["r"].keys() == {"mse-units"}
    assert {"crps", "coverage", "mae"} <= compare(command, view="none").scores["r"].keys()
    assert len(worked) == 1


def test_whatever_may_change_an_answer_has_it_asked_again(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    (place / "test.tsv").write_text("source\ttarget\tother\nab\tba\tx\n")
    (place / "other.tsv").write_text("source\ttarget\tother\nab\tbb\tx\n")
    write_recipe(place / "a.toml")
    plain = Compare(("a.toml",), ("pairs.tsv",), test=("test.tsv",), budget=Budget("epochs", 1.0))

    def key(settings: EvaluationSettings | None = None, run: bool = False, **changes: Any) -> str:
        command = replace(plain, **changes)
        (system,) = systems_of(command.systems, (plain if run else command).training(), place)
        system = replace(system, command=None) if run else system
        shop = Workshop(command, settings or EvaluationSettings(), ComparedFolder(Path("out")), print, "none")
        return shop._work(system).key

    same = key()
    assert {key(metrics=("cer",)), key(EvaluationSettings(trials=200)), key(out=Path("x")), key(force=True)} == {same}
    others = [
        key(test=("other.tsv",)),
        key(test=()),
        key(changes=("generation.beam=2",)),
        key(changes=("training.seed=2",)),
        key(budget=Budget("epochs", 2.0)),
        key(skip_bad=True),
        *(key(run=True, **more) for more in ({}, {"skip_bad": True}, {"target": "other"}, {"test": ("other.tsv",)})),
        key(EvaluationSettings(context=8)),
        key(EvaluationSettings(context=8, stride=4)),
    ]
    write_recipe(place / "a.toml", text=PAIRS.replace("width = 16", "width = 32"))
    others.append(key())
    assert len({same, *others}) == 1 + len(others)
    write_recipe(place / "a.toml")
    assert key() == same
    (place / "test.tsv").write_text("source\ttarget\tother\nab\tab\tx\n")
    assert key() != same


def test_forecasts_are_scored_on_the_test_part(place: Path, worked: list[Work]) -> None:
    """As `evaluate` does: the validation part chose the models."""
    write_series(place / "a.csv")
    write_recipe(place / "r.toml", text=RECIPE)
    command = Compare(("r.toml",), ("a.csv",), budget=Budget("epochs", 1.0), out=Path("out"), changes=FEW)
    found = compare(command, view="none")
    alone = seqloom.evaluate("out/runs/r", data="a.csv").scores
    assert found.scores["r"] == next(iter(alone.values()))
    said = repr(found)
    assert "what is kept back of a.csv" in said
    assert "a.csv: was trained on; its test part is forecast, from 2024-01-08 12:00:00 on" in said


@pytest.mark.parametrize(
    ("budget", "what", "took", "said"),
    [
        (Budget("minutes", 1), ["trains"] * 3, {}, "; at least 3 m 00 s left for all"),
        (Budget("minutes", 1), ["trains"] * 2, {"trains": [70.0, 80.0]}, "; about 2 m 30 s left for all"),
        (Budget("minutes", 1), ["trains", ANSWERS], {"trains": [70.0]}, "; at least 1 m 10 s left for all"),
        (Budget("minutes", 1), ["trains", ANSWERS], {ANSWERS: [9.0]}, "; at least 1 m 09 s left for all"),
        (Budget("epochs", 1), ["trains"] * 2, {}, ""),
        (Budget("epochs", 1), ["trains"] * 2, {"trains": [20.0]}, "; about 40 s left for all"),
        (None, [ANSWERS] * 2, {}, ""),
    ],
)
def test_how_long_the_rest_takes(
    budget: Budget | None, what: list[str], took: Mapping[str, list[float]], said: str
) -> None:
    command = Compare(("a",), budget=budget)
    folder = ComparedFolder(Path("out"))
    shop = Workshop(command, EvaluationSettings(), folder, lambda text: None, "none")
    assert shop._left(what, took) == said
