"""One engine for all tickets: who joins when, what fails and what goes on."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seqloom.generation.contract import Item
from seqloom.generation.draft import Draft
from seqloom.generation.greedy import Greedy
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.writing import Writing
from seqloom.jobs.answering import writing
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.model import load
from seqloom.serving.counts import Counts
from seqloom.serving.desk import Desk
from seqloom.serving.group import Group
from seqloom.serving.refusal import RefusalError
from seqloom.serving.ticket import Event, Failed, Going, Said, Ticket
from tests.jobs.asked_runs import Runs
from tests.jobs.engine import put_in_place
from tests.serving.live import until

Opened = Callable[[Path], Desk]


@pytest.fixture
def opened() -> Iterator[Opened]:
    desks = list[Desk]()

    def open_desk(run: Path) -> Desk:
        model = load(run, "cpu")
        desks.append(Desk(run.name, model, (), 100, Counts()))
        return desks[-1]

    yield open_desk
    for desk in desks:
        desk.close()


class Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.done = threading.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if not isinstance(event, Going):
            self.done.set()

    @property
    def last(self) -> Event:
        assert self.done.wait(30)
        return self.events[-1]


def ask(
    desk: Desk, text: str, settings: GenerationSettings | None = None, number: int = 0, **more: Any
) -> tuple[Ticket, Heard]:
    heard, settings = Heard(), settings or desk.settings
    desk.promise(1)
    ticket = Ticket(desk.model.prepare(Question(text), number, settings), settings, heard, **more)
    desk.put([ticket])
    return ticket, heard


def test_items_of_one_number_are_told_apart(opened: Opened, runs: Runs) -> None:
    """Every request counts its inputs from 0."""
    desk = opened(runs["pairs"])
    texts = ["abcd", "hgfe", "abab", "", "g"]
    each = [ask(desk, text)[1] for text in texts]
    expected = desk.model.predict(texts)
    for heard, answer in zip(each, expected, strict=True):
        assert isinstance(heard.last, Said)
        assert heard.last.answers[0].text == answer.text
    assert desk.counts.inputs["pairs"] >= 4


def test_all_who_draw_are_written_together(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their temperatures, seeds and lengths."""
    desk, sizes = opened(runs["text"]), list[int]()
    real = Group.step

    def step(group: Group, others: bool) -> int:
        sizes.append(len(group.tickets))
        return real(group, others)

    monkeypatch.setattr(Group, "step", step)
    settings = [
        GenerationSettings(sample=Sampling(temperature=0.5 + n / 4), seed=n, longest=20 + n, shortest=10)
        for n in range(8)
    ]
    blocked = threading.Lock()
    with blocked:
        first = Ticket(desk.model.prepare(Question("the"), 0, settings[0]), settings[0], lambda _: blocked.acquire())
        desk.promise(1)
        first.item = None  # is answered at once, and holds the engine up
        desk.put([first])
        each = [ask(desk, "the film", one)[1] for one in settings]
    for heard, one in zip(each, settings, strict=True):
        assert isinstance(heard.last, Said)
        changes = [f"generation.seed={one.seed}", f"generation.longest={one.longest}", "generation.shortest=10"]
        assert one.sample is not None
        drawn = desk.model.predict(
            "the film", sample=True, changes=[*changes, f"generation.sample.temperature={one.sample.temperature}"]
        )
        assert heard.last.answers[0].text == drawn.text
    assert max(sizes) == 8


def test_what_fails_fails_alone(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, real = opened(runs["pairs"]), Group.step

    def step(group: Group, others: bool) -> int:
        if group.writing.beam == 2:
            raise NoNumbersError
        return real(group, others)

    monkeypatch.setattr(Group, "step", step)
    bad = ask(desk, "abcd", GenerationSettings(beam=2))[1]
    good = ask(desk, "abcd", GenerationSettings(beam=3))[1]
    assert isinstance(bad.last, Failed)
    assert str(runs["pairs"]) in str(bad.last.error)
    assert isinstance(good.last, Said)
    assert isinstance(ask(desk, "hgf")[1].last, Said)


def test_what_cannot_begin_fails_alone(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = opened(runs["pairs"])

    real = Writing.begin

    def begin(writing: Writing, items: Sequence[Item]) -> None:
        if writing.beam == 2:
            raise MemoryError("no room")
        real(writing, items)

    with monkeypatch.context() as patch:
        patch.setattr(Writing, "begin", begin)
        good = [ask(desk, "abcd", GenerationSettings(beam=3))[1] for _ in range(3)]
        bad = ask(desk, "abcd", GenerationSettings(beam=2))[1]
        assert isinstance(bad.last, Failed)
        assert all(isinstance(heard.last, Said) for heard in good)
    assert isinstance(ask(desk, "abcd", GenerationSettings(beam=2))[1].last, Said)
    until(lambda: desk.writing == 0)


def test_labels_that_fail(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = opened(runs["classes"])
    with monkeypatch.context() as patch:
        patch.setattr(desk.model, "answer", lambda *_: (_ for _ in ()).throw(MemoryError("no room")))
        assert isinstance(ask(desk, "the film")[1].last, Failed)
    assert isinstance(ask(desk, "the film")[1].last, Said)


def test_who_is_gone_is_not_written(opened: Opened, runs: Runs) -> None:
    desk = opened(runs["text"])
    settings = GenerationSettings(beam=1, shortest=2000, longest=2000)
    tickets = [ask(desk, "the", settings, watched=True) for _ in range(3)]
    until(lambda: all(heard.events for _, heard in tickets))
    for ticket, _ in tickets[:2]:
        ticket.gone = True
    until(lambda: desk.writing == 1)
    tickets[2][0].gone = True
    until(lambda: desk.writing == 0)
    assert not any(heard.done.is_set() for _, heard in tickets)


def test_who_takes_the_likeliest_token_goes_the_short_way(
    opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless there are wishes; both say what predict says, together with others, token by token."""
    desk, ways, real = opened(runs["text"]), dict[str, type](), Group._finish

    def finish(group: Group, draft: Draft) -> None:
        ways[str(group.tickets[id(draft.item)].asked.question.source)] = type(group.writing)
        real(group, draft)

    monkeypatch.setattr(Group, "_finish", finish)
    greedy = GenerationSettings(beam=1, longest=12)
    texts = ["the", "a good film", "so"]
    heard = [ask(desk, text, greedy, watched=True)[1] for text in texts]
    wished = ask(desk, "very", greedy.model_copy(update={"shortest": 8}))[1]
    beam = ask(desk, "good", greedy.model_copy(update={"beam": 2}))[1]
    for text, one in zip(texts, heard, strict=True):
        own = desk.model.predict(text, beam=1, changes=["generation.longest=12", "generation.engine=own"])
        assert isinstance(one.last, Said)
        assert one.last.answers[0].text == own.text
        assert one.last.answers[0].score == pytest.approx(own.score, abs=1e-5)
        assert all(own.text.startswith(event.text) for event in one.events if isinstance(event, Going))
    assert isinstance(wished.last, Said)
    assert isinstance(beam.last, Said)
    assert ways == {**dict.fromkeys(texts, Greedy), "very": Writing, "good": Writing}


def test_the_tokens_of_each_answer_are_counted(opened: Opened, runs: Runs) -> None:
    """Of those that are done early in a turn of many steps, too. The step in which an answer ends is one."""
    desk = opened(runs["text"])
    asks = [ask(desk, "the", GenerationSettings(beam=1, longest=longest))[1] for longest in (2, 40, 7)]
    answers = [said.answers[0] for heard in asks if isinstance(said := heard.last, Said)]
    until(lambda: not desk.writing)
    wanted = sum(len(answer.tokens) + 1 for answer in answers)
    until(lambda: desk.counts.tokens["text"] >= wanted)
    assert desk.counts.tokens["text"] == wanted


def test_who_does_not_listen_takes_no_longer_turns_than_who_does(opened: Opened, runs: Runs) -> None:
    """While somebody else waits for the turn, each has one step of it."""
    desk = opened(runs["text"])
    turns, step = list[bool](), Group.step

    def watched(self: Group, others: bool) -> int:
        turns.append(others)
        written = step(self, others)
        assert self.writing.went == 1 or not others
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Group, "step", watched)
        asks = [GenerationSettings(beam=1, longest=200, sample=by) for by in (None, Sampling())]
        heard = [ask(desk, "the", settings, watched=settings.sample is None)[1] for settings in asks * 3]
        assert all(isinstance(one.last, Said) for one in heard)
    assert turns


def test_when_to_try_again_is_said_of_all_that_an_input_took(
    opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each step that was made for it, and not of the last one alone."""
    desk, step, clock = opened(runs["text"]), Group.step, [0.0]

    def slow(group: Group, others: bool) -> int:
        clock[0] += 2.0
        return step(group, others)

    monkeypatch.setattr(Group, "step", slow)
    monkeypatch.setattr("seqloom.serving.desk.time", SimpleNamespace(monotonic=lambda: clock[0]))
    for _ in range(4):
        assert isinstance(
            ask(desk, "the", GenerationSettings(beam=1, shortest=9, longest=9), watched=True)[1].last, Said
        )
    until(lambda: desk.counts.inputs["text"] == 4)
    assert clock[0] / 4 >= 18  # seconds each
    each = clock[0] / 4 + (0.1 - clock[0] / 4) * 0.9**4
    desk.promise(2)
    with pytest.raises(RefusalError, match="2 inputs wait already") as refused:
        desk.promise(99)
    assert refused.value.headers == {"Retry-After": str(round(2 * each))}
    desk.forgo(2)


def test_a_watched_ticket_hears_each_token(opened: Opened, runs: Runs) -> None:
    desk = opened(runs["text"])
    _, heard = ask(desk, "the", GenerationSettings(beam=1, shortest=9, longest=9), watched=True)
    assert isinstance(heard.last, Said)
    going = [event for event in heard.events if isinstance(event, Going)]
    assert [event.tokens for event in going] == list(range(1, len(going) + 1))
    assert len(going) >= 8
    text = heard.last.answers[0].text
    assert all(text.startswith(event.text) for event in going)


def test_a_long_input_is_written_with_few_others(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BUDGET", 64)
    desk, sizes, real = opened(runs["pairs"]), set[tuple[int, int]](), Group.step

    def step(group: Group, others: bool) -> int:
        lengths = [len(ticket.item.source) for ticket in group.tickets.values() if ticket.item is not None]
        sizes.add((len(lengths), max(lengths)))
        return real(group, others)

    monkeypatch.setattr(Group, "step", step)
    settings = GenerationSettings(beam=1, shortest=6, longest=6)
    each = [ask(desk, text, settings)[1] for text in ["abcd" * 8] * 6 + ["ab"] * 6]
    assert all(isinstance(heard.last, Said) for heard in each)
    assert max(count for count, longest in sizes if longest == 32) == 2  # of 32 tokens two
    assert max(count for count, longest in sizes if longest == 2) > 2


def test_a_closed_desk(opened: Opened, runs: Runs) -> None:
    desk = opened(runs["text"])
    _, heard = ask(desk, "the", GenerationSettings(beam=1, shortest=5000, longest=5000))
    until(lambda: desk.writing == 1)
    desk.close()
    assert isinstance(heard.last, Failed)
    assert isinstance(heard.last.error, RefusalError)
    assert heard.last.error.status == 503
    with pytest.raises(RefusalError, match="is being put away"):
        desk.promise(1)


def test_another_engine_writes_where_it_is_faster(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, at first by ours; whoever listens to each token is still written by ours."""
    made = put_in_place(monkeypatch)
    desk = opened(runs["pairs"])
    plain = desk.settings.model_copy(update={"beam": 1, "shortest": 0})
    texts = [f"{a}{b}c" for a in "abcdef" for b in "abcdef"]
    expected = [one.text for one in desk.model.predict(texts, changes=["generation.shortest=0"], beam=1)]
    made.wrote.clear()
    for text, answer in zip(texts, expected, strict=True):
        said = ask(desk, text, plain)[1].last
        assert isinstance(said, Said)
        assert said.answers[0].text == answer
    assert len(made.wrote) >= len(texts) - 16
    assert desk.counts.inputs["pairs"] == len(texts)
    made.wrote.clear()
    heard = ask(desk, "abcd", plain, watched=True)[1]
    assert isinstance(heard.last, Said)
    assert any(isinstance(event, Going) for event in heard.events)
    assert not made.wrote


def test_an_engine_that_fails_is_done_without(opened: Opened, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, fails="writing")
    desk = opened(runs["pairs"])
    plain = desk.settings.model_copy(update={"beam": 1, "shortest": 0})
    for _ in range(20):
        assert isinstance(ask(desk, "abcd", plain)[1].last, Said)
