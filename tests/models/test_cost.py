"""Costs from the settings agree with a count on the built model."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from seqloom.layers.embedding import WORD, InputSettings, Spelled
from seqloom.layers.layout import Padded
from seqloom.layers.paths import only_plain
from seqloom.layers.recurrent_layers import RecurrentLayers
from seqloom.models.build import build_model
from seqloom.models.cost import model_cost, training_flops
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.head_settings import ClassesOutput
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.cases import BOTH, CROSS, MODELS, NOT_CAUSAL, WITH_MEMORY
from tests.laws.model_cases import READINGS, SETTINGS
from tests.laws.subject import drawn

ROWS, STEPS, SOURCE = 2, 6, 9
SIZES = Sizes(11, 11, STEPS)

PLAIN = {"width": 8, "depth": 2, "norm": {"kind": "none"}}
EACH: dict[str, dict[str, object]] = {
    **SETTINGS,
    **READINGS,
    **{f"{name} decoder": PLAIN | {"family": "decoder-only", "mixer": mixer} for name, mixer in BOTH.items()},
    **{f"{name} encoder": PLAIN | {"family": "encoder-only", "mixer": mixer} for name, mixer in NOT_CAUSAL.items()},
    **{
        f"{name} model": PLAIN
        | {"decoder": {"mixer": mixer, "cross": {"kind": "none"}}, "mixer": {"kind": "convolution"}}
        for name, mixer in WITH_MEMORY.items()
    },
    **{
        f"{name} cross": PLAIN | {"mixer": {"kind": "convolution"}, "decoder": {"cross": cross}}
        for name, cross in CROSS.items()
    },
    "experts": PLAIN
    | {"family": "decoder-only", "mixer": {"kind": "convolution"}, "feed_forward": {"kind": "experts"}},
    "classes": PLAIN | {"family": "encoder-only", "output": {"kind": "classes"}},
    "classes-attention": PLAIN | {"family": "encoder-only", "output": {"kind": "classes", "pool": "attention"}},
    "classes-pools": PLAIN | {"family": "encoder-only", "output": {"kind": "classes", "pool": ("max", "mean")}},
    "tags": PLAIN | {"family": "encoder-only", "output": {"kind": "tags", "chain": True}},
    "follows": PLAIN | {"family": "encoder-only", "output": {"kind": "tokens", "follows": True}},
    "numbers": PLAIN
    | {"family": "decoder-only", "input": {"kind": "vectors"}, "output": {"kind": "numbers", "quantiles": (0.1, 0.9)}},
    "horizon": PLAIN
    | {
        "family": "encoder-only",
        "input": {"kind": "patches", "length": 4, "stride": 2},
        "output": {"kind": "horizon", "quantiles": (0.1, 0.9)},
    },
    "horizon-by-parts": PLAIN
    | {
        "family": "encoder-only",
        "input": {"kind": "patches", "length": 4, "stride": 2},
        "output": {"kind": "horizon", "pool": "patches", "patch": 4, "quantiles": (0.1, 0.9)},
    },
    "patches": PLAIN
    | {"family": "encoder-only", "input": {"kind": "patches", "length": 4}, "output": {"kind": "classes"}},
}


def _settings(name: str) -> ModelSettings:
    return ModelSettings.model_validate(EACH[name])


@pytest.mark.parametrize("name", EACH)
def test_parameters(name: str) -> None:
    settings = _settings(name)
    built = sum(p.numel() for p in build_model(settings, SIZES).parameters())
    assert model_cost(settings, SIZES).parameters == built


# The counter sees matrix products only, and some equations are written with elementwise ones, or (experts) do more than
# the fast path.
UNCOUNTED = (
    "depthwise",
    "gated-linear",
    "hybrid-decoder",
    "batch-normed",
    "experts",
    "patch",
    "vit",
    "classes-attention",
    "series-classifier",
    "step-horizon",
)


@pytest.mark.parametrize("name", [name for name in EACH if not any(word in name for word in UNCOUNTED)])
def test_forward_flops(name: str) -> None:
    """The equation's matrix products, counted while they run, with windows as wide as they are."""
    settings = _settings(name)
    model = build_model(settings, SIZES).eval()
    layout, source_layout = Padded.whole(ROWS, STEPS), Padded.whole(ROWS, SOURCE)
    generator = torch.Generator().manual_seed(0)

    def draw(what: InputSettings, steps: int) -> Tensor:
        if isinstance(what, Spelled):  # words of as many letters as are counted with
            return (
                torch.tensor([3, *range(11, 10 + int(WORD))]).repeat(ROWS * steps // int(WORD)).unflatten(0, (ROWS, -1))
            )
        return drawn(what, 11, ROWS * steps, generator).unflatten(0, (ROWS, steps))

    with only_plain(), FlopCounterMode(display=False) as counter, torch.no_grad():
        if isinstance(model, EncoderDecoder):
            output = model(draw(settings.input, SOURCE), source_layout, draw(settings.decoder_input, STEPS), layout)
        else:
            output = model(draw(settings.input, STEPS), layout)
        model.scores(output)
    counted = counter.get_total_flops() - _once_a_row(settings)
    expected = model_cost(_unlimited(settings), SIZES, STEPS, SOURCE).flops * ROWS * STEPS
    assert counted == pytest.approx(expected, rel=1e-9)


def _unlimited(settings: ModelSettings) -> ModelSettings:
    """The plain path computes the whole square and masks it."""
    wide = {"window": None, "block": None}
    mixers = settings.mixer if isinstance(settings.mixer, tuple) else (settings.mixer,)
    free = tuple(mixer.model_copy(update=wide) if mixer.kind == "attention" else mixer for mixer in mixers)
    return settings.model_copy(update={"mixer": free})


def _once_a_row(settings: ModelSettings) -> float:
    """Products that are done once for a row, which the cost leaves out."""
    once = 0.0
    width = settings.width
    if settings.family == "encoder-decoder":
        decoder = settings.side("decoder")
        for mixer, cross in zip(decoder.mixers(), decoder.crosses(), strict=True):
            if cross.kind == "bottleneck":
                once += 2 * width * width
            if getattr(mixer, "initial", None) == "memory":
                assert isinstance(mixer, RecurrentLayers)
                once += 2 * width * sum(map(sum, mixer.widths(width)))
    if isinstance(settings.output, ClassesOutput):
        once += 2 * width * len(settings.output.pools) * 11
    return ROWS * once


def test_the_2017_base_model_costs_what_the_paper_says() -> None:
    """Table 3 has 65 million parameters; 37,000 tokens are shared by source, target and output."""
    settings = ModelSettings.model_validate(
        {
            "width": 512,
            "depth": 6,
            "mixer": {"kind": "attention", "heads": 8},
            "norm": {"kind": "layer", "place": "post"},
            "tie": "all",
        }
    )
    cost = model_cost(settings, Sizes(37_000, 37_000), length=27)
    assert cost.parameters == pytest.approx(65e6, rel=0.05)
    # six times the parameters that take part in a token's products, and the scores on top
    products = cost.parameters
    assert training_flops(cost) == pytest.approx(6 * products, rel=0.05)


def test_experts_count_all_parameters_but_only_active_flops() -> None:
    base = {"family": "decoder-only", "width": 8, "depth": 1, "mixer": {"kind": "convolution"}}
    few, many = (
        model_cost(
            ModelSettings.model_validate(
                base | {"feed_forward": {"kind": "experts", "experts": n, "active": 2, "width": 64, "noise": False}}
            ),
            SIZES,
        )
        for n in (4, 8)
    )
    assert many.parameters - few.parameters == 4 * (8 * 64 + 64 + 64 * 8 + 8) + 4 * 8
    assert many.flops - few.flops == 2 * 8 * 4  # the gate alone


def test_every_model_of_the_laws_is_counted() -> None:
    assert {case.name for case in MODELS} <= set(EACH)
    assert replace(model_cost(_settings("llama-like"), SIZES), flops=0).parameters > 0
