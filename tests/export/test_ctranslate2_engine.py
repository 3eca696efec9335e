"""CTranslate2 with our weights says what ours says; what it cannot hold is told."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from seqloom.export.ctranslate2_engine import Engine, Limits, Marks
from seqloom.export.ctranslate2_fit import misfit
from seqloom.generation import PairScorer
from seqloom.generation.contract import Item
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings, NoLength
from seqloom.models import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

BEGIN, END, UNKNOWN, SIZE = 1, 2, 0, 40
MARKS = Marks(BEGIN, END, UNKNOWN, frozenset((UNKNOWN, BEGIN, 3, 4)))
BASE: dict[str, Any] = {
    "width": 16,
    "depth": 2,
    "mixer": {"kind": "attention", "heads": 4},
    "feed_forward": {"kind": "dense", "width": 24},
    "positions": {"kind": "sinusoidal"},
}
NEEDS = "ctranslate2 is not installed: its answers are not compared with ours (pip install 'seqloom[fast]')"

FITS: list[dict[str, Any]] = [
    {},
    {"norm": {"kind": "layer", "place": "post"}},
    {"norm": {"kind": "layer", "final": False, "epsilon": 1e-3}},
    {"norm": {"kind": "layer", "gain": False, "bias": False}},
    {"norm": {"kind": "rms"}},
    {"feed_forward": {"kind": "dense", "gated": True, "activation": "silu"}},
    {"feed_forward": {"kind": "dense", "activation": "gelu", "bias": False}},
    {"feed_forward": {"kind": "dense", "activation": "gelu-tanh"}},
    {"feed_forward": {"kind": "dense", "activation": "tanh"}},
    {"feed_forward": {"kind": "dense", "activation": "sigmoid"}},
    {"positions": {"kind": "sinusoidal", "order": "halves"}},
    {"positions": {"kind": "learned", "length": 64}},
    {"positions": {"kind": "none"}},
    {"tie": "all"},
    {"tie": "output", "output": {"kind": "tokens", "bias": True, "scale": True}},
    {"input": {"kind": "tokens", "scale": True, "norm": True}},
    {"mixer": {"kind": "attention", "heads": 4, "bias": False}},
    {"encoder": {"depth": 3}, "decoder": {"depth": 1, "mixer": {"kind": "attention", "heads": 2}}},
]


def network(change: dict[str, Any]) -> EncoderDecoder:
    """Weights so large that each position and layer changes the answer; biases, too, are not zero."""
    torch.manual_seed(1)
    made = build_model(ModelSettings.model_validate(BASE | change), Sizes(source=SIZE, target=SIZE))
    assert isinstance(made, EncoderDecoder)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return made.eval()


def items(count: int = 60, longest: int = 12) -> list[Item]:
    draw = random.Random(1)
    return [Item([draw.randrange(5, SIZE) for _ in range(draw.randint(1, 20))], at, longest) for at in range(count)]


def own(
    of: EncoderDecoder, asked: Sequence[Item], reverse: bool = False
) -> dict[int, tuple[tuple[int, ...], float, bool]]:
    scorer = PairScorer(of, BEGIN, END, never=sorted(MARKS.never), reverse=reverse)
    found = write(scorer, asked, GenerationSettings(beam=1, length=NoLength()))
    return {number: (one.tokens, one.log_prob, one.ended) for number, (one,) in found}


@pytest.mark.parametrize("change", FITS, ids=str)
def test_the_same_answers_and_scores(change: dict[str, Any]) -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    of, asked = network(change), items()
    ours, seen = own(of, asked), 0
    for lines in Engine(of, MARKS, False, ["float32"]).write(asked, 16, "float32"):
        for line in lines:
            tokens, log_prob, ended = ours[line.item.number]
            assert (line.tokens, line.ended) == (tokens, ended)
            assert line.log_prob is None or line.log_prob == pytest.approx(log_prob, abs=1e-3)
            seen += 1
    # those that said what must not be written are left out, and only those
    assert seen > len(asked) / 4
    assert len(set(ours.values())) > len(asked) / 2, "the answers depend on the sources"


def test_sources_read_backwards_and_limits_that_differ() -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    of = network({"output": {"kind": "tokens", "bias": True}})
    with torch.no_grad():
        of.head.bias_V[END] += 3.0  # some answers end, and others are cut
    asked = [Item(item.source, item.number, 1 + item.number % 9) for item in items()]
    ours = own(of, asked, reverse=True)
    lines = [line for some in Engine(of, MARKS, True, ["float32"]).write(asked, 32, "float32") for line in some]
    assert all(ours[line.item.number][0] == line.tokens for line in lines)
    assert all(ours[line.item.number][2] == line.ended for line in lines)
    assert {line.ended for line in lines} == {True, False}


def test_torch_keeps_its_threads() -> None:
    """It tells OpenMP how many threads it has to a batch, one, and both use the same OpenMP."""
    pytest.importorskip("ctranslate2", reason=NEEDS)
    before, asked = torch.get_num_threads(), items()
    torch.set_num_threads(2)
    try:
        engine = Engine(network({}), MARKS, False, ["float32"])
        assert torch.get_num_threads() == 2
        assert sum(len(lines) for lines in engine.write(asked, 32, "float32")) > len(asked) / 4
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_line_of_1000_tokens() -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    of, asked = network({}), [Item([5 + place % 30 for place in range(1000)], 0, 50)]
    ((line,),) = Engine(of, MARKS, False, ["float32"]).write(asked, 1, "float32")
    assert line.tokens == own(of, asked)[0][0]


def test_the_last_of_learned_positions() -> None:
    pytest.importorskip("ctranslate2", reason=NEEDS)
    of, asked = network({"positions": {"kind": "learned", "length": 13}}), items(longest=12)
    asked = [item for item in asked if len(item.source) < 13]
    ours = own(of, asked)
    lines = [line for some in Engine(of, MARKS, False, ["float32"]).write(asked, 32, "float32") for line in some]
    assert any(not line.ended for line in lines)
    assert all((line.tokens, line.ended) == ours[line.item.number][::2] for line in lines)


def test_what_is_too_long_or_has_wishes_is_not_taken() -> None:
    limits = Limits.of(network({"positions": {"kind": "learned", "length": 10}}))
    assert limits.takes(Item([5] * 9, 0, 9))
    assert not limits.takes(Item([5] * 10, 0, 9))
    assert not limits.takes(Item([5] * 9, 0, 10))
    assert not limits.takes(Item([5] * 9, 0, 8, prefix=(7,)))
    assert not limits.takes(Item([5] * 9, 0, 8, must_not=((7,),)))


@pytest.mark.parametrize("change", FITS, ids=str)
def test_fits(change: dict[str, Any]) -> None:
    assert misfit(ModelSettings.model_validate(BASE | change)) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mixer": {"kind": "recurrence"}, "cross": {"kind": "attention"}}, "a mixer of kind recurrence"),
        ({"mixer": {"kind": "attention", "heads": 4, "relative": {"kind": "rotary"}}}, "rotary positions"),
        ({"mixer": {"kind": "attention", "heads": 4, "key_heads": 2}}, "heads that share keys"),
        ({"mixer": {"kind": "attention", "heads": 4, "window": 3}}, "attention that sees a part only"),
        ({"mixer": {"kind": "attention", "heads": 4, "qk_norm": True}}, "norms of queries and keys"),
        ({"norm": {"kind": "layer", "place": "both"}}, "norms before and behind a layer"),
        ({"norm": {"kind": "none"}}, "norm of kind none"),
        ({"residual": {"kind": "add", "carry": 2.0}}, "a residual that is not x + f(x)"),
        ({"feed_forward": {"kind": "dense", "activation": "elu"}}, "the activation elu"),
        ({"family": "decoder-only"}, "a model of family 'decoder-only'"),
        ({"output": {"kind": "tokens", "narrow": 8}}, "another layer before the scores"),
        ({"decoder": {"norm": {"kind": "layer", "epsilon": 1e-3}}}, "whose norms have two epsilons"),
    ],
    ids=str,
)
def test_what_does_not_fit_says_why(change: dict[str, Any], why: str) -> None:
    said = misfit(ModelSettings.model_validate(BASE | change))
    assert said is not None
    assert why in said
