"""A model's weights by name, each once: what is tied is saved under one of its names."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from seqloom.settings import UserError


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers that are kept, not copied."""
    kept, seen = {}, set[int]()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor.detach()
    return kept


@torch.no_grad()
def load_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy them in, in place. ValueError, and nothing changed, where names or shapes differ."""
    mine = weights(model)
    missing, extra = sorted(mine.keys() - tensors.keys()), sorted(tensors.keys() - mine.keys())
    if missing or extra:
        raise ValueError(f"other weights than the model's; missing: {missing[:3]}, not known: {extra[:3]}")
    for name, tensor in mine.items():
        if tensor.shape != tensors[name].shape:
            raise ValueError(f"{name} has the shape {list(tensors[name].shape)}, not {list(tensor.shape)}")
    for name, tensor in mine.items():
        tensor.copy_(tensors[name])


def read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        with path.open("rb"):  # for its errors: safetensors would say that there is no such file
            pass
        return load_file(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; was the run stopped before its first validation?") from None
    except PermissionError:
        raise UserError(f"{path}: cannot be read: no permission; see who may read it (ls -l)") from None
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path}: not a whole safetensors file ({error}); put it back as it was saved, or train anew with --force"
        ) from None
