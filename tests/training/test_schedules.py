"""Schedules against their formulas; the same for steps and for minutes; the plateau's state."""

import json
import math

import pytest

from seqloom.settings import Frozen, SettingsError, dump, loads
from seqloom.training.schedules import (
    Constant,
    Cosine,
    InverseSqrt,
    Linear,
    Plateau,
    Progress,
    Schedule,
    ScheduleSettings,
    WarmupStableDecay,
    build_schedule,
    peak_of_2017,
)

TOTAL = 200
ALL: list[ScheduleSettings] = [InverseSqrt(), Cosine(), WarmupStableDecay(), Linear(), Constant(), Plateau()]


def at(settings: ScheduleSettings, step: int, total: int = TOTAL) -> float:
    return build_schedule(settings).factor(Progress(step, (step - 1) / total))


def curve(settings: ScheduleSettings) -> list[float]:
    return [at(settings, step) for step in range(1, TOTAL + 1)]


@pytest.mark.parametrize("step", [1, 2, 100, 3999, 4000, 4001, 100_000])
def test_the_schedule_of_2017(step: int) -> None:
    ours = peak_of_2017(512, 4000) * at(InverseSqrt(warmup=4000), step, 100_000)
    assert ours == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5), rel=1e-12)


def test_inverse_sqrt_without_warmup_and_by_share() -> None:
    assert at(InverseSqrt(warmup=0), 16) == 0.25
    assert at(InverseSqrt(warmup=0.1), 11) == pytest.approx(0.5)
    assert at(InverseSqrt(warmup=0.1), 81) == pytest.approx(0.5)


@pytest.mark.parametrize("settings", ALL)
def test_all_rise_to_the_peak_and_stay_in_bounds(settings: ScheduleSettings) -> None:
    risen = curve(settings.model_copy(update={"warmup": 20}))
    assert risen[:20] == pytest.approx([step / 20 for step in range(1, 21)])
    assert max(risen) == 1
    assert all(0 <= factor <= 1 for factor in risen)
    shared = curve(settings.model_copy(update={"warmup": 0.1}))
    assert shared[0] == 0.01
    assert shared[10] == pytest.approx(0.5)
    assert shared[20] == pytest.approx(1)


@pytest.mark.parametrize("warmup", [20, 0.1])
def test_cosine(warmup: float) -> None:
    for step in (21, 50, 111, 200):
        over = (step - 1 - 20) / 180
        expected = 0.1 + 0.9 * (1 + math.cos(math.pi * over)) / 2
        assert at(Cosine(warmup=warmup, floor=0.1), step) == pytest.approx(expected)
    assert build_schedule(Cosine(warmup=warmup, floor=0.1)).factor(Progress(201, 1.0)) == pytest.approx(0.1)


@pytest.mark.parametrize("warmup", [20, 0.1])
def test_linear(warmup: float) -> None:
    assert at(Linear(warmup=warmup), 111) == pytest.approx(0.5)
    assert at(Linear(warmup=warmup), 200) == pytest.approx(1 / 180)


def test_warmup_stable_decay() -> None:
    linear = WarmupStableDecay(warmup=10, decay=0.5, shape="linear")
    assert at(linear, 10) == at(linear, 101) == 1
    assert at(linear, 151) == pytest.approx(0.5)
    root = WarmupStableDecay(warmup=10, decay=0.5, floor=0.2)
    assert at(root, 101 + 25) == pytest.approx(0.2 + 0.8 * 0.5)
    assert build_schedule(root).factor(Progress(201, 1.0)) == pytest.approx(0.2)


def test_minutes_anneal_to_the_end_as_steps_do() -> None:
    """With a pace that changes: half the steps in a tenth of the time."""
    schedule = build_schedule(Cosine(warmup=10))
    factors = []
    for step in range(1, 202):
        done = (step - 1) / 1000 if step <= 101 else 0.1 + 0.9 * (step - 101) / 100
        factors.append(schedule.factor(Progress(step, done)))
    assert factors[10] == pytest.approx(1)
    assert factors[10:] == sorted(factors[10:], reverse=True)
    assert factors[-1] == pytest.approx(0, abs=1e-12)


def test_a_warmup_longer_than_the_run_only_rises() -> None:
    assert at(Cosine(warmup=1000), 200) == pytest.approx(0.2)
    assert at(InverseSqrt(warmup=1000), 200) == pytest.approx(0.2)


def plateau(scores: list[float], schedule: Schedule | None = None) -> list[float]:
    schedule = schedule or build_schedule(Plateau(patience=2, factor=0.5, least=0.2))
    factors = []
    for score in scores:
        schedule.saw(score)
        factors.append(schedule.factor(Progress(5, 0.5)))
    return factors


def test_plateau_falls_when_nothing_gets_better() -> None:
    assert plateau([1, 2, 2, 1.9, 3, 2, 2, 2, 2, 2, 2]) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2]


def test_plateau_goes_on_from_its_state_and_bears_nan() -> None:
    scores = [float("nan"), 1, float("nan"), 0.5, 0.4, 0.3, 0.2]
    straight = plateau(scores)
    assert straight == [1, 1, 1, 0.5, 0.5, 0.25, 0.25]
    for cut in range(len(scores)):
        first = build_schedule(Plateau(patience=2, factor=0.5, least=0.2))
        before = plateau(scores[:cut], first)
        second = build_schedule(Plateau(patience=2, factor=0.5, least=0.2))
        second.load(json.loads(json.dumps(first.state())))
        assert before + plateau(scores[cut:], second) == straight


def test_the_others_have_no_state() -> None:
    schedule = build_schedule(Cosine())
    schedule.saw(1.0)
    assert schedule.state() == {}
    schedule.load({})
    with pytest.raises(ValueError, match="another schedule than cosine"):
        schedule.load(build_schedule(Plateau()).state())
    with pytest.raises(ValueError, match="another schedule than plateau: empty"):
        build_schedule(Plateau()).load({})


@pytest.mark.parametrize(("step", "done"), [(0, 0.0), (1, -0.1), (1, 1.1), (1, float("nan"))])
def test_progress_is_checked(step: int, done: float) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        Progress(step, done)


class Holder(Frozen):
    schedule: ScheduleSettings


def test_settings_from_a_recipe() -> None:
    steps = loads('schedule = { kind = "cosine", warmup = 300 }', Holder)
    assert (steps.schedule.warmup, type(steps.schedule.warmup)) == (300, int)
    share = loads('schedule = { kind = "cosine", warmup = 0.1 }', Holder)
    assert share.schedule.warmup == 0.1
    assert loads(dump(steps), Holder) == steps
    with pytest.raises(SettingsError, match=r"warmup should be a whole number .* or a number .*below 1.*, not 1.5"):
        loads('schedule = { kind = "cosine", warmup = 1.5 }', Holder)
    with pytest.raises(SettingsError, match="more than the run"):
        loads('schedule = { kind = "warmup-stable-decay", warmup = 0.5, decay = 0.6 }', Holder)
