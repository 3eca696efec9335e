"""The average of several saved weights: the last checkpoints of a run, as Vaswani et al. 2017 do (section 6.1)."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from seqloom.settings import UserError


def average_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of each tensor over safetensors files of one model; what is not a real number is the last file's.

    Sums are in float64, and only one tensor at a time is held besides the result.
    """
    if not files:
        raise ValueError("no weights to average")
    with ExitStack() as stack:
        opened = [stack.enter_context(_open(file)) for file in files]
        for file, other in zip(files, opened, strict=True):
            _check_alike(files[0], opened[0], file, other)
        return {name: _mean(name, opened) for name in sorted(opened[0].keys())}


def _open(file: Path) -> Any:
    try:
        return safe_open(file, framework="pt")
    except FileNotFoundError:
        raise UserError(f"{file}: not there; it should be averaged with others") from None
    except Exception as error:  # the package's own error has no public base
        raise UserError(f"{file}: not a whole safetensors file ({error}); leave it out") from error


def _check_alike(first: Path, wanted: Any, file: Path, given: Any) -> None:
    for name in sorted(set(wanted.keys()) ^ set(given.keys())):
        raise UserError(f"{file}: weights of another model than {first}: only one of them has {name!r}")
    for name in wanted.keys():  # noqa: SIM118 (no mapping)
        shapes = [tuple(part.get_slice(name).get_shape()) for part in (wanted, given)]
        if shapes[0] != shapes[1]:
            raise UserError(f"{file}: weights of another model than {first}: {name!r} is {shapes[1]}, not {shapes[0]}")


def _mean(name: str, opened: Sequence[Any]) -> Tensor:
    last: Tensor = opened[-1].get_tensor(name)
    if not last.is_floating_point():
        return last
    total = torch.zeros_like(last, dtype=torch.float64)
    for part in opened:
        total += part.get_tensor(name)
    return (total / len(opened)).to(last.dtype)
