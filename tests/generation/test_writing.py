"""Rows leave when they end, others take their place, and neither changes what is said."""
# B items  R rows

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.generation import GenerationSettings, Item, PairScorer, Written, write
from seqloom.generation.length import penalty
from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import LengthSettings, MeanLength, NoLength, WuLength
from seqloom.generation.writing import Writing
from seqloom.models import EncoderDecoder
from seqloom.settings import UserError
from tests.generation.tiny import BEGIN, PAIRS, SIZE, attention_total, everything, pair_model, read

END = 1


class Counting:
    """Writes as many tokens as the source says, and then ends; keeps how many rows there were in each step."""

    begin, end, size = 0, END, 9

    def __init__(self) -> None:
        self.widths: list[int] = []
        self.starts: list[int] = []

    def start(self, items: Sequence[Item]) -> tuple[Tensor, Tensor]:
        self.starts.append(len(items))
        return torch.tensor([item.source[0] for item in items]), torch.zeros(len(items), dtype=torch.int64)

    def step(self, last_R: Tensor, state: Tensor, attention: bool) -> tuple[Tensor, None, Tensor]:
        self.widths.append(len(state))
        token_R = torch.where(state > 0, 2 + state % 7, END)
        scores = torch.nn.functional.one_hot(token_R, self.size).float() * 5
        return scores.log_softmax(-1), None, state - 1


def test_rows_leave_at_once() -> None:
    scorer = Counting()
    items = [Item([n], n, 50) for n in range(4)]
    answers = dict(write(scorer, items, GenerationSettings(beam=1)))
    assert [answers[n][0].tokens for n in range(4)] == [(), (3,), (4, 3), (5, 4, 3)]
    assert scorer.widths == [4, 3, 2, 1]


def test_free_rows_are_filled_several_at_once() -> None:
    scorer = Counting()
    items = [Item([n % 9], n, 50) for n in range(60)]
    answers = dict(write(scorer, items, GenerationSettings(beam=1, batch=8)))
    assert [len(answers[n][0].tokens) for n in range(60)] == [n % 9 for n in range(60)]
    assert max(scorer.widths) <= 8
    assert sum(scorer.starts) == 60
    assert all(count >= 2 for count in scorer.starts[:-1])
    assert len(scorer.widths) < 60 * 5 / 8 * 1.6


def test_items_are_read_as_they_are_needed() -> None:
    read = 0

    def items() -> Iterator[Item]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield Item([number % 5], number, 9)

    answers = write(Counting(), items(), GenerationSettings(beam=1, batch=2))
    assert read == 0
    next(answers)
    assert read <= 32
    assert len(list(answers)) == 999


def test_what_is_cut() -> None:
    ((_, (cut,)),) = write(Counting(), [Item([5], 0, 3)], GenerationSettings(beam=1))
    assert (cut.tokens, cut.ended, len(cut.log_probs)) == ((7, 6, 5), False, 3)
    ((_, (just,)),) = write(Counting(), [Item([3], 0, 3)], GenerationSettings(beam=1))
    assert (just.tokens, just.ended, len(just.log_probs)) == ((5, 4, 3), True, 4)
    ((_, (empty,)),) = write(Counting(), [Item([3], 0, 0)], GenerationSettings(beam=1))
    assert (empty.tokens, empty.ended, empty.log_prob) == ((), False, 0.0)


def test_what_ended_stands_before_what_was_cut() -> None:
    ((_, answers),) = write(Counting(), [Item([5], 0, 3)], GenerationSettings(beam=4, n_best=4))
    assert len(answers) == 4
    flags = [answer.ended for answer in answers]
    assert flags == sorted(flags, reverse=True)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("asked", [{"beam": 1}, {"beam": 3, "n_best": 2}, {"sample": {}, "n_best": 3}], ids=str)
def test_neighbours_change_nothing(name: str, asked: dict[str, Any]) -> None:
    model = pair_model(name, 7)
    items = [Item([2 + (n * k) % 3 for k in range(n % 5)], n, 3 + n % 4, n % 3) for n in range(23)]
    each = []
    for batch in (1, 4, 64):
        asking = GenerationSettings.model_validate({**asked, "batch": batch})
        answers = dict(write(PairScorer(model, BEGIN, END), items, asking))
        each.append([[answer.tokens for answer in answers[n]] for n in range(len(items))])
    assert each[0] == each[1] == each[2]


def test_the_same_seed_draws_the_same() -> None:
    model = pair_model("attention", 1)
    items = [Item([2, 3], n, 6) for n in range(6)]

    def drawn(seed: int) -> list[list[tuple[int, ...]]]:
        asking = GenerationSettings.model_validate({"sample": {}, "n_best": 4, "seed": seed})
        answers = dict(write(PairScorer(model, BEGIN, END), items, asking))
        assert all(len(answers[n]) == 4 for n in range(6))
        return [[answer.tokens for answer in answers[n]] for n in range(6)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len({tokens for each in drawn(1) for tokens in each}) > 1


class Sayings:
    """ "" is likeliest, then "a", then "b": each ends at once."""

    begin, end, size = 0, END, 4

    def start(self, items: Sequence[Item]) -> tuple[Tensor, Tensor]:
        return (zeros := torch.zeros(len(items), dtype=torch.int64)), zeros

    def step(self, last_R: Tensor, state: Tensor, attention: bool) -> tuple[Tensor, None, Tensor]:
        first, then = torch.tensor([0.01, 0.6, 0.29, 0.1]).log(), torch.tensor([0.01, 0.97, 0.01, 0.01]).log()
        return torch.where((last_R == self.begin)[:, None], first, then), None, state


def test_a_group_goes_on_where_its_best_ends() -> None:
    """An end takes nobody's place: the next best candidate is followed too."""
    asking = GenerationSettings(beam=2, groups=2, diversity=0.0, n_best=2)
    ((_, answers),) = write(Sayings(), [Item([2], 0, 4)], asking)
    assert [answer.tokens for answer in answers] == [(), (2,)]


def test_groups_differ() -> None:
    model = pair_model("attention", 5, sharpness=2.5)
    firsts = {}
    for diversity in (0.0, 50.0):
        asking = GenerationSettings(beam=2, groups=2, diversity=diversity, n_best=2)
        ((_, answers),) = write(PairScorer(model, BEGIN, END), [Item([2, 3], 0, 4, 1)], asking)
        firsts[diversity] = len({answer.tokens[0] for answer in answers})
    assert firsts[50.0] == 2


@pytest.mark.parametrize("name", ["attention", "recurrence", "convolution"])
def test_coverage_of_all_that_could_be_said(name: str) -> None:
    source, longest, weight = [2, 3, 4], 3, 0.7
    for seed in range(3):
        model = pair_model(name, seed)
        scored = {}
        for tokens, parts in everything(model, source, 0, longest):
            read_S = attention_total(model, source, tokens)
            scored[tokens] = sum(parts) + weight * float(read_S.clamp(max=1).log().sum())
        asking = GenerationSettings.model_validate(
            {"beam": SIZE**4, "n_best": 5, "coverage": weight, "length": {"kind": "none"}}
        )
        ((_, answers),) = write(PairScorer(model, BEGIN, END), [Item(source, 0, longest)], asking)
        best = sorted(scored.values(), reverse=True)[:5]
        assert [answer.score for answer in answers] == pytest.approx(best, abs=1e-4)
        assert [scored[answer.tokens] for answer in answers] == pytest.approx(best, abs=1e-4)


def test_coverage_needs_attention() -> None:
    scorer = PairScorer(pair_model("bottleneck", 1), BEGIN, END)
    with pytest.raises(UserError, match=r"generation\.coverage: the model has no attention over what it reads"):
        list(write(scorer, [Item([2], 0, 3)], GenerationSettings(coverage=0.2)))


def plain_beam(
    model: EncoderDecoder, item: Item, beam: int, length: LengthSettings
) -> list[tuple[float, tuple[int, ...]]]:
    """A beam search by whole passes that never stops early; the answers that ended, best first, and where the item has
    them cut, those that were cut among them."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended, last = [], live
    for step in range(item.longest + 1):
        log_probs_AV = read(model, item.source, [tokens for _, tokens in live])[:, -1]
        ways = [
            (total + float(log_probs_AV[row, token]), (*tokens, token))
            for row, (total, tokens) in enumerate(live)
            for token in range(SIZE)
        ]
        ways = sorted(ways, reverse=True)[: 2 * beam]
        ended += [(total / penalty(length, step + 1.0), way[:-1]) for total, way in ways[:beam] if way[-1] == END]
        last, live = live, [(total, way) for total, way in ways if way[-1] != END][:beam]
    if item.cuts:
        ended += [(total / penalty(length, float(item.longest)), tokens) for total, tokens in last]
    texts = {tokens: (score, tokens) for score, tokens in sorted(ended)}  # of the same text the better one
    return sorted(texts.values(), reverse=True)


@pytest.mark.parametrize("length", [WuLength(alpha=1.5), MeanLength(), NoLength()], ids=str)
def test_a_limit_that_is_wished_for_cuts(length: LengthSettings) -> None:
    """What is cut there is better than what has ended, where it is likelier."""
    model = pair_model("attention", 1, sharpness=2.0)
    items = [Item([2 + (n * k) % 3 for k in range(1 + n % 5)], n, 1 + n % 3, cuts=True) for n in range(9)]
    asking = GenerationSettings(beam=3, n_best=2, length=length)
    both = set[bool]()
    for number, answers in write(PairScorer(model, BEGIN, END), items, asking):
        wanted = plain_beam(model, items[number], 3, length)[:2]
        assert [answer.tokens for answer in answers] == [tokens for _, tokens in wanted]
        assert [answer.score for answer in answers] == pytest.approx([score for score, _ in wanted], abs=1e-4)
        both |= {answer.ended for answer in answers}
    assert both == {True, False}


@pytest.mark.parametrize("length", [WuLength(alpha=1.5), MeanLength(), NoLength()], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_stopping_loses_nothing(length: LengthSettings, seed: int) -> None:
    model = pair_model("attention", seed, sharpness=2.0)
    items = [Item([2 + (n * k) % 3 for k in range(1 + n % 5)], n, 9) for n in range(5)]
    asking = GenerationSettings(beam=3, n_best=2, length=length)
    for number, answers in write(PairScorer(model, BEGIN, END), items, asking):
        wanted = plain_beam(model, items[number], 3, length)[:2]
        found = [answer for answer in answers if answer.ended]
        assert [answer.tokens for answer in found] == [tokens for _, tokens in wanted]
        assert [answer.score for answer in found] == pytest.approx([score for score, _ in wanted], abs=1e-4)


def test_it_stops_as_soon_as_nothing_can_become_better() -> None:
    """One token or none is nearly sure, so that all else is far behind; its longest answer would be 50 tokens."""
    scorer = Counting()
    list(write(scorer, [Item([4], 0, 50)], GenerationSettings(beam=3)))
    assert 5 <= len(scorer.widths) < 40


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("asked", [{"beam": 1}, {"beam": 3, "n_best": 2}, {"sample": {}, "n_best": 2}], ids=str)
def test_who_leaves_changes_nothing_for_those_who_stay(name: str, asked: dict[str, Any]) -> None:
    """Items join while others are being written, and some leave before they are done."""
    settings = GenerationSettings.model_validate(asked)
    scorer = PairScorer(pair_model(name, 7), BEGIN, END)
    items = [Item([2 + (n * k) % 3 for k in range(n % 5)], n, 6 + n % 4, 4, must_not=((3, 3),)) for n in range(9)]
    alone = dict(write(scorer, items, settings))
    writing, said, waiting = Writing(scorer, settings, False), dict[int, list[Any]](), list(items)
    while waiting or writing.drafts:
        writing.begin([waiting.pop(0) for _ in range(min(2, len(waiting)))])
        writing.leave({place for place, draft in enumerate(writing.drafts) if draft.item.number % 3 == 1})
        for draft in writing.step():
            said[draft.item.number] = writing.answers(draft)
    assert sorted(said) == [0, 2, 3, 5, 6, 8]
    for number, answers in said.items():
        assert [one.tokens for one in answers] == [one.tokens for one in alone[number]]
        assert [one.score for one in answers] == pytest.approx([one.score for one in alone[number]], abs=1e-5)


def test_all_may_leave() -> None:
    writing = Writing(PairScorer(pair_model("attention", 7), BEGIN, END), GenerationSettings(beam=2), False)
    writing.begin([Item([2, 3], 0, 6), Item([3], 1, 6)])
    writing.step()
    writing.leave({0, 1})
    assert writing.drafts == []
    assert writing.step() == []
    writing.begin([Item([2, 3], 0, 6)])
    assert writing.items == 1


@pytest.mark.parametrize("asked", [{"beam": 1}, {"sample": {}}], ids=str)
def test_what_is_written_so_far_is_the_beginning_of_the_answer(asked: dict[str, Any]) -> None:
    writing = Writing(
        PairScorer(pair_model("attention", 7), BEGIN, END), GenerationSettings.model_validate(asked), False
    )
    writing.begin([Item([2, 3, 4][: 1 + n % 3], n, 3 + n, 3 + n) for n in range(5)])
    seen, said = dict[int, list[Written]](), dict[int, Written]()
    while writing.drafts:
        said |= {draft.item.number: writing.answers(draft)[0] for draft in writing.step()}
        places = list(range(len(writing.drafts)))
        for place, written in zip(places, writing.so_far(places), strict=True):
            seen.setdefault(writing.drafts[place].item.number, []).append(written)
    for number, whole in said.items():
        for count, part in enumerate(seen[number], 1):
            assert part.tokens == whole.tokens[:count]
            assert part.log_probs == whole.log_probs[:count]
            assert part.score == pytest.approx(sum(part.log_probs) / penalty(WuLength(), count))
    assert writing.so_far([]) == []


def test_each_item_is_drawn_in_its_own_way() -> None:
    scorer = PairScorer(pair_model("attention", 1), BEGIN, END)
    ways = [(None, None), (Sampling(temperature=2.0), None), (None, 9), (Sampling(top_k=2), 5), (None, 0)]
    items = [Item([2, 3], n, 8, 6, sample=how, seed=seed) for n, (how, seed) in enumerate(ways)]
    settings = GenerationSettings(sample=Sampling(), seed=3, n_best=2)
    together = dict(write(scorer, items, settings))
    for item, (how, seed) in zip(items, ways, strict=True):
        own = GenerationSettings(sample=how or Sampling(), seed=3 if seed is None else seed, n_best=2)
        ((_, alone),) = write(scorer, [Item([2, 3], item.number, 8, 6)], own)
        assert [one.tokens for one in together[item.number]] == [one.tokens for one in alone]
