"""Weights laid out for a CPU's steps: nothing changes but where numbers lie."""

import copy

import pytest
import torch

from seqloom.layers.layout import Padded
from seqloom.models import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.laid_out import lay_out
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes


@pytest.mark.parametrize("tie", ["all", "output", "none"])
def test_the_same_model_lies_otherwise(tie: str) -> None:
    settings = ModelSettings.model_validate({"width": 16, "depth": 1, "tie": tie})
    model = build_model(settings, Sizes(20, 20)).eval()
    assert isinstance(model, EncoderDecoder)
    before = copy.deepcopy(model)
    lay_out(model)
    assert model.state_dict().keys() == before.state_dict().keys()
    for name, weight in before.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight)
    assert model.decoder.blocks[0].feed_forward.layer.inputs.weight.stride() == (1, 64)  # type: ignore[union-attr, operator]
    assert model.head.weight_VD.stride() == (1, 20)  # type: ignore[union-attr]
    assert model.target.vectors.is_contiguous()  # they are looked up, row by row
    x_BT, layout = torch.randint(0, 20, (3, 7)), Padded.whole(3, 7)
    with torch.no_grad():
        said = [one.scores(one(x_BT, layout, x_BT, layout)) for one in (before, model)]
    torch.testing.assert_close(said[0], said[1], atol=1e-5, rtol=1e-5)


def test_the_output_is_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(ModelSettings.model_validate({"width": 16, "depth": 1}), Sizes(20, 20)).eval()
    monkeypatch.setattr(torch.Tensor, "clone", lambda *given, **named: pytest.fail("a second copy"))
    lay_out(model)


def test_length_and_direction_become_one_weight() -> None:
    settings = {"mixer": {"kind": "convolution", "weight_norm": True}, "cross": {"kind": "multi-step"}}
    model = build_model(ModelSettings.model_validate({"width": 16, "depth": 1, **settings}), Sizes(20, 20)).eval()
    assert isinstance(model, EncoderDecoder)
    x_BT, layout = torch.randint(0, 20, (3, 7)), Padded.whole(3, 7)
    with torch.no_grad():
        before = model.scores(model(x_BT, layout, x_BT, layout))
        lay_out(model)
        torch.testing.assert_close(model.scores(model(x_BT, layout, x_BT, layout)), before, atol=1e-5, rtol=1e-5)
    assert not [name for name in model.state_dict() if "parametrizations" in name]
