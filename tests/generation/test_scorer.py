"""Built models as scorers: what they read, where they begin, where they look."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.generation import GenerationSettings, Item, PairScorer, TextScorer, write
from seqloom.layers.layout import Padded
from seqloom.models import DecoderOnly, EncoderDecoder, Sizes, build_model
from seqloom.models.settings import ModelSettings
from tests.generation.tiny import BEGIN, END, PAIRS, SIZE, pair_model, read, text_model

GREEDY = GenerationSettings(beam=1)


@torch.no_grad()
def continued(model: DecoderOnly, prompt: list[int], longest: int) -> tuple[int, ...]:
    """Greedy by whole passes."""
    given = list(prompt)
    while len(given) - len(prompt) < longest:
        scores = model.scores(model(torch.tensor([given]), Padded.whole(1, len(given))))
        token = int(scores[0, -1].argmax())
        if token == END:
            break
        given.append(token)
    return tuple(given[len(prompt) :])


@pytest.mark.parametrize("framed", [True, False])
@given(
    prompts=st.lists(st.lists(st.integers(2, SIZE - 1), max_size=5), min_size=1, max_size=5), seed=st.integers(0, 50)
)
@settings(max_examples=20)
def test_a_text_is_continued(framed: bool, prompts: list[list[int]], seed: int) -> None:
    model = text_model(seed)
    items = [Item(prompt, number, 6) for number, prompt in enumerate(prompts)]
    for number, (answer,) in write(TextScorer(model, BEGIN, END, framed=framed), items, GREEDY):
        prompt = [BEGIN, *prompts[number]] if framed or not prompts[number] else prompts[number]
        assert answer.tokens == continued(model, prompt, 6)
        assert answer.attention_TS is None


def test_a_source_can_be_read_backwards() -> None:
    model = pair_model("recurrence", 3)
    forth, back = PairScorer(model, BEGIN, END), PairScorer(model, BEGIN, END, reverse=True)
    items = [Item([2, 3, 4], 0, 5), Item([4, 2], 1, 5)]
    turned = [Item([4, 3, 2], 0, 5), Item([2, 4], 1, 5)]
    one = dict(write(forth, turned, GREEDY, attention=True))
    other = dict(write(back, items, GREEDY, attention=True))
    for number, item in enumerate(items):
        (a,), (b,) = one[number], other[number]
        assert (a.tokens, a.log_probs) == (b.tokens, b.log_probs)
        assert a.attention_TS is not None
        assert b.attention_TS is not None
        n = len(item.source)
        assert torch.equal(b.attention_TS[:, :n], a.attention_TS[:, :n].flip(1))
        assert torch.equal(b.attention_TS[:, n], a.attention_TS[:, n])


@torch.no_grad()
def attention_of(model: EncoderDecoder, source: list[int], answer: tuple[int, ...], layer: int) -> torch.Tensor:
    """The heads' mean, by a whole pass with a layer's own weights."""
    given = torch.tensor([[BEGIN, *answer]])
    sources = torch.tensor([[*source, END]])
    block: Any = model.decoder.blocks[layer]
    looking = block.mixer if block.cross is None else block.cross
    seen = []
    hook = looking.register_forward_pre_hook(lambda module, args: seen.append(module.weights(*args)))
    model(sources, Padded.whole(*sources.shape), given, Padded.whole(*given.shape))
    hook.remove()
    return seen[0][0].mean(0)


@pytest.mark.parametrize("name", ["attention", "recurrence", "convolution"])
@pytest.mark.parametrize("asked", [{"beam": 1}, {"beam": 3, "n_best": 3}, {"sample": {}, "n_best": 2}], ids=str)
@given(
    sources=st.lists(st.lists(st.integers(2, SIZE - 1), max_size=4), min_size=1, max_size=4), seed=st.integers(0, 50)
)
@settings(max_examples=5)
def test_attention_is_that_of_a_whole_pass(
    name: str, asked: dict[str, Any], sources: list[list[int]], seed: int
) -> None:
    model = pair_model(name, seed)
    items = [Item(source, number, 4) for number, source in enumerate(sources)]
    asking = GenerationSettings.model_validate({**asked, "batch": 2})
    for number, answers in write(PairScorer(model, BEGIN, END), items, asking, attention=True):
        for answer in answers:
            whole = attention_of(model, sources[number], answer.tokens, -1)
            assert answer.attention_TS is not None
            assert answer.attention_TS.shape == (len(answer.tokens) + answer.ended, len(sources[number]) + 1)
            torch.testing.assert_close(answer.attention_TS, whole[: len(answer.attention_TS)], atol=1e-4, rtol=1e-4)


def test_another_layer_may_be_asked() -> None:
    settings = ModelSettings.model_validate({**PAIRS["attention"], "depth": 2})
    torch.manual_seed(4)
    model = build_model(settings, Sizes(SIZE, SIZE)).eval()
    assert isinstance(model, EncoderDecoder)
    for layer in (0, 1):
        ((_, (answer,)),) = write(
            PairScorer(model, BEGIN, END, layer=layer), [Item([2, 3, 4], 0, 3)], GREEDY, attention=True
        )
        assert answer.attention_TS is not None
        whole = attention_of(model, [2, 3, 4], answer.tokens, layer)[: len(answer.attention_TS)]
        torch.testing.assert_close(answer.attention_TS, whole)


def test_a_model_that_looks_nowhere_tells_none() -> None:
    scorer = PairScorer(pair_model("bottleneck", 1), BEGIN, END)
    for _, answers in write(
        scorer, [Item([2, 3], n, 4) for n in range(5)], GenerationSettings(batch=2), attention=True
    ):
        assert answers[0].attention_TS is None


def test_log_probs_are_of_all_tokens() -> None:
    model = pair_model("attention", 2)
    scorer = PairScorer(model, BEGIN, END)
    state, last_B = scorer.start([Item([2, 3], 0, 4), Item([4], 1, 4)])
    log_probs_RV, attention, state = scorer.step(last_B, state, False)
    assert attention is None
    assert log_probs_RV.shape == (2, scorer.size)
    for row, source in enumerate(([2, 3], [4])):
        torch.testing.assert_close(log_probs_RV[row].double(), read(model, source, [[]])[0, -1], atol=1e-5, rtol=1e-5)
