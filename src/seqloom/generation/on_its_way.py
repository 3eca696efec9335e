"""Numbers that are on their way from a device, or to it: whoever reads them waits, nobody else does."""

from collections.abc import Sequence

import torch
from torch import Tensor


class OnItsWay:
    """Copies of some tensors, as they are when the work is done that was asked for before."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._here = [
            torch.empty_like(x, device="cpu", pin_memory=True).copy_(x, non_blocking=True) if x.is_cuda else x.clone()
            for x in tensors
        ]
        self._event = torch.cuda.Event() if any(x.is_cuda for x in tensors) else None
        if self._event is not None:
            self._event.record()

    def read(self) -> list[Tensor]:
        if self._event is not None:
            self._event.synchronize()
        return self._here


def sent(numbers: Sequence[int], device: torch.device) -> Tensor:
    """On the device when its work comes to them. From memory that is not pinned, the host would wait for that work."""
    here = torch.tensor(numbers, dtype=torch.int64, pin_memory=device.type == "cuda")
    return here.to(device, non_blocking=True)
