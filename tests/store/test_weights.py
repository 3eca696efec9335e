"""Weights by name: tied ones once, others refused."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
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


def test_a_digest_tells_of_every_change(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    many = {
        "half": torch.randn(3, 5).bfloat16(),
        "one": torch.tensor(2),
        "none": torch.zeros(0, 4),
        "yes": torch.tensor([True, False]),
        "turned": torch.randn(2, 3).T,
    }
    write_tensors(file, many)
    assert {name: tensor.tolist() for name, tensor in read_tensors(file).items()} == {
        name: tensor.tolist() for name, tensor in many.items()
    }
    whole = file.read_bytes()
    size = sum(tensor.numel() * tensor.element_size() for tensor in many.values())
    for place in range(len(whole) - size, len(whole)):
        if whole[place] > 1:  # a bool has but two values
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(
                UserError, match=r"m\.safetensors: is damaged: its numbers are not those that were saved"
            ):
                read_tensors(file)


def test_files_of_old_have_no_digest(tmp_path: Path) -> None:
    save_file({"x": torch.ones(2)}, tmp_path / "old.safetensors")
    assert read_tensors(tmp_path / "old.safetensors")["x"].tolist() == [1, 1]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_tensors(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"not tensors")
    with pytest.raises(UserError, match=r"bad.safetensors: not a whole safetensors file"):
        read_tensors(tmp_path / "bad.safetensors")
