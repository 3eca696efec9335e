"""`seqloom compare`: its words, its exit codes."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.cli import spread
from seqloom.jobs import compare as module
from seqloom.jobs.comparing.command import Compare
from seqloom.jobs.comparing.compared import Compared, Row
from seqloom.jobs.deciding.asked import Budget
from seqloom.settings import UserError
from tests.cli.run import run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Compare]:
    """What was asked; `broken` among the systems fails."""
    commands = list[Compare]()

    def job(command: Compare, note: object) -> Compared:
        commands.append(command)
        if "stop" in command.systems:
            raise KeyboardInterrupt
        rows = tuple(Row(name, failed="memory") for name in command.systems if name == "broken")
        return Compared(rows, None, command.budget, "test", "cpu", False, ())

    monkeypatch.setattr(module, "compare", job)
    return commands


def test_words(asked: list[Compare]) -> None:
    words = "a b --data x y --test t --minutes 5 --ensemble --metrics bleu chrf --set training.batch=9 --out f --force"
    assert run("compare", *words.split()).code == 0
    assert asked[0] == Compare(
        ("a", "b"),
        ("x", "y"),
        test=("t",),
        budget=Budget("minutes", 5.0),
        out=Path("f"),
        metrics=("bleu", "chrf"),
        ensemble=("all",),
        changes=("training.batch=9",),
        force=True,
    )
    run("compare", "a", "b", "--ensemble", "a", "b", "--flops", "1e15", "--data", "x", "--baseline", "best")
    assert asked[1] == replace(
        Compare(("a", "b")), ensemble=("a", "b"), budget=Budget("flops", 1e15), data=("x",), baseline="best"
    )


def test_an_ensemble_of_all_or_of_some() -> None:
    assert spread(["a", "--ensemble"]) == ["a", "--ensemble", "all"]
    assert spread(["a", "--ensemble", "--force"]) == ["a", "--ensemble", "all", "--force"]
    assert spread(["--ensemble", "a", "b"]) == ["--ensemble", "a", "--ensemble", "b"]


def test_exit_codes(asked: list[Compare]) -> None:
    assert run("compare", "a", "--epochs", "1").code == 0
    failed = run("compare", "a", "broken", "--epochs", "1", "--format", "json")
    assert failed.code == 1
    assert '"failed": "memory"' in failed.out
    assert "kept in runs/compare" in failed.error
    stopped = run("compare", "stop", "--epochs", "1")
    assert (stopped.code, stopped.out) == (130, "")
    assert "the same command goes on" in stopped.error


def test_mistakes(asked: list[Compare], monkeypatch: pytest.MonkeyPatch) -> None:
    both = run("compare", "a", "--epochs", "1", "--minutes", "1")
    assert both.code == 2
    assert both.error.startswith("--minutes and --epochs: systems can be equal in one cost only")

    def refuse(command: Compare, note: object) -> Compared:
        raise UserError("no")

    monkeypatch.setattr(module, "compare", refuse)
    assert (run("compare", "a").code, run("compare", "a").error) == (2, "no\n")
    assert run("compare").code == 2


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("a.toml b.toml --ensemble a.toml b.toml", "a.toml b.toml --ensemble a --ensemble b"),
        # that is no system before: a recipe ends the names
        ("--data x.tsv a.toml --ensemble c.toml", "--data x.tsv a.toml c.toml --ensemble all"),
    ],
)
def test_recipes_that_write_together_may_be_named_as_files(said: str, meant: str) -> None:
    assert spread(said.split()) == meant.split()
