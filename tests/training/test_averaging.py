"""The mean of saved weights, in float64; files that do not belong together are named."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from seqloom.settings import UserError
from seqloom.training.averaging import average_weights


def saved(folder: Path, **tensors: torch.Tensor) -> Path:
    file = folder / f"{len(list(folder.iterdir()))}.safetensors"
    save_file(tensors, file)
    return file


def test_the_mean_in_float64(tmp_path: Path) -> None:
    values = [torch.randn(5, 4, generator=torch.Generator().manual_seed(i)) * 10**i for i in range(4)]
    files = [saved(tmp_path, w=value, n=torch.tensor(i), h=value.half()) for i, value in enumerate(values)]
    mean = average_weights(files)
    assert torch.equal(mean["w"], torch.stack([value.double() for value in values]).mean(0).float())
    assert mean["h"].dtype == torch.float16
    assert mean["n"] == 3


def test_one_file_is_itself(tmp_path: Path) -> None:
    value = torch.randn(3)
    assert torch.equal(average_weights([saved(tmp_path, w=value)])["w"], value)


def test_what_does_not_belong_together_is_said(tmp_path: Path) -> None:
    first = saved(tmp_path, w=torch.zeros(3))
    with pytest.raises(UserError, match=r"1.safetensors: weights of another model .*only one of them has 'v'"):
        average_weights([first, saved(tmp_path, w=torch.zeros(3), v=torch.zeros(1))])
    with pytest.raises(UserError, match=r"'w' is \(4,\), not \(3,\)"):
        average_weights([first, saved(tmp_path, w=torch.zeros(4))])
    with pytest.raises(UserError, match="not there"):
        average_weights([first, tmp_path / "none.safetensors"])
    (tmp_path / "cut.safetensors").write_bytes(first.read_bytes()[:-3])
    with pytest.raises(UserError, match="not a whole safetensors file"):
        average_weights([first, tmp_path / "cut.safetensors"])
    with pytest.raises(ValueError, match="no weights"):
        average_weights([])
