"""How fast this machine can multiply matrices at best: what the speed of training is held against."""

import time
from collections.abc import Callable
from functools import cache

import torch

from seqloom.layers.native import product

_SECONDS = 0.15
# Large enough for full speed, small enough to be done often in that time.
_SIDE_CPU, _SIDE_GPU = 768, 8192


def peak_flops(device: torch.device, dtype: torch.dtype | None = None) -> float:
    """Floating-point operations a second in a large matrix product, measured once in a process; None: float32.

    The best of several, as others may use the machine too. It is what can be had here, not what a data sheet says.
    """
    return _measured(str(device), dtype or torch.float32, torch.get_num_threads())


@cache
def _measured(device: str, dtype: torch.dtype, threads: int) -> float:
    # threads: the same number may not hold after torch.set_num_threads
    side = _SIDE_GPU if torch.device(device).type == "cuda" else _SIDE_CPU
    # of random numbers, as a GPU multiplies ones faster: they need less power. With a generator of its own, so that
    # nobody else's random numbers change.
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(side, side, device=device, generator=generator).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    seconds = best_time(lambda: torch.mm(a, b, out=out), torch.device(device), _SECONDS)
    # as layers multiply in training: on some processors at twice the speed of torch's product
    if dtype == torch.float32 and product.fits(a, b):
        seconds = min(seconds, best_time(lambda: product.mapped(a, b, None), torch.device(device), _SECONDS))
    return 2 * side**3 / seconds


def best_time(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """The least time that a piece of work took, over about so many seconds and at least three times."""
    work()  # the first time, libraries make themselves ready
    _wait(device)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        _wait(device)
        times.append(time.perf_counter() - begin)
    return min(times)


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
