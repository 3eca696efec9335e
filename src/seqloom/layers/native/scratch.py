"""Space that C works in for the time of a call. It is kept: to ask the system for some megabytes in every step, and to
have it clear them, took a twentieth of a step."""

import threading

import torch
from torch import Tensor

_own = threading.local()


def scratch(name: str, numbers: int) -> Tensor:
    """At least so many numbers of full precision; each thread has its own under each name."""
    found: Tensor | None = getattr(_own, name, None)
    if found is None or len(found) < numbers:
        found = torch.empty(numbers, dtype=torch.float32, device="cpu")
        setattr(_own, name, found)
    return found
