"""The machine's peak, measured once and quickly."""

import time

import pytest
import torch

from seqloom.training import peak
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


def test_the_peak_is_that_of_the_kernel_that_layers_train_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is faster than torch's product, as on processors that MKL does not know."""
    done = list[torch.Tensor]()
    monkeypatch.setattr(peak.product, "fits", lambda *tensors: True)
    monkeypatch.setattr(peak.product, "mapped", lambda x, w, bias: done.append(x))
    try:
        peak._measured.cache_clear()
        far = peak_flops(CPU)
        assert len(done) > 3
        assert far > 10 * peak_flops(CPU, torch.bfloat16)
    finally:
        peak._measured.cache_clear()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_is_faster_in_half_precision() -> None:
    gpu = torch.device("cuda")
    assert peak_flops(gpu, torch.bfloat16) > 2 * peak_flops(gpu, torch.float32)
