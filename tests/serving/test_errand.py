"""Other work in a desk's thread: a part at a time, while answers go on; given up when nobody waits."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seqloom.jobs.lecture import lecture
from seqloom.serving import desk as desks
from seqloom.serving.counts import Counts
from seqloom.serving.desk import Desk
from seqloom.serving.errand import END, UNREAD, Errand, Until
from seqloom.serving.refusal import RefusalError
from tests.serving.live import until


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk("lecture", lecture(), (), 100, Counts())
    yield made
    made.close()


def test_parts_come_in_their_order_and_nothing_is_not_told(desk: Desk) -> None:
    heard = list[Any]()
    desk.run(Errand(lambda: iter([1, None, 2]), heard.append))
    until(lambda: END in heard)
    assert heard == [1, 2, END]


def test_it_is_done_in_the_desk_s_own_thread(desk: Desk) -> None:
    heard = list[Any]()

    def parts() -> Iterator[str]:
        yield threading.current_thread().name

    desk.run(Errand(parts, heard.append))
    until(lambda: heard)
    assert heard[0] == "desk lecture"


def test_two_take_turns(desk: Desk) -> None:
    heard, begin = list[Any](), threading.Event()

    def parts(name: str) -> Iterator[str]:
        begin.wait()
        yield from [name] * 3

    for name in "ab":
        desk.run(Errand(lambda name=name: parts(name), heard.append))  # type: ignore[misc]
    begin.set()
    until(lambda: heard.count(END) == 2)
    assert heard[:6] == list("ababab")


def test_what_fails_is_told_and_others_go_on(desk: Desk) -> None:
    heard = list[Any]()

    def parts() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    desk.run(Errand(parts, heard.append))
    desk.run(Errand(lambda: iter([7]), heard.append))
    until(lambda: END in heard)
    assert {str(one) for one in heard} >= {"1", "no", "7"}


def test_whoever_is_gone_is_not_worked_for(desk: Desk) -> None:
    made, closed = list[int](), threading.Event()

    def parts() -> Iterator[int]:
        try:
            for number in range(10**9):
                made.append(number)
                time.sleep(0.001)
                yield number
        finally:
            closed.set()

    errand = Errand(parts, lambda _: None)
    desk.run(errand)
    until(lambda: made)
    errand.gone = True
    assert closed.wait(10)


def test_a_slow_reader_is_waited_for(desk: Desk) -> None:
    """Parts do not pile up, and others go on."""
    heard, other = list[Any](), list[Any]()
    errand = Errand(lambda: iter(range(10 * UNREAD)), heard.append)
    desk.run(errand)
    until(lambda: len(heard) == UNREAD)
    desk.run(Errand(lambda: iter([1]), other.append))
    until(lambda: END in other)
    assert len(heard) == UNREAD
    errand.read += 5
    until(lambda: len(heard) == UNREAD + 5)
    errand.gone = True


def test_who_waits_for_another_takes_no_turns(desk: Desk) -> None:
    heard, asked, free = list[Any](), list[int](), threading.Event()

    def true() -> bool:
        asked.append(1)
        return free.is_set()

    def parts() -> Iterator[Any]:
        yield 1
        yield Until(true)
        yield 2
        yield 3

    errand = Errand(parts, heard.append)
    desk.run(errand)
    until(lambda: asked)
    time.sleep(0.3)
    assert heard == [1]
    assert errand.made == 1
    assert len(asked) < 50  # it is no loop without a pause
    free.set()
    until(lambda: END in heard)
    assert heard == [1, 2, 3, END]


def test_who_is_gone_waits_for_nobody(desk: Desk) -> None:
    closed = threading.Event()

    def parts() -> Iterator[Any]:
        try:
            yield Until(lambda: False)
        finally:
            closed.set()

    errand = Errand(parts, lambda _: None)
    desk.run(errand)
    until(lambda: errand.waits)
    errand.gone = True
    assert closed.wait(10)


def test_too_many_are_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "ERRANDS", 2)
    hold = threading.Event()

    def parts() -> Iterator[int]:
        hold.wait()
        yield 1

    for _ in range(3):
        desk.run(Errand(parts, lambda _: None))
        time.sleep(0.05)  # the first is under way, and stands in no queue
    with pytest.raises(RefusalError, match="looks into the model wait already") as refused:
        desk.run(Errand(parts, lambda _: None))
    assert refused.value.status == 429
    hold.set()


def test_a_stop_is_told(tmp_path: Path) -> None:
    desk = Desk("lecture", lecture(), (), 100, Counts())
    heard = list[Any]()
    desk.run(Errand(lambda: iter([None] * 10**9), heard.append))
    desk.close()
    until(lambda: heard)
    assert isinstance(heard[0], RefusalError)
    with pytest.raises(RefusalError, match="the server stops"):
        desk.run(Errand(lambda: iter(()), heard.append))
