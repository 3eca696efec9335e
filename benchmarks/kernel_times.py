"""What a GPU and its host spend their time on."""

import cProfile
import io
import pstats
from collections.abc import Callable, Iterator
from itertools import islice

import torch

TIMES = 10


def kernel_times(work: Callable[[], object], most: int = 28) -> Iterator[str]:
    """The kernels of some work, those that take longest first."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(TIMES):
            work()
        torch.cuda.synchronize()
    kernels = sorted(seen.key_averages(), key=lambda one: -one.self_device_time_total)
    total = sum(one.self_device_time_total for one in kernels)
    yield f"{sum(one.count for one in kernels) / TIMES:.0f} kernels, {total / TIMES:.0f} µs of work"
    for one in islice(kernels, most):
        yield f"{one.self_device_time_total / TIMES:8.1f} µs  {one.count / TIMES:5.1f} ×  {one.key[:100]}"


def host_times(work: Callable[[], object], most: int = 28) -> Iterator[str]:
    """Functions of Python, those that take longest themselves first; what they wait for counts as theirs."""
    profile = cProfile.Profile()
    profile.enable()
    work()
    torch.cuda.synchronize()
    profile.disable()
    said = io.StringIO()
    pstats.Stats(profile, stream=said).strip_dirs().sort_stats("tottime").print_stats(most)
    yield from (line[:120] for line in said.getvalue().splitlines() if line.strip())
