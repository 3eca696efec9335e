"""The machine's peak, measured once and quickly."""

import time

import pytest
import torch

from seqloom.training.peak import best_time, peak_flops

CPU = torch.device("cpu")


def test_it_is_measured_once() -> None:
    state = torch.get_rng_state()
    first = peak_flops(CPU)
    assert 1e8 < first < 1e15
    begin = time.perf_counter()
    assert peak_flops(CPU, torch.float32) == first
    assert time.perf_counter() - begin < 0.01
    assert torch.equal(state, torch.get_rng_state())


def test_the_best_of_several() -> None:
    waits = iter([0.05, 0.02, 0.001, 0.02])
    assert 0.001 <= best_time(lambda: time.sleep(next(waits)), CPU, 0.0) < 0.02


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_is_faster_in_half_precision() -> None:
    gpu = torch.device("cuda")
    assert peak_flops(gpu, torch.bfloat16) > 2 * peak_flops(gpu, torch.float32)
