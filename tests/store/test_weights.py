"""Weights by name: tied ones once, others refused."""

from pathlib import Path

import pytest
import torch
from torch import nn

from seqloom.settings import UserError
from seqloom.store import load_weights, read_tensors, weights
from seqloom.store.atomic import write_tensors


def _model(width: int = 3) -> nn.Module:
    model = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.Linear(width, width, bias=False))
    model[2].weight = model[0].weight
    return model


def test_there_and_back(tmp_path: Path) -> None:
    model, other = _model(), _model()
    kept = weights(model)
    assert "2.weight" not in kept
    assert "1.running_mean" in kept
    write_tensors(tmp_path / "m.safetensors", kept)
    load_weights(other, read_tensors(tmp_path / "m.safetensors"))
    x = torch.randn(4, 3)
    assert model.eval()(x).equal(other.eval()(x))
    assert other[2].weight is other[0].weight  # type: ignore[index]


def test_other_weights_are_refused_and_nothing_is_changed() -> None:
    model = _model()
    with pytest.raises(ValueError, match=r"missing: \['0.bias', '1.bias', .*not known: \['x'\]"):
        load_weights(model, {"x": torch.ones(1), "0.weight": model[0].weight})  # type: ignore[index]
    with pytest.raises(ValueError, match=r"0.weight has the shape \[4, 4\], not \[3, 3\]"):
        load_weights(model, weights(_model(4)))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_tensors(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"not tensors")
    with pytest.raises(UserError, match=r"bad.safetensors: not a whole safetensors file"):
        read_tensors(tmp_path / "bad.safetensors")
