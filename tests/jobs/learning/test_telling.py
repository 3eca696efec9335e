"""What a run tells: bounded memory, and files that are closed."""

from pathlib import Path

import pytest

from seqloom.jobs.learning import telling as module
from seqloom.jobs.learning.telling import Telling, thinned
from seqloom.store import RunFolder
from seqloom.training.watch import Facts


def test_a_long_run_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 100)
    run = RunFolder(tmp_path)
    with Telling(run, "loss", "none") as telling:
        telling.begin(Facts("x"), 1.0, 1.0)
        for step in range(1, 1001):
            telling.step({"step": step, "loss": 1 / step}, 10, step / 1000)
            if step % 100 == 0:
                telling.validated({"step": step, "valid.loss": 1 / step}, True)
        assert len(telling.lines) <= 100
        steps = [line["step"] for line in telling.lines]
        assert steps == sorted(steps)
        assert steps[0] == 1
        assert sum("valid.loss" in line for line in telling.lines) == 10
        telling.draw()
    assert run.curves.read_text().startswith("<svg")


def test_the_speed_is_that_of_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the unit of a batch's budget: a class is one token that counts, of a whole text that is read."""
    clock = iter(range(100))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    told = list[int]()
    with Telling(RunFolder(tmp_path), "loss", "none") as telling:
        monkeypatch.setattr(telling.watcher, "step", lambda step, loss, tokens, *rest, **more: told.append(tokens))
        telling.begin(Facts("x"), 2.0, 100.0, read=30.0)
        telling.step({"step": 1, "loss": 1.0}, 10, 0.5)
        assert telling.watcher._seen.facts.full == 1500.0  # 50 that count, 30 that are read for each
    assert told == [300]


def test_tensorboard_hears_of_steps_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a validation a checkpoint is saved: the first step behind it has no speed."""
    heard = dict[int, set[str]]()
    with Telling(RunFolder(tmp_path), "loss", "none") as telling:
        telling.begin(Facts("x"), 1.0, 1.0)
        assert telling.events is not None
        monkeypatch.setattr(telling.events, "scalars", lambda step, values: heard.setdefault(step, set(values)))
        for step in 1, 2, 3:
            telling.step({"step": step, "loss": 1.0}, 10, 0.5)
            if step == 1:
                telling.validated({"step": 1, "valid.loss": 1.0}, True)
    speeds = {step for step, names in heard.items() if any(name.startswith("speed/") for name in names)}
    assert speeds == {1, 3}


def test_many_validations_are_thinned_too() -> None:
    lines = [{"step": step, "valid.loss": 1.0} for step in range(100)]
    assert len(thinned(lines)) == 50


@pytest.mark.parametrize(
    ("best", "more"), [("span-f1", "   span-f1 70.50"), ("accuracy", ""), ("loss", ""), ("gone", "")]
)
def test_the_score_that_chooses_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], best: str, more: str
) -> None:
    with Telling(RunFolder(tmp_path), "accuracy", "lines") as telling:
        telling.begin(Facts("x", best=best), 1.0, 1.0)
        telling.validated({"step": 5, "valid.loss": 0.5, "valid.accuracy": 80.0, "valid.span-f1": 70.5}, True)
        telling.watcher.ended()
    line, end = capsys.readouterr().err.splitlines()
    assert line == f"step 5   valid loss 0.500   accuracy 80.00{more}   best so far by {best}"
    assert end.endswith(f"best by {best} at step 5: accuracy 80.00{more.replace('   ', ', ')}")
