"""Whatever is asked of an answer holds, on models that know nothing of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from seqloom.generation import GenerationSettings, Item, PairScorer, impossible_item, write
from seqloom.generation.phrases import holds
from seqloom.settings import UserError
from tests.generation.tiny import BEGIN, END, PAIRS, everything, pair_model

SIZE = 6
TOKENS = st.integers(2, SIZE - 1)
PHRASE = st.lists(TOKENS, min_size=1, max_size=3).map(tuple)
PHRASES = st.lists(PHRASE, max_size=2).map(tuple)
SOME = st.lists(PHRASE, min_size=1, max_size=2).map(tuple)
ASKED = [
    {"beam": 1},
    {"beam": 4, "n_best": 3},
    {"beam": 4, "n_best": 2, "groups": 2},
    {"sample": {"top_p": 0.9}, "n_best": 2},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@given(data=st.data(), seed=st.integers(0, 99), no_repeat=st.integers(0, 3), batch=st.integers(1, 3))
@settings(max_examples=25)
def test_constraints_hold(asked: dict[str, Any], data: st.DataObject, seed: int, no_repeat: int, batch: int) -> None:
    model = pair_model(data.draw(st.sampled_from(sorted(PAIRS))), seed, SIZE)
    asking = GenerationSettings.model_validate({**asked, "no_repeat": no_repeat, "batch": batch})
    items = [_item(data, number, asking) for number in range(data.draw(st.integers(1, 4)))]
    answers = dict(write(PairScorer(model, BEGIN, END), items, asking))
    assert sorted(answers) == list(range(len(items)))
    for item in items:
        assert answers[item.number]
        for answer in answers[item.number]:
            assert answer.tokens[: len(item.prefix)] == item.prefix
            assert len(answer.tokens) <= item.longest
            assert not answer.ended or len(answer.tokens) >= item.shortest
            assert END not in answer.tokens
            assert not any(holds(answer.tokens, phrase) for phrase in item.must_not)
            assert answer.unmet == tuple(phrase for phrase in item.must if not holds(answer.tokens, phrase))
            assert not (answer.ended and answer.unmet)
            free = answer.tokens[len(item.prefix) :]
            assert not no_repeat or not _repeats(free, no_repeat)


def _item(data: st.DataObject, number: int, asking: GenerationSettings) -> Item:
    longest = data.draw(st.integers(4, 9))
    searching = asking.sample is None and asking.groups == 1
    item = Item(
        data.draw(st.lists(TOKENS, max_size=4)),
        number,
        longest,
        data.draw(st.integers(0, 4)),
        tuple(data.draw(st.lists(TOKENS, max_size=3))),
        data.draw(PHRASES) if searching else (),
        data.draw(PHRASES),
    )
    assume(impossible_item(item, asking) is None)
    return item


def _repeats(tokens: tuple[int, ...], n: int) -> bool:
    grams = [tokens[at : at + n] for at in range(len(tokens) - n + 1)]
    return len(set(grams)) < len(grams)


LETTERS = {0: "", END: "", 2: "a", 3: "b", 4: "ab", 5: "c"}


def _spelt(tokens: Sequence[int]) -> str:
    return "".join(LETTERS[token] for token in tokens)


@pytest.mark.parametrize("asked", [*ASKED, {"beam": 3}], ids=str)
def test_what_is_refused_is_not_written_with_other_tokens(asked: dict[str, Any]) -> None:
    """ "ab" is one token, or two: only the first is a phrase that must not be there."""
    asking, spelt, without = GenerationSettings.model_validate(asked), 0, 0
    must = ((5,),) if asked == {"beam": 3} else ()
    for seed in range(20):
        scorer = PairScorer(pair_model("attention", seed, SIZE), BEGIN, END)
        for refuses in (None, lambda tokens: "ab" in _spelt(tokens)):
            items = [
                Item([2, 3, n], n, 7, 4, (3, 2) if n == 5 else (), must, ((4,),), refuses=refuses) for n in (2, 4, 5)
            ]
            each = [answer for _, answers in write(scorer, items, asking) for answer in answers]
            held = sum("ab" in _spelt(answer.tokens) for answer in each)
            spelt, without = spelt + held * (refuses is None), without + held * (refuses is not None)
            assert all(answer.ended or len(answer.tokens) == 7 for answer in each)
    assert spelt > 5
    assert without == 0


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_phrases_that_overlap_fit_where_they_just_fit(beam: int, name: str) -> None:
    for seed in range(5):
        items = [Item([2, 3], 0, 3, must=((3, 4), (2, 3))), Item([2], 1, 6, must=((4, 4, 5), (5, 2, 3), (3, 4, 4)))]
        answers = dict(
            write(PairScorer(pair_model(name, seed, SIZE), BEGIN, END), items, GenerationSettings(beam=beam))
        )
        assert answers[0][0].tokens == (2, 3, 4)
        assert len(answers[1][0].tokens) == 6
        assert all(holds(answers[1][0].tokens, phrase) for phrase in items[1].must)


@pytest.mark.parametrize("beam", [1, 2, 5])
@given(must=PHRASES, seed=st.integers(0, 99), name=st.sampled_from(sorted(PAIRS)))
@settings(max_examples=15)
def test_what_must_be_there_and_fits_is_there(
    beam: int, must: tuple[tuple[int, ...], ...], seed: int, name: str
) -> None:
    """Nothing else is forbidden, so nothing stands between: even what is cut holds it."""
    item = Item([2, 3], 0, 7, must=must)
    asking = GenerationSettings(beam=beam)
    ((_, answers),) = write(PairScorer(pair_model(name, seed, SIZE), BEGIN, END), [item], asking)
    assert [answer.unmet for answer in answers] == [()]
    assert all(holds(answers[0].tokens, phrase) for phrase in must)


@given(seed=st.integers(0, 99), name=st.sampled_from(sorted(PAIRS)), must=SOME, never=PHRASES)
@example(seed=5, name="attention", must=((4, 3), (2,)), never=((4, 4),))
@settings(max_examples=40)
def test_a_beam_as_wide_as_all_finds_the_best_of_those_that_are_allowed(
    seed: int, name: str, must: tuple[tuple[int, ...], ...], never: tuple[tuple[int, ...], ...]
) -> None:
    longest, size = 3, 5
    item = Item([2], 0, longest, must=must, must_not=never)
    asking = GenerationSettings.model_validate({"beam": 400, "n_best": 3, "length": {"kind": "none"}})
    assume(impossible_item(item, asking) is None)
    assume(not any(one[-n:] == other[:n] for one in must for other in must if one != other for n in (1, 2, 3)))
    assume(all(token < size for phrase in (*must, *never) for token in phrase))
    model = pair_model(name, seed, size)
    allowed = {
        tokens: sum(parts)
        for tokens, parts in everything(model, item.source, 0, longest, size)
        if all(holds(tokens, phrase) for phrase in must) and not any(holds(tokens, phrase) for phrase in never)
    }
    ((_, answers),) = write(PairScorer(model, BEGIN, END), [item], asking)
    best = sorted(allowed.values(), reverse=True)[:3]
    ended = [answer for answer in answers if answer.ended]
    assert [answer.score for answer in ended] == pytest.approx(best, abs=1e-4)
    assert [allowed[answer.tokens] for answer in ended] == pytest.approx(best, abs=1e-4)


def test_what_cannot_be_had_is_said() -> None:
    model = pair_model("attention", 0)

    def said(item: Item, **asked: Any) -> None:
        list(write(PairScorer(model, BEGIN, END), [item], GenerationSettings.model_validate(asked)))

    with pytest.raises(UserError, match="input 4: at least 5 tokens, but at most 2; change shortest or longest"):
        said(Item([2], 3, 2, 5))
    with pytest.raises(UserError, match="input 1: a prefix of 3 tokens, but at most 2; raise longest or shorten"):
        said(Item([2], 0, 2, prefix=(2, 2, 2)))
    with pytest.raises(UserError, match="input 1: what must be there takes 3 tokens, but the answer has at most 2"):
        said(Item([2], 0, 2, must=((2, 3, 4),)))
    with pytest.raises(UserError, match="with sample there is none"):
        said(Item([2], 0, 9, must=((2,),)), sample={})
    with pytest.raises(UserError, match="set groups = 1"):
        said(Item([2], 0, 9, must=((2,),)), beam=4, groups=2)
