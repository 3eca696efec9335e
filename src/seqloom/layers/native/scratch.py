"""Space that C works in for the time of a call. It is kept: to ask the system for some megabytes in every step, and to
have it clear them, took a twentieth of a step."""

import threading

import torch
from torch import Tensor

KEPT = 8 << 20  # numbers, 32 MiB; what is larger is given back: clearing it takes little of a call that needs so much
_own = threading.local()


def scratch(name: str, numbers: int) -> Tensor:
    """At least so many numbers of full precision, to be held as long as they are worked in; each thread has its own
    under each name."""
    if numbers > KEPT:
        return torch.empty(numbers, dtype=torch.float32, device="cpu")
    found: Tensor | None = getattr(_own, name, None)
    if found is None or len(found) < numbers:
        found = torch.empty(numbers, dtype=torch.float32, device="cpu")
        setattr(_own, name, found)
    return found
