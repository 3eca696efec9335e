"""`seqloom serve`: its help, and mistakes that are told before anything is served."""

from pathlib import Path

import pytest

from tests.cli.run import run
from tests.jobs.asked_runs import Runs


def test_its_help_has_an_example() -> None:
    said = run("serve", "--help")
    assert said.code == 0
    assert "seqloom serve runs/demo-dates" in said.out
    assert "/v1/predict" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "serving.lecture=false", "--port", "0"], "no run is named, and serving.lecture = false"),
        (["none"], "none: there is no such run; `seqloom train` makes one"),
        (["a=", "--port", "0"], "a=: should be NAME=RUN, but one of both is missing"),
        (["x", "x"], "x: is named twice; name each run once, or call them otherwise: NAME=x"),
        (["x", "--beam", "3"], "--beam: is no option of serve, but a setting: --set generation.beam=3"),
        (["x", "--queue=9"], "--queue: is no option of serve, but a setting: --set serving.queue=9"),
        (["x", "--set", "serving.seconds=0"], "--set serving.seconds=0: [serving] seconds"),
        (["x", "--set", "serving.token_file=none"], "none: the token cannot be read: No such file or directory"),
    ],
)
def test_mistakes(words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("serve", "--port", "0", *words)
    assert said.code == 2
    assert message in said.error


def test_settings_of_a_run_stay(runs: Runs) -> None:
    said = run("serve", str(runs["pairs"]), "--port", "0", "--set", "model.width=3")
    assert said.code == 2
    assert "--set model.width=3: a run is what it is; only how it writes can be changed" in said.error
