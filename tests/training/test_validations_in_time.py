"""Against the clock: how often a run is validated, and that the last validation ends in time."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from seqloom.models.build import Model
from seqloom.training import loop as loop_module
from seqloom.training.limits import Limits
from seqloom.training.loop import SPARE, Loop
from tests.training.small import Heard, Small


def _metrics(loop: Loop) -> list[dict[str, Any]]:
    return [json.loads(line) for line in loop.run.metrics.read_text().splitlines()]


def test_validations_do_not_eat_up_the_time(made: Small) -> None:
    def slow(model: Model) -> dict[str, float]:
        time.sleep(0.1)
        return {"loss": 1.0}

    loop = made.loop(validate=slow, limits=Limits(None, 1.5), every=1)
    steps = loop.train().step
    validations = sum("valid.loss" in line for line in _metrics(loop))
    assert 1 <= validations <= 5
    assert steps > validations, "one after each step was asked for"


def test_validations_that_were_asked_for_are_made(made: Small) -> None:
    def slow(model: Model) -> dict[str, float]:
        time.sleep(0.1)
        return {"loss": 1.0}

    loop = made.loop(validate=slow, limits=Limits(6, 100.0), every=2)
    loop.setup = replace(loop.setup, punctual=True)
    loop.train()
    assert [line["step"] for line in _metrics(loop) if "valid.loss" in line] == [2, 4, 6]


class Clock(Heard):
    """On which a step takes one second."""

    now = 0.0

    def step(self, metrics: Mapping[str, float], tokens: int, done: float) -> None:
        self.now += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(loop_module, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


@pytest.mark.parametrize(("punctual", "average"), [(False, 0), (False, 2), (True, 0), (True, 2)])
@pytest.mark.parametrize("seconds", [112, 118, 124, 133])
def test_the_last_validation_ends_in_time(
    made: Small, clock: Clock, punctual: bool, average: int, seconds: int
) -> None:
    """Also where another one was due shortly before."""

    def slow(model: Model) -> dict[str, float]:
        clock.now += 10
        return {"loss": 1.0}

    loop = made.loop(validate=slow, limits=Limits(None, seconds), every=7, average=average, heard=clock)
    loop.setup = replace(loop.setup, punctual=punctual)
    place = loop.train()
    if average:
        loop.choose()
    assert place.ended == "the time is over"
    assert seconds - 24 < clock.now <= seconds


def test_the_time_of_the_last_validation_is_kept_free(made: Small) -> None:
    loop = made.loop(limits=Limits(None, 100.0))
    loop.began = time.monotonic() - 50
    assert loop.done == pytest.approx(0.5, abs=0.01)
    loop.place.validation_seconds = 10.0
    assert loop.done == pytest.approx(50 / (100 - SPARE * 10), abs=0.01)


@pytest.mark.parametrize("records", [True, False])
def test_a_slow_first_validation_does_not_keep_others_away(made: Small, clock: Clock, records: bool) -> None:
    """Where it makes recordings, those behind it take a hundredth of its time."""
    took = iter([50, *[0.5] * 1000])

    def validate(model: Model) -> dict[str, float]:
        clock.now += next(took)
        return {"loss": 1.0}

    loop = made.loop(validate=validate, limits=Limits(None, 300), every=1, heard=clock)
    loop.records = records
    place = loop.train()
    assert (place.validations > 8) == records  # with nine times the first one's time between them: one, and the last


def test_a_run_that_goes_on_behind_its_slow_first_validation(made: Small) -> None:
    loop = made.loop(limits=Limits(None, 100.0))
    loop.records, loop.validated_at = True, time.monotonic() - 6
    loop.place.validation_seconds, loop.place.validations = 5.0, 1
    assert loop._affordable()
    loop.place.validations = 2
    assert not loop._affordable()


def test_slow_validations_are_few(made: Small) -> None:
    def validate(model: Model) -> dict[str, float]:
        time.sleep(0.1)
        return {"loss": 1.0}

    place = made.loop(validate=validate, limits=Limits(None, 3.0), every=1).train()
    assert place.validations <= 5  # the first, one each second, the last
