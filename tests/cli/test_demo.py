"""`seqloom demo`: its words; what it does is tested with the job."""

import sys
from pathlib import Path

import pytest

from tests.cli.run import run


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_unknown_demo(tmp_path: Path) -> None:
    ran = run("demo", "datse")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error == (
        "there is no demo 'datse'; did you mean 'dates'? The demos are dates, numbers, phonemes, digits\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "num2words", None)
    ran = run("demo", "numbers")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error.endswith("the package num2words, which is not installed: pip install 'seqloom[demos]'\n")
    assert not list(tmp_path.iterdir())


def test_a_file_where_the_run_should_be(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    ran = run("demo", "digits", "--out", "taken")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error == "taken: is a file; --out names a folder\n"


def test_digits_from_beginning_to_end(tmp_path: Path) -> None:
    ran = run("demo", "digits", "--minutes", "0.02", "--out", "mine")
    assert ran.code == 0, ran.error
    assert " % of 359 digits that it never saw are right (" in ran.out
    assert "\x1b" not in ran.out
    assert "run folder: mine" in ran.error
    again = run("demo", "digits", "--minutes", "0.02", "--out", "mine")
    assert again.out.splitlines()[1:] == ran.out.splitlines()[1:]
    assert "step" not in again.error
