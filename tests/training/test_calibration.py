"""Measuring the machine."""

from pathlib import Path

import pytest
import torch

from seqloom.settings import FailedError
from seqloom.training import calibration
from seqloom.training.calibration import Trial, calibrate, mixing, pace_here, step_of, timed, transformer
from seqloom.training.pace import Pace


def _few() -> list[Trial]:
    return [
        Trial(transformer(32, 1), 64, 8, 50),
        Trial(transformer(32, 3), 64, 8, 50),
        Trial(transformer(64, 1, "encoder-decoder"), 256, 16, 50),
        Trial(mixing(32, 1, kind="recurrence", cell="gru"), 64, 8, 50),
    ]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(calibration, "trials", _few)
    monkeypatch.setattr(calibration, "PRODUCTS", 1e5)
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path))
    return tmp_path


def test_every_trial_can_be_built_and_has_a_load() -> None:
    for trial in calibration.trials():
        assert trial.load().parts > 0
        trial.settings()


def test_a_step_learns(few: Path) -> None:
    step = step_of(_few()[0])
    losses = [float(step()) for _ in range(8)]
    assert losses[-1] < losses[0]


def test_more_work_is_foretold_to_take_longer(few: Path) -> None:
    pace = calibrate(turns=2)
    small, large = (Trial(transformer(64, depth), 512, 16, 50).load() for depth in (1, 8))
    assert 0 < pace.predict(small) < pace.predict(large)


def test_it_is_measured_once(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pace_here() is None
    first = pace_here(measure=True)
    monkeypatch.setattr(calibration, "calibrate", lambda: pytest.fail("measured a second time"))
    assert pace_here() == first
    assert pace_here(measure=True) == first


def test_a_disk_that_is_full_costs_the_measurement_alone(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise FailedError(f"{path}: cannot be written: the disk is full")

    monkeypatch.setattr(calibration, "write_text", full)
    assert pace_here(measure=True) is not None
    assert pace_here() is None


def test_a_damaged_file_is_measured_anew(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pace_here(measure=True)
    (file,) = (few / "pace").iterdir()
    file.write_text("{", encoding="utf-8")
    assert pace_here() is None
    monkeypatch.setattr(calibration, "calibrate", lambda: Pace(((1.0,),), {}))
    assert pace_here(measure=True) is not None


def test_nobody_elses_random_numbers_change(few: Path) -> None:
    torch.manual_seed(3)
    wanted = torch.rand(3)
    torch.manual_seed(3)
    calibrate(turns=1)
    assert torch.equal(torch.rand(3), wanted)


def test_time_is_not_negative() -> None:
    assert timed(lambda: sum(range(1000))) >= 0
