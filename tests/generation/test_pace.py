"""How many steps a call takes: no more than take the time of a turn, as far as anybody knows."""

import pytest

from seqloom.generation import GenerationSettings, Item, PairScorer, pace, write
from seqloom.generation.greedy import Greedy
from seqloom.generation.pace import FIRST, LONG, STEPS, TURN, Pace
from seqloom.generation.writing import Writing
from tests.generation.tiny import BEGIN, END, pair_model


def scorer() -> PairScorer:
    return PairScorer(pair_model("attention", 1, sharpness=3), BEGIN, END, never=[4])


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_as_many_as_take_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, known = Clock(), scorer()
    monkeypatch.setattr(pace, "time", clock)
    one = Pace(known)
    assert one.begin(rows=5) == FIRST, "nobody knows"
    clock.now += 4 * 0.0099
    one.end(steps=4)
    assert one.begin(rows=5) == 5
    clock.now += 5 * 1e-5
    one.end(steps=5)
    assert one.begin(rows=5) == STEPS
    one.turn = LONG
    clock.now += 4 * 0.0099
    one.end(steps=4)
    assert one.begin(rows=5) == 20, "nobody else is waiting"
    one.turn = TURN
    clock.now += 9.0
    one.end(steps=1)
    assert one.begin(rows=5) == 1
    clock.now += 0.0199
    one.end(steps=1)
    assert [Pace(known).begin(rows) for rows in (4, 5, 6)] == [2, 2, FIRST], "as many as others had, of no fewer rows"
    assert Pace(scorer()).begin(rows=1) == FIRST


@pytest.mark.parametrize("beam", [1, 3])
def test_whoever_writes_all_at_once_has_longer_turns(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, real = list[float](), Pace.begin
    monkeypatch.setattr(Pace, "begin", lambda self, rows: (turns.append(self.turn), real(self, rows))[1])
    list(write(scorer(), [Item([2, 3], 0, 8)], GenerationSettings(beam=beam)))
    assert set(turns) == {LONG}
    Writing(scorer(), GenerationSettings(beam=beam), attention=False).pace.begin(rows=1)
    assert turns[-1] == TURN


@pytest.mark.parametrize("beam", [1, 3])
def test_with_many_more_it_is_fewer(beam: int) -> None:
    """So that who is done does not wait as long as few rows may go on."""
    settings = GenerationSettings(beam=beam)
    writing = Greedy(scorer(), settings) if beam == 1 else Writing(scorer(), settings, attention=False)
    writing.begin([Item([2, 3], 0, 8)])
    writing.pace._some = 32
    writing.begin([Item([2, 3], 100 + number, 8) for number in range(7)])
    assert writing.pace._some == 4
    writing.begin([Item([2, 3], 200 + number, 8) for number in range(80)])
    assert writing.pace._some == 1, "slow ones do not begin anew with as many as nobody knows"
