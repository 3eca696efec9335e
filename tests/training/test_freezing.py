"""Parts that do not learn."""

import pytest
import torch

from seqloom.models import ModelSettings, Sizes, build_model
from seqloom.models.build import Model
from seqloom.settings import UserError
from seqloom.training.ema import Ema, MovingAverage
from seqloom.training.freezing import freeze
from seqloom.training.optimisers import AdamW, build_optimiser
from seqloom.training.roles import trained


def _model(tie: str = "none") -> Model:
    return build_model(
        ModelSettings.model_validate(
            {"family": "encoder-only", "width": 8, "depth": 3, "mixer": {"kind": "attention", "heads": 2}, "tie": tie}
        ),
        Sizes(11, 11),
    )


@pytest.mark.parametrize(
    ("pattern", "prefixes"),
    [
        ("embedding", ["input.embedding."]),
        ("encoder.blocks.0-1", ["encoder.blocks.0.", "encoder.blocks.1."]),
        ("blocks.2.mixer", ["encoder.blocks.2.mixer."]),
        ("blocks.*.mixer", [f"encoder.blocks.{block}.mixer." for block in range(3)]),
        ("head", ["head."]),
    ],
)
def test_a_pattern_names_parts(pattern: str, prefixes: list[str]) -> None:
    model = _model()
    count = freeze(model, [pattern])
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    assert frozen == [name for name, _ in model.named_parameters() if name.startswith(tuple(prefixes))]
    assert frozen
    assert count == sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)


def test_what_is_frozen_has_no_optimiser_and_no_decay() -> None:
    model = _model()
    freeze(model, ["embedding", "encoder.blocks.0-1"])
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    optimiser = build_optimiser(AdamW(rate=0.1, decay=0.5), model)
    assert {name.split("/")[0] for name in optimiser.state()[0]} == set(trained(model))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
    optimiser.step()
    for name, parameter in model.named_parameters():
        assert parameter.equal(before[name]) is not parameter.requires_grad, name
    assert set(MovingAverage(Ema(), model).weights()) == set(model.state_dict())


def test_a_tied_parameter_is_frozen_by_any_name() -> None:
    model = _model(tie="output")
    freeze(model, ["head.weight_VD"])
    assert "input.embedding.weight_VD" not in trained(model)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("embeding", "training.freeze: 'embeding' names no part of the model; did you mean 'embedding'?"),
        ("encoder.block.0", "did you mean 'encoder.blocks.0'"),
        ("encoder.blocks.1-3", "'encoder.blocks.3', of 'encoder.blocks.1-3', names no part of the model; did you mean"),
        ("zzz", r"there are input.embedding, encoder.blocks, encoder.norm, head.weight_VD"),
    ],
)
def test_a_name_that_is_none(pattern: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        freeze(_model(), [pattern])


def test_nothing_left() -> None:
    with pytest.raises(UserError, match=r"training.freeze: input, encoder, head are all of the model"):
        freeze(_model(), ["input", "encoder", "head"])
