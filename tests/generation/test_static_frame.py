"""The device goes on while the host looks at who was done: a run late, and nobody is taken for another."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.generation import static_writing
from seqloom.generation.contract import Item
from seqloom.generation.greedy_books import GreedyBooks
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.on_its_way import OnItsWay
from seqloom.generation.scorer import PairScorer
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.static_frame import LOOK, Frame
from seqloom.generation.static_writing import Static
from seqloom.layers.recording import Tape
from tests.generation.test_static_writing import scorer_of
from tests.generation.tiny import END

WORD = 2
ENDS = 9.0


class Told:
    """A scorer whose rows say what they are told to. steps: that it was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, told: Callable[[int], dict[int, float]]) -> None:
        """told: of a step, counted from 1, by rows: how good the end mark is, where a word is worth 5."""
        self.steps = 0
        scorer = scorer_of("attention")
        assert isinstance(scorer, PairScorer)
        self.scorer, scores = scorer, scorer.scores

        def made(last_R: Tensor, state: Any) -> tuple[Tensor, Any]:
            scores_RV, after = scores(last_R, state)
            scores_RV = torch.zeros_like(scores_RV)
            scores_RV[:, WORD] = 5
            self.steps += 1
            for row, score in told(self.steps).items():
                if row < len(scores_RV):
                    scores_RV[row, END] = score
            return scores_RV, after

        monkeypatch.setattr(scorer, "scores", made)

    def frame(self, count: int, longest: int) -> Frame:
        """So many items, in the first of 32 places."""
        example = self.scorer.start(items(1, 1))[0]
        frame = Frame(self.scorer, GenerationSettings(beam=1), Tape(self.scorer.device), example, 32, 16, 16)
        assert frame.read(items(count, longest))
        return frame


def items(count: int, longest: int, first: int = 0) -> list[Item]:
    return [Item([2, 3], first + number, longest) for number in range(count)]


def leaving(frame: Frame) -> dict[int, int]:
    """Who leaves now, by numbers: how long the answers are."""
    return {item.number: len(answers[0].tokens) for item, answers in frame.done().answers()}


def test_a_look_is_not_read_before_more_steps_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, read = [0], OnItsWay.read

    def counted(self: OnItsWay) -> list[Tensor]:
        reads[0] += 1
        return read(self)

    monkeypatch.setattr(OnItsWay, "read", counted)
    told = Told(monkeypatch, lambda step: {0: ENDS} if step == 1 else {})
    frame = told.frame(2, longest=10)
    frame.run()
    assert leaving(frame) == {}
    assert reads[0] == 0, "the device would have nothing to do"
    frame.run()
    assert leaving(frame) == {0: 0}


def test_the_last_steps_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are none to ask for behind them."""
    told = Told(monkeypatch, lambda step: {})
    frame = told.frame(3, longest=LOOK)
    frame.run()
    frame.run()
    assert told.steps == LOOK + 1
    frame.run()
    assert told.steps == LOOK + 1
    assert leaving(frame) == {0: LOOK, 1: LOOK, 2: LOOK}


def test_steps_are_asked_for_until_the_longest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the shortest, nobody waits."""
    told = Told(monkeypatch, lambda step: {})
    frame = told.frame(1, longest=LOOK - 1)
    assert frame.read(items(1, 4 * LOOK, first=1))
    frame.run()
    frame.run()
    assert told.steps == 2 * LOOK
    assert leaving(frame) == {0: LOOK - 1}


def test_a_late_look_frees_no_place_that_another_has_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch, lambda step: {0: ENDS} if step == 1 else {})
    frame = told.frame(2, longest=9)
    frame.run()
    frame.run()
    assert leaving(frame) == {0: 0}
    assert frame.read(items(1, 9, first=7))  # takes the place; a look that is on its way says that it is done
    frame.run()
    assert leaving(frame) == {}
    lengths = dict[int, int]()
    while frame.writs:
        frame.run()
        lengths |= leaving(frame)
    assert lengths == {1: 9, 7: 9}


@pytest.mark.parametrize("ends", [True, False])
def test_looks_know_who_was_moved(monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    """From the last place to the first, whose owner was done when the look was made."""

    def told(step: int) -> dict[int, float]:
        return dict.fromkeys(range(19), ENDS) if step == 1 else {19: ENDS} if step == LOOK + 1 and ends else {}

    frame = Told(monkeypatch, told).frame(20, longest=12)
    frame.run()
    frame.run()
    assert set(leaving(frame)) == set(range(19))
    frame.narrow()
    assert set(frame.writs) == {0}
    frame.run()
    assert leaving(frame) == ({19: LOOK} if ends else {})
    while frame.writs:
        frame.run()
        assert leaving(frame) == ({} if frame.writs else {19: 12})


def test_answers_are_read_where_the_look_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU may not have come to the move yet when they are."""

    def told(step: int) -> dict[int, float]:
        return dict.fromkeys(range(18), ENDS) if step == 1 else {18: ENDS} if step == LOOK + 1 else {}

    frame = Told(monkeypatch, told).frame(20, longest=12)
    left, leave = list[list[int]](), GreedyBooks.leave

    def watched(self: GreedyBooks, items_A: Tensor, most: int) -> OnItsWay:
        left.append(items_A.tolist())
        return leave(self, items_A, most)

    monkeypatch.setattr(GreedyBooks, "leave", watched)
    frame.run()
    frame.run()
    assert len(leaving(frame)) == 18
    frame.narrow()
    assert set(frame.writs) == {0, 1}
    frame.run()
    assert leaving(frame) == {18: LOOK}
    assert left == [list(range(18)), [18]]


@pytest.mark.parametrize("ends", [3, 4, 5, 8])
def test_few_steps_are_for_nothing(monkeypatch: pytest.MonkeyPatch, ends: int) -> None:
    told = Told(monkeypatch, lambda step: dict.fromkeys(range(40), ENDS) if step == ends else {})
    found = dict(write(told.scorer, items(40, 30), GenerationSettings(beam=1, batch=64), static=Static(told.scorer)))
    assert {len(answers[0].tokens) for answers in found.values()} == {ends - 1}
    assert told.steps == -(-ends // LOOK) * LOOK + LOOK


@pytest.mark.parametrize("beam", [1, 2])
def test_no_steps_behind_the_longest_answer(monkeypatch: pytest.MonkeyPatch, beam: int) -> None:
    told = Told(monkeypatch, lambda step: {})
    settings = GenerationSettings(beam=beam, batch=16)
    found = dict(write(told.scorer, items(10, 6), settings, static=Static(told.scorer)))
    assert [len(answers[0].tokens) for answers in found.values()] == [6] * 10
    assert told.steps == 7


def test_the_device_has_work_while_many_answers_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_writing, "HANDED", 4)
    told = Told(monkeypatch, lambda step: dict.fromkeys(range(24), ENDS) if step == 1 else {})
    reading = write(told.scorer, items(32, 30), GenerationSettings(beam=1, batch=32), static=Static(told.scorer))
    asked = list[int]()
    for _ in range(24):
        next(reading)
        asked.append(told.steps)
    assert asked == [3 * LOOK] * 8 + [4 * LOOK] * 8 + [5 * LOOK] * 8


@pytest.mark.parametrize("stop", [True, False])
def test_no_look_is_left_over(monkeypatch: pytest.MonkeyPatch, stop: bool) -> None:
    told = Told(
        monkeypatch, lambda step: {0: ENDS} if step == 3 else dict.fromkeys(range(16), ENDS) if step > 9 else {}
    )
    static = Static(told.scorer)
    reading = write(told.scorer, items(5, 20), GenerationSettings(beam=1, batch=16), static=static)
    next(reading)
    (frame,) = static._frames.values()
    assert frame._looks
    if stop:
        reading.close()  # type: ignore[attr-defined]
    else:
        assert len(list(reading)) == 4
    assert not frame._looks
    assert not frame.writs
    assert frame.books.done_A.all()


@pytest.mark.parametrize(("beam", "row"), [(1, 0), (3, 0), (3, 2)])
def test_scores_that_become_no_numbers(monkeypatch: pytest.MonkeyPatch, beam: int, row: int) -> None:
    """Of a single row, on the way."""
    told = Told(monkeypatch, lambda step: {row: torch.nan} if step == 4 else {})
    with pytest.raises(NoNumbersError):
        list(write(told.scorer, items(5, 20), GenerationSettings(beam=beam), static=Static(told.scorer)))
    assert told.steps <= 4 + 2 * LOOK
