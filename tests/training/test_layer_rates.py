"""Lower layers learn more slowly."""

from typing import Any

import pytest
import torch

from seqloom.models import ModelSettings, Sizes, build_model
from seqloom.models.build import Model
from seqloom.training.layer_rates import layer_rates
from seqloom.training.optimisers import SGD, Adam, AdamW, Muon, OptimiserSettings, build_optimiser


def _model(family: str, **more: Any) -> Model:
    settings = {"family": family, "width": 8, "depth": 2, "mixer": {"kind": "attention", "heads": 2}, **more}
    return build_model(ModelSettings.model_validate(settings), Sizes(11, 11))


def test_each_layer_is_slower_than_the_one_above() -> None:
    rates = layer_rates(_model("encoder-only"), 0.5)
    assert rates["head.weight_VD"] == 1
    assert rates["encoder.norm.gain_D"] == 1
    assert {rate for name, rate in rates.items() if name.startswith("encoder.blocks.1.")} == {0.5}
    assert {rate for name, rate in rates.items() if name.startswith("encoder.blocks.0.")} == {0.25}
    assert rates["input.embedding.weight_VD"] == 0.125


def test_each_stack_counts_for_itself() -> None:
    rates = layer_rates(_model("encoder-decoder", encoder={"depth": 3}), 0.5)
    assert rates["source.embedding.weight_VD"] == 0.5**4
    assert rates["target.embedding.weight_VD"] == 0.5**3
    assert {rate for name, rate in rates.items() if name.startswith("encoder.blocks.2.")} == {0.5}
    assert {rate for name, rate in rates.items() if name.startswith("decoder.blocks.1.")} == {0.5}


@pytest.mark.parametrize("settings", [Adam(rate=0.1), AdamW(rate=0.1, decay=0.0), Muon(rate=0.1), SGD(rate=0.1)])
def test_a_step_is_so_much_shorter(settings: OptimiserSettings) -> None:
    """Of equal gradients; and the rate that is told is the settings' own."""
    one, other = _model("encoder-only"), _model("encoder-only")
    other.load_state_dict(one.state_dict())
    before = {name: parameter.clone() for name, parameter in one.named_parameters()}
    factors = layer_rates(other, 0.5)
    for model, slow in (one, None), (other, factors):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.1)
        optimiser = build_optimiser(settings, model, slow)
        optimiser.step(0.5)
        assert optimiser.rate(0.5) == pytest.approx(0.05)
    for name, parameter in other.named_parameters():
        whole = dict(one.named_parameters())[name] - before[name]
        assert torch.allclose(parameter - before[name], factors[name] * whole, atol=1e-6), name
