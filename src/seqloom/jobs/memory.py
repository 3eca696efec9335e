"""How much memory there is, and how much a token of a batch takes."""

import math
import os
from pathlib import Path

import torch
from torch import Tensor

from seqloom.data.order import Order
from seqloom.settings import UserError
from seqloom.training.figures import memory
from seqloom.training.step import Work

FLOAT = 4  # bytes of a number
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
GUESS = 4e9  # bytes, where the system does not say it


def free_bytes(device: torch.device) -> float:
    measured = _measured(device)
    return GUESS if measured is None else measured


def refuse_too_large(parameters: int, device: torch.device) -> None:
    """A model whose weights and gradients alone are larger than the memory, before it is built."""
    need, free = 2.0 * FLOAT * parameters, _measured(device)
    if free is not None and need > free:
        raise UserError(
            f"the model has {parameters:,} parameters, which with their gradients take {memory(need)}, and "
            f"{memory(free)} of memory are free ({device.type}); take a smaller one: another recipe, "
            "or --set model.width=… --set model.depth=…"
        )


def _measured(device: torch.device) -> float | None:
    """None: the system does not say it."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    free = min(_available() or _unused() or math.inf, _allowed())
    return free if free < math.inf else None


def _unused() -> float | None:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError):  # a Mac knows no such number
        return None


def _available() -> float | None:
    """Memory that only holds copies of files can be had too, and Linux says how much."""
    try:
        with MEMINFO.open(encoding="ascii") as file:
            known = dict(line.split(":", 1) for line in file)
        return 1024.0 * int(known["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None


def _allowed() -> float:
    """What is left to a container, which may be less than the machine has; copies of files can be had too."""
    try:
        most, used = (int((CGROUP / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        parts = dict(line.split() for line in (CGROUP / "memory.stat").read_text(encoding="ascii").splitlines())
        copies = int(parts.get("active_file", 0)) + int(parts.get("inactive_file", 0))
        return float(max(most - used + copies, 0))
    except (OSError, ValueError):  # no container, or one without a limit
        return math.inf


def bytes_per_token(work: Work, order: Order) -> tuple[float, float]:
    """What a batch keeps for its gradients, for each token of its larger side; and what is there in any case.

    Measured on the first batch: every tensor that is kept for the backward pass is counted once.
    """
    batch = work.task.batch(next(order.epoch(0)))
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        # what is sparse has two parts: where its values stand, and these
        for part in (tensor.indices(), tensor.values()) if tensor.is_sparse else (tensor,):
            kept[part.untyped_storage().data_ptr()] = part.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), work.autocast():
        work.task.loss(work.model, batch.to(work.device), work.goals)
    own = {parameter.untyped_storage().data_ptr() for parameter in work.model.parameters()}
    activations = sum(size for place, size in kept.items() if place not in own)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in work.model.parameters())
    longer = batch.larger
    # gradients of what is kept, as large again; weights, gradients, two moments and their copies
    return 2.0 * activations / max(longer, 1), 5.0 * weights
