"""What people see: lines that can be searched, and when; a clock that the test moves."""

import io
import math
from itertools import pairwise

import pytest

from seqloom.training.watch import SPARKS, Facts, History, View, Watcher


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def run(watcher: Watcher, clock: Clock, steps: range, seconds: float = 1.0, loss: float = 1.234) -> None:
    for step in steps:
        clock.now += seconds
        watcher.step(step, loss, 100)


def test_lines_are_whole_and_searchable(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher(stream=stream, clock=clock)  # no terminal: lines
    watcher.began(Facts("runs/x", steps=2000, about=["1.2 M parameters"]))
    run(watcher, clock, range(1, 401), 0.25)
    assert lines(stream)[0] == "1.2 M parameters"
    assert lines(stream)[1] == "step 1 of 2000   0%   loss 1.234   400 tokens/s"
    assert lines(stream)[2] == "step 41 of 2000   2%   loss 1.234   400 tokens/s   8 m 10 s left"
    assert lines(stream)[-1] == "step 361 of 2000   18%   loss 1.234   400 tokens/s   6 m 50 s left"
    assert len(lines(stream)) == 1 + 10  # at once, then every 10 of 100 seconds


def test_the_reward_is_shown_smoothed(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    for step, reward in enumerate((0.2, 0.4), 1):
        clock.now += 20
        watcher.step(step, 1.0, 100, reward=reward)
    assert "loss 1.000   reward 0.200" in lines(stream)[0]
    assert "loss 1.000   reward 0.210" in lines(stream)[1]


def test_later_a_line_every_half_minute(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    run(watcher, clock, range(1, 300))
    early = len(lines(stream))
    assert early == 30
    run(watcher, clock, range(300, 900))
    assert len(lines(stream)) - early == 20


def test_validations_and_the_best(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x", steps=10, best="loss"))
    run(watcher, clock, range(1, 3), 0.1)
    watcher.validated(2, 1.5, 87.125, "accuracy", best=True)
    clock.now += 2
    watcher.validated(4, 1.75, 80.0, "accuracy")
    watcher.note("a step was split")
    clock.now += 58
    watcher.ended("stopped early")
    assert lines(stream)[1:] == [
        "step 2 of 10   20%   valid loss 1.500   accuracy 87.12   best so far by loss",
        "step 4 of 10   20%   valid loss 1.750   accuracy 80.00   best by loss at step 2",
        "a step was split",
        "ended at step 4 of 10   1 m 00 s   best by loss at step 2: accuracy 87.12   stopped early",
    ]


def test_validations_that_come_fast_are_counted(clock: Clock, stream: io.StringIO) -> None:
    """As those of a small graph, ten in a second: whoever reads the log wants to know the best of all."""
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x", best="loss"))
    for step in range(1, 35):
        watcher.validated(step, 40.0 - step if step < 25 else 99.0, best=step < 25)
        clock.now += 0.125
    watcher.ended()
    watcher.__exit__(None, None, None)
    assert lines(stream) == [
        "step 1   valid loss 39.00   best so far by loss",
        "step 17   valid loss 23.00   best so far by loss   15 validations before it not shown",
        "step 33   valid loss 99.00   best by loss at step 24   15 validations before it not shown",
        "step 34   valid loss 99.00   best by loss at step 24",
        "ended at step 34   4 s   best by loss at step 24: valid loss 16.00",
    ]


def test_a_validation_that_waits_is_shown_before_the_next_is_made(clock: Clock, stream: io.StringIO) -> None:
    """As the second of a run, which comes soon, and the third a minute behind it."""
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    watcher.validated(1, 3.0)
    clock.now += 1
    watcher.validated(2, 2.0)
    run(watcher, clock, range(3, 6), 1.0)
    assert [line.split("   ")[:2] for line in lines(stream)[:2]] == [
        ["step 1", "valid loss 3.000"],
        ["step 2", "valid loss 2.000"],
    ]
    clock.now += 60
    watcher.validated(6, 1.0)
    assert lines(stream)[-1] == "step 6   valid loss 1.000"


def test_later_a_validation_every_ten_seconds(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    clock.now += 300
    for step in range(1, 12):
        watcher.validated(step, 1.0)
        clock.now += 5
    assert [line.split("   ")[0] for line in lines(stream)] == [f"step {step}" for step in (1, 3, 5, 7, 9, 11)]
    assert lines(stream)[-1] == "step 11   valid loss 1.000   1 validation before it not shown"


def test_a_run_that_breaks_off_keeps_its_last_validation(clock: Clock, stream: io.StringIO) -> None:
    with Watcher("lines", stream, clock) as watcher:
        watcher.began(Facts("x"))
        watcher.validated(1, 1.0)
        watcher.validated(2, 2.0)
    assert lines(stream)[1:] == ["step 2   valid loss 2.000"]


def test_without_a_score_the_loss_is_the_best(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    watcher.validated(5, 1.5, best=True)
    watcher.ended()
    assert lines(stream) == [
        "step 5   valid loss 1.500   best so far",
        "ended at step 5   0 s   best at step 5: valid loss 1.500",
    ]


def test_a_run_that_goes_on_knows_its_best(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("run", after=6, best="loss", found=(5, {"loss": 1.5, "accuracy": 80.0})))
    watcher.validated(8, 1.75)
    watcher.ended()
    assert lines(stream)[1:] == [
        "step 8   valid loss 1.750   best by loss at step 5",
        "ended at step 8   0 s   best by loss at step 5: valid loss 1.500",
    ]


@pytest.mark.parametrize(
    ("main", "best", "words"),
    [
        ("chrf", "chrf", "chrf 99.50"),
        ("chrf", "exact", "chrf 99.50, exact 80.00"),
        ("chrf", "loss", "chrf 99.50"),
        ("loss", "loss", "valid loss 1.500"),
        ("bleu", "exact", "exact 80.00"),
    ],
)
def test_the_best_of_before_is_told_by_its_scores(
    clock: Clock, stream: io.StringIO, main: str, best: str, words: str
) -> None:
    watcher = Watcher("lines", stream, clock)
    scores = {"loss": 1.5, "chrf": 99.5, "exact": 80.0}
    watcher.began(Facts("run", after=6, best=best, main=main, found=(5, scores)))
    watcher.ended()
    assert lines(stream)[-1] == f"ended at step 6   0 s   best by {best} at step 5: {words}"


@pytest.mark.parametrize("view", ["lines", "panel"])
def test_a_run_that_was_done(clock: Clock, stream: io.StringIO, view: View) -> None:
    with Watcher(view, stream, clock) as watcher:
        watcher.began(Facts("x", after=6, done=1.0, over="it is done", best="loss", found=(5, {"loss": 1.5})))
        watcher.ended("the time is over")
    assert lines(stream) == ["it is done", "best by loss at step 5: valid loss 1.500"]


def test_an_unknown_total_and_a_given_share(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    run(watcher, clock, range(1, 2))
    assert lines(stream) == ["step 1   loss 1.234   100 tokens/s"]
    clock.now += 29
    watcher.step(2, 1.234, 100, done=0.25, memory=5.12e8)
    assert lines(stream)[1] == "step 2   25%   loss 1.234   3 tokens/s   512 MB"
    clock.now += 30
    watcher.step(3, 1.234, 100, done=0.5)
    assert lines(stream)[2] == "step 3   50%   loss 1.234   3 tokens/s   512 MB   1 m 00 s left"


def test_a_run_that_goes_on_counts_its_own_time(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x", steps=100, after=50, done=0.5))
    run(watcher, clock, range(51, 57), 2.0)
    assert lines(stream)[0] == "goes on after step 50"
    assert lines(stream)[2].endswith("1 m 28 s left")


def test_the_time_left_is_not_told_before_it_is_known(clock: Clock, stream: io.StringIO) -> None:
    """Of a minute, six seconds went by before it began, and are done all the same; the first step is slow."""
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    shown = []
    for step, now in enumerate([1.0, 1.5, 1.9, 2.1, 4.0, 12.0], 1):
        clock.now = now
        watcher.step(step, 1.0, 100, done=(6 + now) / 60)
        shown.append(watcher._seen.left)
    assert shown[:3] == [None, None, None]
    assert shown[3:] == pytest.approx([51.9, 50.0, 42.0])
    watcher.step(7, 1.0, 100, done=0.05)  # what was prepared for a GPU counts no longer
    assert watcher._seen.left is None
    clock.now += 6
    watcher.step(8, 1.0, 100, done=0.15)
    assert watcher._seen.left == pytest.approx(51.0)


def test_the_loss_is_smoothed_and_bears_nan(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    for step, loss in enumerate([1.0, 3.0, math.nan, 2.0, 2.0], 1):
        clock.now += 10
        watcher.step(step, loss, 0)
    assert [line.split("   ")[1] for line in lines(stream)] == [
        "loss 1.000", "loss 2.026", "loss nan", "loss 2.000", "loss 2.000",
    ]  # fmt: skip


def test_the_time_of_a_validation_does_not_slow_the_steps(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    run(watcher, clock, range(1, 11))
    clock.now += 100
    watcher.validated(10, 1.0)
    clock.now += 50  # to save it
    run(watcher, clock, range(11, 12))
    assert "100 tokens/s" in lines(stream)[-1]
    run(watcher, clock, range(12, 40), 0.5)
    assert "200 tokens/s" in lines(stream)[-1]


def test_a_validation_behind_each_step(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x"))
    run(watcher, clock, range(1, 2), 20.0)  # the first one is slow
    for step in range(2, 9):
        run(watcher, clock, range(step, step + 1), 10.0)
        clock.now += 30
        watcher.validated(step, 1.0)
    run(watcher, clock, range(9, 10), 10.0)
    assert "10 tokens/s" in lines(stream)[-1]


def test_the_share_of_the_peak_is_that_of_the_speed(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x", full=400.0))
    run(watcher, clock, range(1, 12))
    assert "100 tokens/s   25% of peak" in lines(stream)[-1]


def test_no_run_is_faster_than_the_peak(clock: Clock, stream: io.StringIO) -> None:
    watcher = Watcher("lines", stream, clock)
    watcher.began(Facts("x", full=60.0))
    run(watcher, clock, range(1, 12))
    assert "100 tokens/s   100% of peak" in lines(stream)[-1]


def test_nothing_is_shown_to_who_wants_nothing(clock: Clock, stream: io.StringIO) -> None:
    with Watcher("none", stream, clock) as watcher:
        watcher.began(Facts("x", about=["y"]))
        run(watcher, clock, range(1, 5))
        watcher.validated(4, 1.0)
        watcher.note("z")
        watcher.ended()
    assert stream.getvalue() == ""


def test_a_history_tells_all_of_a_run() -> None:
    history = History()
    for value in range(1000):
        history.add(value)
    assert len(history.values) <= 2 * SPARKS
    assert history.values[0] < 50
    assert history.values[-1] > 950
    gaps = {after - before for before, after in pairwise(history.values)}
    assert len(gaps) == 1
