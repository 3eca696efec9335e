"""Several steps in one call of C: tables that end, tokens that are none, threads, weights that are replaced."""

import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from seqloom.generation import GenerationSettings, Item, TextScorer, write
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.sampling import Sampling
from seqloom.layers.layout import Packed
from seqloom.layers.native.run import RUN
from seqloom.layers.paths import only_plain
from seqloom.layers.shortlist import Shortlist
from seqloom.models import DecoderOnly, stretch
from tests.models.stretched import (
    BEGIN,
    END,
    GREEDY,
    ITEMS,
    LANGUAGE,
    SIZE,
    Scorer,
    changed,
    same,
    scorer_of,
    written,
)

pytestmark = pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")


def test_the_positions_of_a_learned_table_end() -> None:
    model = scorer_of(**{**LANGUAGE, "positions": {"kind": "learned", "length": 12}}).model
    assert isinstance(model, DecoderOnly)
    scorer = TextScorer(model, BEGIN, END, never=[BEGIN, END])
    items: Sequence[Item] = [Item([5, 6, 7], 0, 40)]
    with pytest.raises(ValueError, match="positions are learned for the first 12"):
        list(write(scorer, items, GenerationSettings(sample=Sampling(), batch=5)))


@pytest.mark.parametrize("sample", [Sampling(top_p=1e-7), Sampling(top_k=2**63 - 1, top_p=0.5)])
def test_somebody_always_stays(sample: Sampling) -> None:
    """A mass that nobody is as small as leaves the likeliest token; a number beyond all tokens leaves all."""
    same(scorer_of(**LANGUAGE), GenerationSettings(beam=1, batch=5, sample=sample))


@pytest.mark.parametrize("sample", [None, Sampling()])
def test_nothing_may_be_written(sample: Sampling | None) -> None:
    scorer = scorer_of(**LANGUAGE)
    mute = TextScorer(scorer.model, BEGIN, END, never=range(SIZE))  # type: ignore[arg-type]
    found = written(mute, GenerationSettings(beam=1, sample=sample))
    assert {one.tokens for answers in found.values() for one in answers} == {()}


@pytest.mark.parametrize("token", [-1, SIZE, 2**40])
def test_tokens_that_are_none(token: int) -> None:
    """C would read beyond the table."""
    with pytest.raises(IndexError):
        list(write(scorer_of(**LANGUAGE), [Item([5, token], 0, 4)], GREEDY))


def test_reading_and_writing_by_turns() -> None:
    """A causal model that was written down for its steps still does not see the future when it reads."""
    scorer = scorer_of(**LANGUAGE)
    model = scorer.model
    assert isinstance(model, DecoderOnly)
    lengths = torch.tensor([7, 5])
    layout, tokens = Packed.of(lengths), torch.arange(12) % 30 + 3
    with torch.no_grad():
        with only_plain():
            wanted = model(tokens, layout).hidden
        for item in (Item([], 0, 8), ITEMS[3]):  # nothing to read before the first step, and something
            list(write(scorer, [item], GenerationSettings(beam=3)))
            torch.testing.assert_close(model(tokens, layout).hidden, wanted, atol=1e-4, rtol=1e-4)


def test_threads_that_are_first_at_once() -> None:
    """Each packs weights in eight bits, or waits for who does; nobody frees what C reads."""
    for _ in range(3):
        scorer, ready = scorer_of(eight=True, width=64, depth=4), Barrier(4)

        def run(scorer: Scorer = scorer, ready: Barrier = ready) -> list[tuple[int, ...]]:
            ready.wait()
            return [answers[0].tokens for _, answers in sorted(written(scorer, GREEDY).items())]

        with ThreadPoolExecutor(4) as pool:
            found = [work.result() for work in [pool.submit(run) for _ in range(4)]]
        assert all(one == found[0] for one in found)


def test_no_number_among_the_outputs() -> None:
    """The list of outputs compares whole numbers, which know no NaN."""
    scorer = scorer_of()
    shortlist = Shortlist(scorer.model.head.weight_VD, [0, 1, 7])
    scorer.model.decoder.norm.gain_D.data[3] = torch.nan  # type: ignore[union-attr]
    with pytest.raises(NoNumbersError):
        written(scorer, GREEDY, shortlist=shortlist)


def test_weights_live_as_long_as_who_reads_them() -> None:
    """Another thread may replace a weight, and make a plan anew, while C reads the old one."""
    scorer = scorer_of()
    written(scorer, GREEDY)
    plan = stretch._plans[scorer.model].written
    old = [weakref.ref(scorer.model.head.weight_VD), weakref.ref(scorer.model.decoder.blocks[0].mixer.heads.out.weight)]  # type: ignore[union-attr, call-overload]
    changed(scorer)
    scorer.model.decoder.blocks[0].mixer.heads.out.weight = torch.nn.Parameter(torch.zeros(32, 32))  # type: ignore[union-attr]
    written(scorer, GREEDY)
    assert stretch._plans[scorer.model].written is not plan
    assert all(weight() is not None for weight in old)
