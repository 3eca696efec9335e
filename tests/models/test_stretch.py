"""Several steps in one call of C write what the plain lines write one by one."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.generation import GenerationSettings, Item, PairScorer, search, write
from seqloom.generation.contract import Goal
from seqloom.generation.drawing import Drawing
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.sampling import Sampling
from seqloom.layers.mixer import roomy
from seqloom.layers.native import product
from seqloom.layers.native.run import RUN
from seqloom.layers.paths import only_plain
from seqloom.layers.shortlist import Shortlist
from seqloom.models import stack_step, stretch
from seqloom.models.laid_out import lay_out
from tests.models.stretched import (
    GREEDY,
    ITEMS,
    LANGUAGE,
    ONE,
    SIZE,
    Scorer,
    alike,
    calls_of_c,
    changed,
    same,
    scorer_of,
    used,
    written,
)

ROTARY = {"mixer": {"kind": "attention", "heads": 4, "qk_norm": True, "relative": {"kind": "rotary"}}}

pytestmark = pytest.mark.skipif(RUN.wait() is None, reason="needs a C compiler")


@pytest.mark.parametrize("settings", [GREEDY, ONE])
@pytest.mark.parametrize(
    "other",
    [
        {},
        {"norm": {"kind": "rms", "place": "pre"}, "positions": {"kind": "none"}},
        {"input": {"kind": "tokens", "scale": True, "norm": True}, "tie": "all"},
        {"output": {"kind": "tokens", "scale": True, "bias": True}},
        ROTARY,
        LANGUAGE,
        LANGUAGE | ROTARY,
    ],
)
def test_greedy(other: dict[str, Any], settings: GenerationSettings) -> None:
    found = same(scorer_of(**other), settings)
    assert len({answer.tokens for answers in found.values() for answer in answers}) > 6


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.4),
        Sampling(temperature=1e-30),
        Sampling(temperature=3, top_k=5),
        Sampling(temperature=2, top_p=0.7),
        Sampling(temperature=2, top_k=8, top_p=0.6),
        Sampling(min_p=0.3),
        Sampling(temperature=2, top_k=20, top_p=0.9, min_p=0.05),
    ],
)
@pytest.mark.parametrize("other", [{}, LANGUAGE])
def test_by_chance(other: dict[str, Any], sampling: Sampling) -> None:
    settings = GenerationSettings(sample=sampling, n_best=3, batch=5, seed=4)
    found = same(scorer_of(**other), settings)
    if sampling.temperature >= 1:
        assert len({answer.tokens for answers in found.values() for answer in answers}) > 20


@pytest.mark.parametrize("other", [{}, ROTARY, LANGUAGE | ROTARY, {"output": {"kind": "tokens", "bias": True}}])
def test_the_best_few_of_each_row(other: dict[str, Any]) -> None:
    for beam in (2, 5):
        same(scorer_of(**other), GenerationSettings(beam=beam, n_best=2, batch=5))


def test_a_beam_that_is_cut() -> None:
    scorer, settings = scorer_of(), GenerationSettings(beam=4, n_best=3, batch=5)
    items = [replace(item, longest=1 + item.number % 4, cuts=True) for item in ITEMS]
    found, calls = calls_of_c(lambda: dict(write(scorer, items, settings)))
    assert calls
    with only_plain():
        alike(found, dict(write(scorer, items, settings)))
    assert any(not answers[0].ended for answers in found.values())


@pytest.mark.parametrize("way", ["in eight bits", "as it was trained", "laid out"])
def test_the_best_few_of_many_rows(way: str) -> None:
    scorer = scorer_of(eight=way == "in eight bits")
    assert isinstance(scorer, PairScorer)
    if way == "laid out":
        lay_out(scorer.model)
    many = [ITEMS[3]] * 140  # more than are looked at together, or multiplied by torch
    state, last_B = scorer.start(many)
    with torch.inference_mode():
        made = scorer.best(last_B, state, 6)
        with only_plain():
            state, _ = scorer.start(many)
            log_probs_RV, _, _ = scorer.step(last_B, state, False)
    assert made is not None
    wanted = log_probs_RV.sort(dim=-1, descending=True, stable=True)
    torch.testing.assert_close(made[0], wanted.values[:, :6], atol=1e-4, rtol=1e-4)
    assert torch.equal(made[1], wanted.indices[:, :6])


def test_many_rows_end_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that what they remember is too much to stay near: some are written before others, step by step."""
    monkeypatch.setattr(search, "LONG", 60.0)  # however slow the machine is
    items = [Item([3 + (n * 7 + place) % 30 for place in range(101 - n % 5)], n, 1 + n % 23) for n in range(300)]
    scorer, settings = scorer_of(), GenerationSettings(beam=1, batch=300)
    found, calls = calls_of_c(lambda: dict(write(scorer, items, settings)))
    assert calls < 10, "rows that are done do not stop others"
    with only_plain():
        wanted = dict(write(scorer, items, settings))
    assert len({len(answers[0].tokens) for answers in wanted.values()}) > 10
    alike(found, wanted)


@pytest.mark.parametrize("settings", [GenerationSettings(beam=1, batch=12), GenerationSettings(beam=3, batch=5)])
def test_weights_in_panels_follow_what_changes_in_place(settings: GenerationSettings) -> None:
    scorer = scorer_of()
    lay_out(scorer.model)
    same(scorer, settings)
    before, made = written(scorer, settings), stretch._plans[scorer.model].written
    assert made is not None
    assert bool(made.head.made) == (product.PRODUCT.wait() is not None)
    with torch.no_grad():
        scorer.model.head.weight_VD.copy_(scorer.model.head.weight_VD.flip(0))  # type: ignore[union-attr]
        scorer.model.decoder.blocks[0].mixer.heads.out.weight.neg_()  # type: ignore[union-attr, operator]
    assert written(scorer, settings) != before
    same(scorer, settings)


def test_a_weight_that_comes_to_lie_where_another_was() -> None:
    """Freed memory is given out again: the second may have the first one's address."""
    scorer = scorer_of()
    lay_out(scorer.model)
    out = scorer.model.decoder.blocks[0].mixer.heads.out  # type: ignore[union-attr]
    for factor in (-1, 2, -0.5, 3):
        written(scorer, ONE)
        out.weight.data = out.weight.data * -1  # type: ignore[union-attr, operator]
        out.weight.data = out.weight.data * factor  # type: ignore[union-attr, operator]
        same(scorer, ONE)


def test_all_samples_are_handed_out() -> None:
    writing = Drawing(scorer_of(), GenerationSettings(sample=Sampling(), n_best=3))
    writing.begin(ITEMS[:2])
    found = dict[int, int]()
    while writing.items:
        found |= {draft.item.number: len(writing.answers(draft)) for draft in writing.step()}
    assert found == {0: 3, 1: 3}


def test_each_item_by_its_own_chance() -> None:
    scorer, settings = scorer_of(), GenerationSettings(sample=Sampling(), batch=8)
    items = [
        Item(ITEMS[3].source, 0, 20, seed=1),
        Item(ITEMS[3].source, 0, 20, seed=2),
        Item(ITEMS[3].source, 1, 20, sample=Sampling(temperature=1e-30)),
    ]
    found = [answers[0] for _, answers in write(scorer, items[:1], settings)]
    found += [answers[0] for _, answers in write(scorer, items[1:2], settings)]
    assert found[0].tokens != found[1].tokens
    ((_, (cold,)),) = write(scorer, items[2:], settings)
    ((_, (likeliest,)),) = write(scorer, items[2:], GREEDY)
    assert cold.tokens == likeliest.tokens


@pytest.mark.parametrize("other", [{}, LANGUAGE])
def test_nobody_asks_how_likely(other: dict[str, Any]) -> None:
    scorer = scorer_of(**other)
    wanted = {number: answers[0].tokens for number, answers in same(scorer, GREEDY).items()}
    short = Shortlist(scorer.model.head.weight_VD, [0, 1, 7])  # type: ignore[union-attr]
    for way in ({"shortlist": short}, {"likely": False}):
        found = written(scorer, GREEDY, **way)
        assert {number: answers[0].tokens for number, answers in found.items()} == wanted
        assert all(answers[0].score != answers[0].score for answers in found.values())


@pytest.mark.parametrize(
    "settings", [GREEDY, GenerationSettings(sample=Sampling(), batch=5), GenerationSettings(beam=3, batch=5)]
)
def test_in_eight_bits(settings: GenerationSettings) -> None:
    """A last bit may change a rounding, and so an answer: nearly all are the same."""
    scorer = scorer_of(eight=True)
    found = written(scorer, settings)
    assert used(scorer)
    with only_plain():
        wanted = written(scorer, settings)
    assert sum(found[number][0].tokens == wanted[number][0].tokens for number in wanted) >= len(ITEMS) - 2


def _twins(model: torch.nn.Module) -> None:
    """Each token scores as the next one does, and as two far behind them; one that may not be written has often the
    highest score."""
    weight_VD = model.head.weight_VD  # type: ignore[union-attr]
    weight_VD[1:150:2] = weight_VD[:150:2]
    weight_VD[150:] = weight_VD[:150]
    weight_VD[7] *= 20


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("width", [32, 64, 512])  # wide enough that threads share the scores
def test_the_likeliest_is_looked_for_while_scores_are_made(width: int, threads: int) -> None:
    """Where nobody asks how likely it is: the same as of all scores, of equals the first."""
    scorer, before = scorer_of(eight=True, size=300, change=_twins, width=width), torch.get_num_threads()
    settings = GenerationSettings(beam=1, batch=12)
    try:
        torch.set_num_threads(threads)
        wanted, found = written(scorer, settings), written(scorer, settings, likely=False)
    finally:
        torch.set_num_threads(before)
    assert used(scorer)
    tokens = {number: answers[0].tokens for number, answers in wanted.items()}
    assert {number: answers[0].tokens for number, answers in found.items()} == tokens
    said = set().union(*tokens.values())
    assert len(said) > 5
    assert all(token < 150 and not token % 2 for token in said), "of twins the first"


@pytest.mark.parametrize("threads", [1, 2])
def test_the_likeliest_may_stand_in_any_thread_s_share(threads: int) -> None:
    """Wide enough that threads share the scores."""
    scorer, before = scorer_of(eight=True, size=300, width=512), torch.get_num_threads()
    settings = GenerationSettings(beam=1, batch=12)
    try:
        torch.set_num_threads(threads)
        wanted, found = written(scorer, settings), written(scorer, settings, likely=False)
    finally:
        torch.set_num_threads(before)
    tokens = {number: answers[0].tokens for number, answers in wanted.items()}
    assert {number: answers[0].tokens for number, answers in found.items()} == tokens
    said = set().union(*tokens.values())
    assert min(said) < 150 < max(said)


@pytest.mark.parametrize("likely", [True, False])
def test_what_is_no_number_is_told_in_eight_bits(likely: bool) -> None:
    def spoil(model: torch.nn.Module) -> None:
        model.head.weight_VD[20] = torch.nan  # type: ignore[union-attr]

    with pytest.raises(NoNumbersError):
        written(scorer_of(eight=True, change=spoil), GREEDY, likely=likely)


@pytest.mark.parametrize(("module", "other"), [(stretch, {"positions": {"kind": "sinusoidal"}}), (stack_step, ROTARY)])
def test_more_positions_than_were_written_down(
    module: ModuleType, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PLACES", 9)
    scorer, real, reached = scorer_of(**other), stretch.ran, list[int]()

    def noted(
        lib: object, form: object, blocks: object, steps: int, last_R: object, lengths_R: Tensor, *rest: Any
    ) -> Any:
        reached.append(int(lengths_R.max()) + steps)
        return real(lib, form, blocks, steps, last_R, lengths_R, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(stretch, "ran", noted)
    found = same(scorer, GREEDY)
    assert max(reached) == 9
    assert max(len(answers[0].tokens) for answers in found.values()) > 9


def test_a_row_of_panels_is_what_it_is_among_others() -> None:
    """To the bit, where products are our own: one kernel reads weights that are laid out, whoever stands beside."""
    if product.PRODUCT.wait() is None:
        pytest.skip("no product of our own here")
    scorer, before = scorer_of(**LANGUAGE | ROTARY), torch.get_num_threads()
    lay_out(scorer.model)
    torch.set_num_threads(1)
    try:
        many = [Item([], number, 8, seed=number) for number in range(13)]
        settings = GenerationSettings(sample=Sampling(), batch=13)
        together = dict(write(scorer, many, settings))
        for number in (0, 7, 12):
            ((_, (alone,)),) = write(scorer, many[number : number + 1], settings)
            assert (alone.tokens, alone.log_probs) == (together[number][0].tokens, together[number][0].log_probs)
    finally:
        torch.set_num_threads(before)


def test_the_weights_lie_in_panels_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However they are asked: several steps at a time, or one by one."""
    scorer = scorer_of(**ROTARY)
    lay_out(scorer.model)
    same(scorer, GREEDY)
    made = stretch._plans[scorer.model].written
    assert made is not None
    assert made.blocks is stack_step.plan_of(scorer.model.decoder.blocks, causal=True)


def _listened(scorer: Scorer) -> Callable[[], object]:
    return scorer.model.decoder.register_forward_hook(lambda *_: None).remove


def _laid_out(scorer: Scorer) -> Callable[[], object]:
    lay_out(scorer.model)
    return lambda: None


def _biased(scorer: Scorer) -> Callable[[], object]:
    """Where there was none."""
    scorer.model.head.bias_V = torch.nn.Parameter(torch.linspace(-9, 9, SIZE), requires_grad=False)
    return lambda: None


def _turned(scorer: Scorer) -> Callable[[], object]:
    """The same numbers at the same place, read in another order."""
    out = scorer.model.decoder.blocks[0].mixer.heads.out  # type: ignore[union-attr]
    out.weight.data = out.weight.data.t()  # type: ignore[union-attr]
    return lambda: None


def _patched(scorer: Scorer) -> Callable[[], object]:
    model, real = scorer.model, scorer.model.scores
    model.scores = lambda output: real(output).flip(-1)  # type: ignore[method-assign, misc, arg-type]
    return lambda: None


@pytest.mark.parametrize("change", [_listened, changed, _laid_out, _biased, _turned, _patched])
def test_what_changed_since_is_seen(change: Callable[[Scorer], Callable[[], object]]) -> None:
    scorer = scorer_of()
    written(scorer, GREEDY)
    undo = change(scorer)
    found, calls = calls_of_c(lambda: written(scorer, GREEDY))
    assert bool(calls) == (change not in (_listened, _patched))
    with only_plain():
        alike(found, written(scorer, GREEDY))
    undo()


def test_whoever_listens_hears_every_step() -> None:
    scorer, heard = scorer_of(), list[object]()
    hook = scorer.model.decoder.register_forward_hook(lambda *given: heard.append(given))
    ((_, (answer,)),) = write(scorer, [Item([5, 6], 0, 4)], GREEDY)
    assert len(heard) >= len(answer.tokens)
    hook.remove()


@pytest.mark.parametrize(
    "other",
    [
        {"mixer": {"kind": "convolution"}, "cross": {"kind": "attention", "heads": 4}},
        {"mixer": {"kind": "attention", "heads": 4, "relative": {"kind": "alibi"}}},
        {"output": {"kind": "tokens", "narrow": 8}},
        {"positions": {"kind": "sinusoidal", "join": "concat", "width": 8}},
    ],
)
def test_what_it_cannot_say_goes_the_plain_way(other: dict[str, Any]) -> None:
    scorer = scorer_of(**other)
    written(scorer, GREEDY)
    assert not used(scorer)


@pytest.mark.parametrize(
    "settings", [GREEDY, GenerationSettings(sample=Sampling(), batch=5), GenerationSettings(beam=3, batch=5)]
)
@pytest.mark.parametrize("where", ["target.embedding.weight_VD", "head.weight_VD"])
def test_what_is_no_number_is_told(where: str, settings: GenerationSettings) -> None:
    scorer = scorer_of()
    dict(scorer.model.named_parameters())[where].data[5:] = torch.nan
    with pytest.raises(NoNumbersError):
        written(scorer, settings)


def test_a_token_that_is_none_is_refused() -> None:
    scorer = scorer_of()
    state, last_B = scorer.start([ITEMS[2]])
    with torch.inference_mode(), pytest.raises(IndexError):
        scorer.step(last_B + SIZE, state, False)
    assert scorer.run(last_B + SIZE, roomy(state, 4), Goal([5], 4)) is None  # type: ignore[arg-type]


def test_rows_do_not_depend_on_their_neighbours() -> None:
    scorer, settings = scorer_of(eight=True), GenerationSettings(sample=Sampling(), n_best=2, batch=12)
    together = written(scorer, settings)
    alone = written(scorer, GenerationSettings(sample=Sampling(), n_best=2, batch=1))
    alike(alone, together, 1e-5)
