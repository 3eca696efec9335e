"""Who writes faster is found out by turns."""

from collections.abc import Iterator, Sequence

import pytest

from seqloom.generation.contract import Item, Written
from seqloom.jobs.answering import engine_trial
from seqloom.jobs.answering.engine_trial import Trial, Write

ITEMS = [Item([3], number, 5) for number in range(20)]


class Clock:
    now = 0.0

    def writes(self, seconds: Sequence[float], token: int = 7) -> Write:
        """An engine that takes so long, time after time."""
        left = iter(seconds)

        def write(items: Sequence[Item]) -> Iterator[tuple[int, list[Written]]]:
            self.now += next(left)
            return ((item.number, [Written((token,), 0.0, 0.0, (), True)]) for item in items)

        return write


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(engine_trial, "perf_counter", lambda: made.now)
    return made


@pytest.mark.parametrize(
    ("ours", "theirs", "faster"),
    [
        (
            [8.0, 1.0],
            [5.0, 2.0],
            0.5,
        ),  # ours had no kernels at first; then theirs is clearly slower: nobody looks again
        ([0.1, 8.0, 4.0], [5.0, 2.0, 2.0], 2.0),  # ours was disturbed when both were looked at
        ([8.0, 8.0, 8.0], [5.0, 8.0, 4.0], 2.0),  # theirs was
        ([8.0, 8.0, 9.0], [5.0, 4.0, 6.0], 2.0),  # both, later
    ],
)
def test_the_better_time_of_each_counts(clock: Clock, ours: list[float], theirs: list[float], faster: float) -> None:
    trial, own, other = Trial(), clock.writes(ours), clock.writes(theirs)
    trial.ours(own, ITEMS)
    assert trial.each == pytest.approx(ours[0] / len(ITEMS))
    verdict = trial.compared(own, other)
    assert (verdict.same, verdict.faster, verdict.count) == (True, faster, len(ITEMS))


def test_the_processor_is_asked_too(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    trial, own, other = Trial(), clock.writes([4.0, 4.0, 4.0]), clock.writes([1.0, 2.0, 2.0])
    # 9 of ours at first; 6 and 5 of theirs, 3 and 2 of ours
    worked = iter([0.0, 9.0, 10.0, 16.0, 20.0, 23.0, 30.0, 35.0, 40.0, 42.0])
    monkeypatch.setattr(engine_trial, "process_time", lambda: next(worked))
    trial.ours(own, ITEMS)
    verdict = trial.compared(own, other)
    assert (verdict.faster, verdict.lighter) == (2.0, 2 / 5)


def test_another_answer_is_not_looked_at_again(clock: Clock) -> None:
    trial, own = Trial(), clock.writes([1.0])
    trial.ours(own, ITEMS)
    assert not trial.compared(own, clock.writes([1.0, 0.5], token=8)).same
