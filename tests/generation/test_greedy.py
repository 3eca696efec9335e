"""The short way says what the search says."""
# A items  V tokens

import math
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from seqloom.generation import GenerationSettings, Item, PairScorer, TextScorer, Written, write
from seqloom.generation import search as searching
from seqloom.generation.contract import Goal, Stretch
from seqloom.generation.greedy import Greedy, is_greedy, is_plain
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.scorer import shortlist_of
from seqloom.generation.settings import MeanLength
from seqloom.layers.mixer import State
from seqloom.layers.shortlist import Shortlist
from seqloom.models.heads import TokenHead
from tests.generation.tiny import BEGIN, END, PAIRS, SIZE, pair_model, text_model

ITEMS = [Item([2 + (n * 7 + place) % 3 for place in range(1 + n % 6)], n, 3 + n % 5) for n in range(10)]


def answers(scorer: PairScorer, items: Sequence[Item], settings: GenerationSettings) -> dict[int, Written]:
    return {number: best for number, (best,) in write(scorer, items, settings)}


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("name", PAIRS)
def test_the_same_answers_as_a_search_with_one_hypothesis(
    name: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, ends = GenerationSettings(beam=1, batch=batch, length=MeanLength()), set[bool]()
    for seed in range(5):
        scorer = PairScorer(pair_model(name, seed, sharpness=3), BEGIN, END, never=[4])
        monkeypatch.setattr(searching, "is_greedy", is_greedy)
        short = answers(scorer, ITEMS, settings)
        monkeypatch.setattr(searching, "is_greedy", lambda *_: False)
        searched = answers(scorer, ITEMS, settings)
        for number, written in searched.items():
            assert (short[number].tokens, short[number].ended) == (written.tokens, written.ended)
            assert short[number].log_probs == pytest.approx(written.log_probs, abs=1e-5)
            assert short[number].score == pytest.approx(written.score, abs=1e-5)
            ends.add(written.ended)
    assert ends == {True, False}, "some end, some are cut"


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_texts_where_nobody_asks_how_likely_they_are(name: str) -> None:
    settings, ends = GenerationSettings(beam=1, batch=4), set[bool]()
    for seed in range(5):
        scorer = PairScorer(pair_model(name, seed, sharpness=3), BEGIN, END, never=[4])
        head = scorer.model.head
        assert isinstance(head, TokenHead)
        shortlist = Shortlist(head.weight_VD, [4])
        likely = answers(scorer, ITEMS, settings)
        texts = {number: best for number, (best,) in write(scorer, ITEMS, settings, shortlist=shortlist)}
        for number, written in likely.items():
            assert (texts[number].tokens, texts[number].ended) == (written.tokens, written.ended)
            assert math.isnan(texts[number].score)
            assert math.isnan(texts[number].log_prob)
            ends.add(written.ended)
    assert ends == {True, False}, "some end, some are cut"


@pytest.mark.parametrize("name", PAIRS)
def test_items_join_and_leave_at_any_step(name: str) -> None:
    """And what is written so far is how the answer begins."""
    settings = GenerationSettings(beam=1, length=MeanLength())
    scorer = PairScorer(pair_model(name, 1, sharpness=3), BEGIN, END, never=[4])
    alone, greedy = answers(scorer, ITEMS, settings), Greedy(scorer, settings)
    waiting, found, gone = list(ITEMS), dict[int, Written](), ITEMS[4].number
    while waiting or greedy.drafts:
        greedy.begin([waiting.pop(0) for _ in range(min(2, len(waiting)))])
        greedy.leave({place for place, draft in enumerate(greedy.drafts) if draft.item.number == gone})
        for draft in greedy.step():
            (found[draft.item.number],) = greedy.answers(draft)
        for draft, written in zip(greedy.drafts, greedy.so_far(range(len(greedy.drafts))), strict=True):
            whole = alone[draft.item.number]
            assert written.tokens == whole.tokens[: len(written.tokens)] != ()
            assert written.log_probs == pytest.approx(whole.log_probs[: len(written.tokens)], abs=3e-5)
            assert not written.ended
    assert set(found) == {item.number for item in ITEMS} - {gone}
    for number, written in found.items():
        assert (written.tokens, written.ended) == (alone[number].tokens, alone[number].ended)
        assert written.score == pytest.approx(alone[number].score, abs=3e-5)


class SeveralSteps(PairScorer):
    """Three steps in a call, of which the first row has one and the second two: -1 stands behind them."""

    def run(self, last_R: Tensor, state: State, goal: Goal) -> tuple[Stretch, Tensor, State]:
        tokens_TR = [[END, 2, 2], [-1, END, 2], [-1, -1, 2]]
        found = SimpleNamespace(steps=3, tokens_TR=tokens_TR, log_probs_TR=[[-1.0] * 3] * 3, bad=False)
        return found, last_R, state


def test_the_tokens_of_rows_that_end_within_a_call_are_counted() -> None:
    greedy = Greedy(SeveralSteps(pair_model("attention", 1), BEGIN, END), GenerationSettings(beam=1))
    greedy.begin([Item([2, 3], number, 8) for number in range(3)])
    assert {draft.item.number for draft in greedy.step()} == {0, 1}
    assert (greedy.went, greedy.given) == (3, 1 + 2 + 3)


def test_a_shortlist_of_texts_that_go_on() -> None:
    scorer = TextScorer(text_model(2, sharpness=3), BEGIN, END)
    settings, head = GenerationSettings(beam=1), scorer.model.head
    assert isinstance(head, TokenHead)
    texts = dict(write(scorer, ITEMS, settings, shortlist=Shortlist(head.weight_VD)))
    assert {n: one.tokens for n, (one,) in texts.items()} == {
        n: one.tokens for n, (one,) in write(scorer, ITEMS, settings)
    }


def test_no_numbers_are_told_with_a_shortlist_too() -> None:
    scorer = PairScorer(pair_model("attention", 0), BEGIN, END)
    head = scorer.model.head
    assert isinstance(head, TokenHead)
    shortlist = Shortlist(head.weight_VD)
    with torch.no_grad():
        scorer.model.decoder.blocks[0].mixer.heads.out.bias.fill_(torch.nan)
    with pytest.raises(NoNumbersError):
        list(write(scorer, ITEMS, GenerationSettings(beam=1), shortlist=shortlist))


def test_a_shortlist_is_made_of_a_plain_output_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.generation.scorer.shortlist_if_faster", Shortlist)
    scorer = PairScorer(pair_model("attention", 0), BEGIN, END, never=[4])
    made = shortlist_of(scorer)
    assert made is not None
    assert made.number_V.tolist() == [0, 1, 2, 3]
    head = scorer.model.head
    assert isinstance(head, TokenHead)
    head.bias_V = torch.nn.Parameter(torch.ones(SIZE))
    assert shortlist_of(scorer) is None


def test_who_has_wishes_is_answered_too() -> None:
    scorer = PairScorer(pair_model("attention", 3), BEGIN, END)
    wished = [Item([2, 3], 0, 6), Item([2, 3], 1, 6, prefix=(4, 4)), Item([3], 2, 6), Item([3], 3, 6, shortest=4)]
    assert [is_plain(item) for item in wished] == [True, False, True, False]
    found = answers(scorer, wished, GenerationSettings(beam=1))
    assert sorted(found) == [0, 1, 2, 3]
    assert found[1].tokens[:2] == (4, 4)
    assert len(found[3].tokens) >= 4


@pytest.mark.parametrize(
    ("settings", "greedy"),
    [
        ({"beam": 1}, True),
        ({"beam": 2}, False),
        ({"beam": 1, "no_repeat": 2}, False),
        ({"beam": 1, "coverage": 0.2}, False),
        ({"beam": 1, "sample": {"temperature": 1.0}}, False),
    ],
)
def test_what_is_asked_for_besides_needs_the_search(settings: dict[str, object], greedy: bool) -> None:
    assert is_greedy(GenerationSettings.model_validate(settings), attention=False) is greedy
    assert not is_greedy(GenerationSettings.model_validate(settings), attention=True)


class NoNumbers:
    begin, end, size = BEGIN, END, SIZE

    def start(self, items: Sequence[Item]) -> tuple[Tensor, Tensor]:
        return torch.zeros(len(items)), torch.zeros(len(items), dtype=torch.int64)

    def step(self, last_A: Tensor, state: Tensor, attention: bool) -> tuple[Tensor, None, Tensor]:
        return torch.full((len(last_A), self.size), torch.nan), None, state


def test_scores_that_are_no_numbers_are_told() -> None:
    with pytest.raises(NoNumbersError):
        list(write(NoNumbers(), ITEMS[:2], GenerationSettings(beam=1)))
