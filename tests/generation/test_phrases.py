"""Phrases that must and must not be there, against looking through what was written."""

from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation.automaton import Phrase
from seqloom.generation.overlap import MOST
from seqloom.generation.phrases import Constraint, Phrases, Progress, conflict, holds, maximal
from seqloom.layers.mixer import reorder

TOKENS = st.integers(0, 2)
SOME = st.lists(st.lists(TOKENS, min_size=1, max_size=4).map(tuple), max_size=3).map(tuple)
WRITTEN = st.lists(TOKENS, max_size=10).map(tuple)


def after(phrases: Phrases, written: list[Phrase]) -> Progress:
    progress = phrases.start()
    for tokens in zip(*written, strict=True):
        progress = phrases.advance(progress, torch.tensor(tokens))
    return progress


def begun(written: Phrase, phrase: Phrase) -> int:
    """So many of the phrase's first tokens stand at the end."""
    return max(n for n in range(len(phrase) + 1) if written[len(written) - n :] == phrase[:n])


def least(written: Phrase, phrases: Sequence[Phrase]) -> int:
    """So many more tokens hold all: the best of all orders, each phrase begun as early as what is there allows."""
    found = []
    for order in permutations([one for one in phrases if not holds(written, one)]):
        text = written
        for phrase in order:
            if not holds(text, phrase):
                text += phrase[begun(text, phrase) :]
        found.append(len(text) - len(written))
    return min(found)


def pairs(found: tuple[torch.Tensor, torch.Tensor]) -> set[tuple[int, int]]:
    return set(zip(*(part.tolist() for part in found), strict=True))


@settings(max_examples=150)
@given(st.lists(st.tuples(st.tuples(SOME, SOME), WRITTEN), min_size=1, max_size=3))
def test_the_same_as_looking_through_what_was_written(rows: list[tuple[Constraint, Phrase]]) -> None:
    length = min(len(written) for _, written in rows)
    rows = [(constraint, written[:length]) for constraint, written in rows]
    phrases = Phrases([constraint for constraint, _ in rows])
    progress = after(phrases, [written for _, written in rows])
    forbidden, wanted = pairs(phrases.forbidden(progress)), pairs(phrases.wanted(progress))
    for number, ((must, never), written) in enumerate(rows):
        must = maximal(must)
        open_ones = [phrase for phrase in must if not holds(written, phrase)]
        assert phrases.needed(progress)[number] == least(written, must)
        assert phrases.met(progress)[number] == least((), must) - least(written, must)
        assert phrases.all_met(progress)[number] == (not open_ones)
        for token in range(3):
            then = (*written, token)
            assert ((number, token) in forbidden) == any(then[-len(one) :] == one for one in never)
            assert ((number, token) in wanted) == any(begun(then, one) for one in open_ones)


def test_a_beginning_that_overlaps_itself() -> None:
    phrases = Phrases([(((7, 7, 8),), ())])
    progress = after(phrases, [(7, 7, 7)])
    assert phrases.met(progress).tolist() == [2]
    progress = phrases.advance(progress, torch.tensor([8]))
    assert phrases.all_met(progress).tolist() == [True]
    assert phrases.all_met(phrases.advance(progress, torch.tensor([5]))).tolist() == [True]


def test_repeats_and_parts_count_once() -> None:
    phrases = Phrases([(((1, 2), (1, 2), (1, 2, 3), (2,)), ())])
    assert phrases.needed(phrases.start()).tolist() == [3]


def test_phrases_that_overlap_share_tokens() -> None:
    phrases = Phrases([(((3, 4), (2, 3), (5,)), ()), (((3, 4),), ((9, 9, 9),))])
    assert phrases.needed(phrases.start()).tolist() == [4, 2]
    progress = after(phrases, [(2, 3), (2, 3)])
    assert (phrases.needed(progress).tolist(), phrases.met(progress).tolist()) == ([2, 1], [2, 1])
    progress = after(phrases, [(3, 4), (3, 4)])  # the better order is past
    assert (phrases.needed(progress).tolist(), phrases.met(progress).tolist()) == ([3, 0], [1, 2])


def test_more_phrases_than_orders_are_looked_at() -> None:
    """are counted as if none overlapped; the room that they get is enough."""
    many = tuple((token, token + 1) for token in range(MOST + 1))
    phrases = Phrases([(many, ()), (many[:MOST], ())])
    assert phrases.needed(phrases.start()).tolist() == [2 * (MOST + 1), MOST + 1]
    whole = tuple(range(MOST + 2))
    assert phrases.all_met(after(phrases, [whole, whole])).all()


@settings(max_examples=150)
@given(SOME, SOME, st.integers(0, 3), st.randoms(use_true_random=False))
def test_who_keeps_enough_room_meets_all(
    must: tuple[Phrase, ...], never: tuple[Phrase, ...], more: int, chance: Random
) -> None:
    """Any allowed token at all, as long as what is needed behind it fits into the room behind it."""
    never = tuple(one for one in never if not any(holds(phrase, one) for phrase in must))
    phrases = Phrases([(must, never)])
    progress, written = phrases.start(), []
    assert (phrases.safely_needed(progress) == phrases.needed(progress)).all() or never
    for room in range(int(phrases.safely_needed(progress)) + more - 1, -1, -1):
        _, forbidden = phrases.forbidden(progress)
        each = phrases.advance(reorder(progress, torch.zeros(4).long()), torch.arange(4))  # no phrase has 3
        fits = set((phrases.safely_needed(each) <= room).nonzero()[:, 0].tolist()) - set(forbidden.tolist())
        written.append(chance.choice(sorted(fits)))
        progress = reorder(each, torch.tensor(written[-1:]))
    assert phrases.all_met(progress).all()
    assert all(holds(tuple(written), phrase) for phrase in must)
    assert not any(holds(tuple(written), phrase) for phrase in never)


def test_a_forbidden_border_takes_one_token_more() -> None:
    phrases = Phrases([(((1,), (4, 2, 2)), ((2, 1),)), (((1,), (4, 2, 2)), ())])
    assert phrases.safely_needed(after(phrases, [(4, 2), (4, 2)])).tolist() == [3, 2]
    assert phrases.safely_needed(after(phrases, [(4, 2, 2), (4, 2, 2)])).tolist() == [2, 1]
    assert phrases.safely_needed(after(phrases, [(4, 2, 2, 7), (4, 2, 2, 7)])).tolist() == [1, 1]
    assert phrases.safely_needed(after(phrases, [(4, 2, 2, 7, 1), (1, 4, 2, 2, 1)])).tolist() == [0, 0]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=9).map(tuple), st.lists(st.integers(0, 1), max_size=30))
def test_long_phrases_that_overlap_themselves(phrase: Phrase, written: list[int]) -> None:
    phrases = Phrases([((), (phrase,))])
    progress = after(phrases, [tuple(written)])
    assert progress.at_RP[0, 0] == begun(tuple(written), phrase)


def test_rows_reorder_and_new_items_join() -> None:
    one: Constraint = (((1, 2),), ((3,),))
    two: Constraint = (((4,), (5, 6, 7)), ())
    three: Constraint = ((), ((8, 9), (8, 10), (3,)))
    phrases = Phrases([one, two])
    progress = after(phrases, [(1, 2), (4, 5)])
    progress = reorder(progress, torch.tensor([1, 1, 0]))
    phrases, progress = phrases.joined(progress, [three, ((), ()), one])
    assert phrases.met(progress).tolist() == [2, 2, 2, 0, 0, 0]
    assert phrases.all_met(progress).tolist() == [False, False, True, True, True, False]
    progress = phrases.advance(progress, torch.tensor([6, 5, 5, 8, 3, 1]))
    assert pairs(phrases.forbidden(progress)) == {(2, 3), (3, 9), (3, 10), (3, 3), (5, 3)}
    assert phrases.met(progress).tolist() == [3, 2, 2, 0, 0, 1]
    phrases, progress = phrases.joined(reorder(progress, torch.tensor([5, 4])), [])
    assert len(phrases.sets) == 2
    assert phrases.met(progress).tolist() == [1, 0]


def test_without_phrases_nothing_is_asked() -> None:
    for phrases in (Phrases([]), Phrases([((), ()), ((), ())])):
        progress = phrases.start()
        assert phrases.all_met(progress).all()
        assert phrases.needed(progress).tolist() == phrases.met(progress).tolist() == [0] * len(progress.set_R)
        assert pairs(phrases.wanted(progress)) == pairs(phrases.forbidden(progress)) == set()
        phrases.advance(progress, torch.zeros_like(progress.set_R))
        grown, progress = phrases.joined(progress, [(((1,),), ())])
        assert grown.needed(progress)[-1] == 1


@pytest.mark.parametrize(
    ("must", "never", "longest", "prefix", "reason"),
    [
        (((1, 2, 3),), ((2, 3),), 9, (), r"\[1, 2, 3\] must be there, but holds \[2, 3\], which must not"),
        (((1, 2), (3, 4)), (), 3, (), "what must be there takes 4 tokens, but the answer has at most 3"),
        (((1, 2), ()), (), 3, (), "a phrase is empty; leave it out"),
        ((), ((4, 4),), 9, (4, 4, 5), r"the prefix holds \[4, 4\], which must not be there"),
        (((1, 2),), (), 4, (5, 6, 7), "takes 5 tokens, but the answer has at most 4"),
        ((), (), 2, (5, 6, 7), "takes 3 tokens, but the answer has at most 2"),
        (((3, 4), (2, 3)), (), 3, (), None),
        (((3, 4), (2, 3), (4, 2)), (), 3, (), "what must be there takes 4 tokens"),
        (((1, 2), (1, 2), (2,)), ((2, 1),), 2, (), None),
        (((1, 2),), (), 4, (5, 6, 1), None),
        (((5, 6),), ((6, 5),), 3, (5, 6, 1), None),
    ],
)
def test_what_cannot_be_had_is_said(
    must: tuple[Phrase, ...], never: tuple[Phrase, ...], longest: int, prefix: Phrase, reason: str | None
) -> None:
    said = conflict(must, never, longest, prefix)
    if reason is None:
        assert said is None
    else:
        with pytest.raises(ValueError, match=reason):
            raise ValueError(said)
