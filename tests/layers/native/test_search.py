"""A search that C goes on with for some steps finds what the plain books find, step by step."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.generation import GenerationSettings, Item, TextScorer, Written, pace, search, write
from seqloom.generation.contract import Goal
from seqloom.generation.search import write_steps, write_tree
from seqloom.generation.settings import MeanLength, NoLength, WuLength
from seqloom.generation.writing import Writing
from seqloom.layers.native.block import Blocks, Norm, Parts, mapped, products
from seqloom.layers.native.run import RUN, Decoder, Ran, Wanted, best, ran
from seqloom.layers.native.search import Search, Told
from seqloom.layers.paths import only_plain
from seqloom.models import DecoderOnly
from seqloom.models.laid_out import lay_out
from tests.models.stretched import BEGIN, END, ITEMS, LANGUAGE, SIZE, Scorer, alike, calls_of_c, scorer_of

pytestmark = pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")

Answers = dict[int, list[Written]]


def ending(scorer: Scorer, likely: float) -> Scorer:
    """Answers end the sooner, the more likely."""
    scorer.model.head.bias_V = torch.nn.Parameter(torch.zeros(SIZE), requires_grad=False)
    scorer.model.head.bias_V.data[END] = likely
    return scorer


def in_c(scorer: Scorer, settings: GenerationSettings, items: Sequence[Item] = ITEMS) -> tuple[Answers, int]:
    """And how many calls it took."""
    calls, real = list[Goal](), scorer.run

    def run(last_R: Any, state: Any, goal: Goal) -> Any:
        made = real(last_R, state, goal)
        if made is not None and goal.search is not None:
            calls.append(goal)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer, "run", run)
        return dict(write(scorer, items, settings)), len(calls)


def by_the_books(scorer: "Scorer | Chain", settings: GenerationSettings, items: Sequence[Item] = ITEMS) -> Answers:
    """By the same C, and Python's books."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Writing, "_run", lambda *_: None)
        return dict(write(scorer, items, settings))


def exactly(found: Answers, wanted: Answers) -> None:
    assert found.keys() == wanted.keys()
    for number, answers in wanted.items():
        assert [one.tokens for one in found[number]] == [one.tokens for one in answers]
        for one, other in zip(found[number], answers, strict=True):
            assert (one.ended, one.log_probs) == (other.ended, other.log_probs)
            assert one.score == pytest.approx(other.score, rel=1e-14)  # torch's powers differ in the last bit by place


class Chain:
    """What follows hangs on the last token alone, by whole numbers: many scores are equal, and all are exact."""

    begin, end = 0, 1

    def __init__(self, size: int, seed: int, likely: int) -> None:
        seeded, self.size = torch.Generator().manual_seed(seed), size
        self.vectors_VD, self.head_VD = (torch.randint(-1, 2, (size, 6), generator=seeded).float() for _ in range(2))
        self.bias_V = torch.zeros(size).index_fill_(0, torch.tensor([self.end]), likely)
        self.never_V = torch.zeros(size, dtype=torch.uint8)
        self.never_V[0] = 1
        self.blocks, none = Blocks([]), Norm()
        self.form = Decoder(
            self.vectors_VD.data_ptr(), None, 1.0, none, none, self.blocks.places.buffer_info()[0], 0, 6, size,
            products(), mapped(self.head_VD, self.bias_V), 1.0,
        )  # fmt: skip
        self.calls = 0

    def start(self, items: Sequence[Item]) -> tuple[Tensor, Tensor]:
        return torch.zeros(len(items), dtype=torch.int64), torch.tensor([item.source[0] for item in items])

    def step(self, last_R: Tensor, state: Tensor, attention: bool) -> tuple[Tensor, None, Tensor]:
        raise AssertionError("the best few are enough")

    def best(self, last_R: Tensor, state: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        return *best(_lib(), self.form, self.vectors_VD[last_R], self.never_V, count), state + 1

    def run(self, last_R: Tensor, state: Tensor, goal: Goal) -> tuple[Ran, Tensor, Tensor]:
        self.calls += 1
        none, wanted = Parts([], []), Wanted(goal.left, goal.most, self.never_V, self.end, False, search=goal.search)
        made = ran(_lib(), self.form, self.blocks, goal.most, last_R, state, none, none, wanted)
        return made, made.last_R, state + made.steps


def _lib() -> ctypes.CDLL:
    lib = RUN.wait()
    assert lib is not None
    return lib


@pytest.mark.parametrize("likely", [-4, 0, 1, 3])
@pytest.mark.parametrize("length", [WuLength(), MeanLength(), NoLength(), WuLength(alpha=3)])
@pytest.mark.parametrize(("beam", "n_best", "size"), [(2, 1, 4), (3, 3, 9), (5, 1, 40), (5, 4, 11), (16, 16, 40)])
def test_the_same_books_to_the_last_bit(beam: int, n_best: int, size: int, length: Any, likely: int) -> None:
    """Early ends and late ones, answers that are cut, items that take the place of others, and equals everywhere."""
    settings = GenerationSettings(beam=beam, n_best=n_best, length=length, batch=5)
    for seed in range(4):
        chain = Chain(size, seed, likely)
        items = [Item([(seed + n) % size] * (1 + n % 3), n, 1 + n * 5 % 19) for n in range(17)]
        found = dict(write(chain, items, settings))
        longest = max(len(one.tokens) for answers in found.values() for one in answers)
        assert chain.calls < 17 * (longest + 1), "several steps in a call"
        exactly(found, by_the_books(chain, items=items, settings=settings))
        if likely == -4:
            assert not all(one.ended for answers in found.values() for one in answers)
        if likely == 3 and n_best > 1:
            assert any(one.ended for answers in found.values() for one in answers)


@pytest.mark.parametrize("likely", [-9.0, 0.0, 6.0])
@pytest.mark.parametrize("length", [WuLength(), MeanLength(), NoLength()])
@pytest.mark.parametrize(("beam", "n_best"), [(2, 1), (5, 2), (16, 16)])
def test_of_a_model(beam: int, n_best: int, length: Any, likely: float) -> None:
    scorer = ending(scorer_of(), likely)
    settings = GenerationSettings(beam=beam, n_best=n_best, length=length, batch=5)
    found, calls = in_c(scorer, settings)
    assert calls
    alike(found, by_the_books(scorer, settings))


@pytest.mark.parametrize("way", ["as it was trained", "laid out"])
@pytest.mark.parametrize("other", [{}, LANGUAGE, {"norm": {"kind": "rms", "place": "pre"}, "tie": "all"}])
def test_the_same_as_the_plain_lines(other: dict[str, Any], way: str) -> None:
    scorer = ending(scorer_of(**other), 4.0)
    if way == "laid out":
        lay_out(scorer.model)
    settings = GenerationSettings(beam=4, n_best=4, batch=5)
    found, calls = in_c(scorer, settings)
    assert calls
    with only_plain():
        alike(found, dict(write(scorer, ITEMS, settings)))


def test_calls_are_few_and_rows_that_are_done_do_not_stop_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that what they remember is too much to stay near: some items are written before others."""
    monkeypatch.setattr(search, "LONG", 60.0)  # however slow the machine is
    items = [Item([3 + (n * 7 + place) % 30 for place in range(101 - n % 5)], n, 1 + n % 23) for n in range(120)]
    scorer, settings = scorer_of(), GenerationSettings(beam=4, batch=120)
    found, calls = in_c(scorer, settings, items)
    assert calls < 8
    assert len({len(answers[0].tokens) for answers in found.values()}) > 10
    alike(found, by_the_books(scorer, settings, items))


def test_every_row_signs_its_own_steps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first items fill their buffers before others begin."""
    monkeypatch.setattr(search, "LONG", 60.0)
    monkeypatch.setattr(pace, "FIRST", 32)
    items = [Item([5, 6 + n % 20] * 40, n, 60) for n in range(120)]
    scorer, settings = ending(scorer_of(), -9.0), GenerationSettings(beam=4, batch=120)
    found, calls = in_c(scorer, settings, items)
    assert calls < 12
    alike(found, by_the_books(scorer, settings, items))


@pytest.mark.parametrize(
    "settings",
    [
        GenerationSettings(beam=4, groups=2, batch=5),
        GenerationSettings(beam=4, no_repeat=2, batch=5),
        GenerationSettings(beam=17, batch=5),
        GenerationSettings(beam=1, batch=5),
    ],
)
def test_what_c_cannot_search_is_searched_for_all_the_same(settings: GenerationSettings) -> None:
    scorer = scorer_of()
    found, calls = in_c(scorer, settings)
    assert not calls
    with only_plain():
        alike(found, dict(write(scorer, ITEMS, settings)))


@pytest.mark.parametrize(
    "wish",
    [
        {"shortest": 2},
        {"prefix": (5, 6)},
        {"must": ((9,),)},
        {"must_not": ((9,),)},
        {"refuses": lambda tokens: tokens[-1] == 9},
    ],
)
def test_wishes_are_heeded(wish: dict[str, Any]) -> None:
    scorer, settings = scorer_of(), GenerationSettings(beam=3, batch=5)
    items = [Item(ITEMS[3].source, 0, 12, **wish)]
    found, calls = in_c(scorer, settings, items)
    assert not calls
    with only_plain():
        alike(found, dict(write(scorer, items, settings)))


def test_a_vocabulary_of_fewer_tokens_than_are_looked_at() -> None:
    scorer = scorer_of()
    scorer.model.head.weight_VD = torch.nn.Parameter(scorer.model.head.weight_VD[:20], requires_grad=False)
    scorer.size = 20
    for beam, usual in ((10, True), (11, False)):
        settings = GenerationSettings(beam=beam, batch=5)
        found, calls = in_c(scorer, settings)
        assert bool(calls) == usual
        with only_plain():
            alike(found, dict(write(scorer, ITEMS, settings)))


def test_rows_that_hold_nothing_are_not_asked() -> None:
    """All hypotheses to an item begin as one."""
    writing = Writing(scorer_of(), GenerationSettings(beam=3), attention=False)
    writing.begin(ITEMS[:3])
    writing.step(1)
    (cache,) = writing.state.decoder.layers[0].mixer.parts
    assert cache.keys_AGKSD[:, :, 0, 0].abs().sum() > 0
    assert cache.keys_AGKSD[:, :, 1:, 0].abs().sum() == 0
    writing.step(1)
    assert (cache.keys_AGKSD[:, :, :, 1].abs().sum((1, 3)) > 0).all()


def test_steps_and_tokens_are_counted() -> None:
    writing = Writing(scorer_of(), GenerationSettings(beam=3), attention=False)
    writing.begin([Item([5, 6], 0, 1), Item([5, 6], 1, 9)])
    assert [draft.item.number for draft in writing.step(4)] == [0]
    assert (writing.went, writing.given) == (4, 2 + 4)


def test_one_step_at_a_time_for_whoever_listens() -> None:
    scorer, settings = ending(scorer_of(), 3.0), GenerationSettings(beam=3)
    for item in ITEMS:
        wanted = dict(write(scorer, [item], settings))[item.number]
        steps, heard = write_steps(scorer, item, settings), list[list[int]]()
        while True:
            try:
                heard.append(next(steps))
            except StopIteration as end:
                alike({0: end.value}, {0: wanted})
                break
        assert all(wanted[0].tokens[: len(sure)] == tuple(sure) for sure in heard)
        tree_answers, _ = write_tree(scorer, item, settings)
        alike({0: tree_answers}, {0: wanted})


def test_items_join_and_leave_between_calls() -> None:
    scorer, settings = ending(scorer_of(), 3.0), GenerationSettings(beam=3, n_best=2)
    alone = {item.number: dict(write(scorer, [item], settings))[item.number] for item in ITEMS}
    writing, found, waiting = Writing(scorer, settings, attention=False), dict[int, list[Written]](), list(ITEMS)
    gone = set[int]()
    while waiting or writing.items:
        if waiting:
            writing.begin([waiting.pop()])
        found |= {draft.item.number: writing.answers(draft) for draft in writing.step(2)}
        if len(found) == 3 and not gone and writing.items > 1:
            gone = {writing.drafts[0].item.number}
            writing.leave({0})
    assert gone
    alike(found, {number: answers for number, answers in alone.items() if number not in gone})


def _listened(scorer: Scorer) -> Callable[[], object]:
    return scorer.model.decoder.register_forward_hook(lambda *_: None).remove


def test_whoever_listens_hears_every_step() -> None:
    scorer, settings = scorer_of(), GenerationSettings(beam=3, batch=5)
    undo = _listened(scorer)
    found, calls = in_c(scorer, settings)
    assert not calls
    undo()
    assert in_c(scorer, settings)[1]
    alike(found, dict(write(scorer, ITEMS, settings)))


def test_the_positions_of_a_learned_table_end() -> None:
    model = scorer_of(**{**LANGUAGE, "positions": {"kind": "learned", "length": 12}}).model
    assert isinstance(model, DecoderOnly)
    scorer = TextScorer(model, BEGIN, END, never=[BEGIN, END])
    with pytest.raises(ValueError, match="positions are learned for the first 12"):
        list(write(scorer, [Item([5, 6, 7], 0, 40)], GenerationSettings(beam=3)))


def test_calls_of_c_are_few() -> None:
    """Each takes as many steps as it may, not one."""
    scorer, settings = scorer_of(), GenerationSettings(beam=3, batch=12)
    _, calls = calls_of_c(lambda: dict(write(scorer, ITEMS, settings)))
    steps = max(len(answers[0].tokens) for answers in by_the_books(scorer, settings).values())
    assert calls < steps / 2


def test_a_long_prompt() -> None:
    """Tables of who wrote what are wider than what a hypothesis has room for."""
    scorer = scorer_of(family="decoder-only", positions={"kind": "sinusoidal"})
    items, settings = [Item([3 + n % 30 for n in range(300)], 0, 8)], GenerationSettings(beam=4)
    widths, real = list[tuple[int, int]](), Told.__init__

    def told(self: Told, asked: Search, left: Sequence[int], widest: int) -> None:
        real(self, asked, left, widest)
        widths.append((widest, len(self.held[2])))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Told, "__init__", told)
        found, calls = in_c(scorer, settings, items)
    assert calls
    assert all(widest >= 300 and room >= 4 * widest for widest, room in widths)
    alike(found, by_the_books(scorer, settings, items))


@pytest.mark.parametrize(
    ("beam", "longest", "works"), [(16, 8, True), (17, 8, False), (3, 8, True), (3, 10**12, False)]
)
def test_what_is_left_to_the_books(beam: int, longest: int, works: bool) -> None:
    """Beams that C does not know, and answers so long that their penalties would fill the memory."""
    writing = Writing(scorer_of(), GenerationSettings(beam=beam), attention=False)
    writing.begin([Item([3, 4, 5], 0, longest)])
    assert (writing._run(2) is not None) == works


def test_a_wide_beam_begins_with_a_row_an_item(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, rows = scorer_of(), list[int]()
    real = scorer.best if hasattr(scorer, "best") else None
    assert real is not None
    monkeypatch.setattr(scorer, "best", lambda last_R, *rest: (rows.append(len(last_R)), real(last_R, *rest))[1])
    list(write(scorer, [Item([3, 4, 5], 0, 6)], GenerationSettings(beam=17)))
    assert rows[:2] == [1, 17]
