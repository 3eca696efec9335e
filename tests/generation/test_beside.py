"""Threads that write side by side: each its share, all of it, and the same answers to the bit."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest
import torch

from seqloom.generation import GenerationSettings, Item, PairScorer, Written, beside, search, write
from seqloom.generation.beside import LEAST, WAITING, Dealt, Take, hands, side_by_side
from seqloom.layers.native.run import RUN
from seqloom.layers.paths import only_plain
from seqloom.layers.shortlist import Shortlist
from seqloom.models import EncoderDecoder, Sizes, build_model
from seqloom.models.heads import TokenHead
from seqloom.models.in_int8 import in_int8
from seqloom.models.settings import ModelSettings

ITEMS = [
    Item([3 + (n * 7 + place) % 30 for place in range(1 + n % 9)], n, 3 + n * 5 % 40) for n in range(2 * LEAST + 5)
]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_each_has_enough_to_write() -> None:
    assert [hands(items) for items in (0, LEAST, 2 * LEAST - 1, 2 * LEAST, 100 * LEAST)] == [1, 1, 1, 2, 2]
    torch.set_num_threads(1)
    assert hands(100 * LEAST) == 1


def test_items_are_dealt_alike_whoever_is_faster() -> None:
    def dealt(order: list[int]) -> list[list[int]]:
        pack, taken = Dealt([Item([7] * (n % 5), n, 9) for n in range(23)], 10, 2), list[list[int]]([[], []])
        for hand in order:
            taken[hand] += [item.number for item in pack.take(hand, 3) or ()]
        return taken

    by_turns, one_first = dealt([0, 1] * 5), dealt([0] * 5 + [1] * 5)
    assert by_turns == one_first
    assert sorted(by_turns[0] + by_turns[1]) == list(range(23))
    assert [number % 5 for number in by_turns[0][:5]] == [number % 5 for number in by_turns[1][:5]] == [4, 3, 2, 1, 0]


def test_who_is_much_faster_waits() -> None:
    pack = Dealt([Item([7], n, 9) for n in range(10 * WAITING)], 10, 2)
    while (taken := pack.take(0, 2)) is not None:
        assert len(taken) == 2
    assert [item.number for item in pack.take(1, 2) or ()]
    assert pack.take(0, 2)


def none(hand: int, count: int) -> list[Item]:
    return []


def test_each_has_one_thread_and_others_keep_theirs() -> None:
    numbers = list[int]()

    def fresh() -> None:
        numbers.append(torch.get_num_threads())

    both = threading.Barrier(2)  # so that neither has ended before the other begins

    def work(take: Take) -> Iterator[int]:
        both.wait()
        yield torch.get_num_threads()

    for share in begun([work, work]):
        assert share == 1
        thread = threading.Thread(target=fresh)
        thread.start()
        thread.join()
    assert numbers == [2, 2]
    assert torch.get_num_threads() == 2


def begun(works: list[Callable[[Take], Iterator[Any]]]) -> Iterator[Any]:
    made = side_by_side(works, none)
    assert made is not None
    return made


def endless(take: Take) -> Iterator[int]:
    return count()


def test_an_error_of_one_ends_all() -> None:
    def fails(take: Take) -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(begun([fails, endless]))
    assert not at_work()


def test_who_goes_away_leaves_nobody_at_work() -> None:
    found = begun([endless, endless])
    next(found)
    assert at_work()
    assert side_by_side([endless, endless], none) is None, "one at a time; who comes meanwhile writes alone"
    found.close()  # type: ignore[attr-defined]
    assert not at_work()


def test_a_changed_number_of_threads_has_other_hands() -> None:
    def one(take: Take) -> Iterator[int]:
        yield 1

    assert sum(begun([one, one])) == 2
    assert sum(begun([one] * 3)) == 3
    assert torch.get_num_threads() == 2


def test_where_no_more_threads_can_be_had_one_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    real, begun_once = threading.Thread.start, list[threading.Thread]()

    def start(self: threading.Thread) -> None:
        if begun_once:
            raise RuntimeError("can't start new thread")
        begun_once.append(self)
        real(self)

    beside._Crew.dismiss()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert side_by_side([endless, endless], none) is None
    assert not begun_once[0].is_alive()
    found = list[int]()
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert found == [2]


def test_items_are_read_where_answers_are_and_only_as_far_as_these_are_wanted() -> None:
    seen = list[str]()

    def deal(hand: int, wanted: int) -> list[Item]:
        seen.append(threading.current_thread().name)
        return [Item([3], 0, 3)] * wanted

    def work(take: Take) -> Iterator[int]:
        while True:
            yield len(take(4))

    found = side_by_side([work, work], deal)
    assert found is not None
    assert [next(found) for _ in range(6)] == [4] * 6
    much = len(seen)
    assert set(seen) == {threading.current_thread().name}
    assert much <= 6 + 2 * 2
    found.close()  # type: ignore[attr-defined]
    assert len(seen) == much


def at_work() -> bool:
    crew = beside._Crew.kept
    return crew is not None and crew.job is not None and not crew.job.ended.is_set()


# -- answers


def scorer_of(eight: bool) -> PairScorer:
    torch.manual_seed(0)
    settings = {"width": 32, "depth": 2, "mixer": {"kind": "attention", "heads": 4}}
    model = build_model(ModelSettings.model_validate(settings), Sizes(40, 40)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5).add_(0.2 * torch.randn_like(weight))
    made = in_int8(model) if eight else model
    assert isinstance(made, EncoderDecoder)
    return PairScorer(made, 1, 2, never=[0, 1, 7])


def said(scorer: PairScorer, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> tuple[dict[int, list[Written]], int]:
    """And how many wrote it side by side."""
    shares = list[int]()

    def counted(works: list[Callable[[Take], Iterator[Any]]], deal: Any) -> Iterator[Any] | None:
        shares.append(len(works))
        return side_by_side(works, deal)

    monkeypatch.setattr(search, "side_by_side", counted)
    other = {name: asked.pop(name) for name in ("shortlist", "attention") if name in asked}
    found = dict(write(scorer, iter(ITEMS), GenerationSettings.model_validate(asked), **other))
    assert found.keys() == {item.number for item in ITEMS}
    return found, sum(shares)


@pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")
@pytest.mark.parametrize("asked", [{"beam": 1}, {"beam": 3, "n_best": 2}, {"sample": {}, "n_best": 2}], ids=str)
def test_the_same_answers_to_the_bit(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Products in eight bits: those in full precision may differ in a last bit with the number of rows."""
    scorer = scorer_of(eight=True)
    many, shares = said(scorer, monkeypatch, **asked)
    torch.set_num_threads(1)
    alone, none = said(scorer, monkeypatch, **asked)
    assert (shares, none) == (2, 0)
    assert many == alone
    assert len({len(best.tokens) for best, *_ in many.values()}) > 3, "they end one after the other"


@pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")
def test_the_same_texts_in_full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = scorer_of(eight=False)
    head = scorer.model.head
    assert isinstance(head, TokenHead)
    ask = partial(said, scorer, monkeypatch, beam=1)
    many, shares = ask(shortlist=Shortlist(head.weight_VD, [0, 1, 7]))
    torch.set_num_threads(1)
    alone, _ = ask()
    assert shares == 2
    assert {n: best.tokens for n, (best,) in many.items()} == {n: best.tokens for n, (best,) in alone.items()}


@pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")
def test_not_where_somebody_listens_or_asks_for_few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = scorer_of(eight=False)
    assert said(scorer, monkeypatch, beam=1, batch=LEAST)[1] == 0
    with only_plain():
        assert said(scorer, monkeypatch, beam=1)[1] == 0
    hook = scorer.model.decoder.register_forward_hook(lambda *_: None)
    assert said(scorer, monkeypatch, beam=1)[1] == 0
    hook.remove()
    assert said(scorer, monkeypatch, beam=1)[1] == 2
    monkeypatch.setattr(beside, "LEAST", len(ITEMS))
    assert said(scorer, monkeypatch, beam=1)[1] == 0


@pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")
@pytest.mark.parametrize("asked", [{"beam": 1, "attention": True}, {"beam": 3, "coverage": 0.2}], ids=str)
def test_where_it_is_seen_where_the_model_looks_one_writes(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever listens to a layer would hear what the others do with it."""
    scorer = scorer_of(eight=False)
    found, shares = said(scorer, monkeypatch, **asked)
    assert shares == 0
    torch.set_num_threads(1)
    alone, _ = said(scorer, monkeypatch, **asked)
    assert {n: best.tokens for n, (best, *_) in found.items()} == {n: best.tokens for n, (best, *_) in alone.items()}


def test_an_error_of_who_reads_the_items_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def items() -> Iterator[Item]:
        yield from ITEMS
        raise ValueError("line 70: no")

    with pytest.raises(ValueError, match="line 70"):
        list(write(scorer_of(eight=False), items(), GenerationSettings(beam=1)))
    assert not at_work()
