"""A model's weights by name, each once: what is tied is saved under one of its names."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from seqloom.settings import UserError
from seqloom.store.digest import KEY, digest

_ANEW = "put it back as it was saved, or train anew with --force"


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
    """A UserError where the file is not what was saved. Files of old have no digest, and are taken as they are."""
    tensors, saved = _read(path)
    if saved is not None and saved != digest(tensors):
        raise UserError(f"{path}: is damaged: its numbers are not those that were saved (another digest); {_ANEW}")
    return tensors


def refuse_no_numbers(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A UserError where weights are NaN, which files without a digest can hold unseen."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and bool(tensor.isnan().any()):
            raise UserError(f"{path}: {name} holds what is no number (NaN); {_ANEW}")


def _read(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """The tensors, and the digest that they had."""
    try:
        with path.open("rb"):  # for its errors: safetensors would say that there is no such file
            pass
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
        return load_file(path), about.get(KEY)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; was the run stopped before its first validation?") from None
    except PermissionError:
        raise UserError(f"{path}: cannot be read: no permission; see who may read it (ls -l)") from None
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a whole safetensors file ({error}); {_ANEW}") from None
