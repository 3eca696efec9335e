"""Which precision, and why, on machines that the tests make up."""

import time

import pytest
import torch

from seqloom.training import precision
from seqloom.training.precision import Choice, choose
from seqloom.training.settings import TrainingSettings

CPU = torch.device("cpu")


def test_as_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose("float32", CPU) == (None, "float32, as set")
    monkeypatch.setattr(precision, "_cpu_has_bf16", lambda: True)
    assert choose("bf16", CPU) == (torch.bfloat16, "bf16, as set")
    monkeypatch.setattr(precision, "_cpu_has_bf16", lambda: False)
    assert choose("bf16", CPU) == (torch.bfloat16, "bf16, as set; this CPU has no instructions for it: slow")


def test_a_cpu_without_instructions_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_cpu_has_bf16", lambda: False)
    monkeypatch.setattr(precision, "_measured", lambda: pytest.fail("measured"))
    assert choose("auto", CPU) == (None, "float32: this CPU has no bf16 instructions")


@pytest.mark.parametrize(("half", "dtype"), [(0.010, torch.bfloat16), (0.0195, None), (0.080, None)])
def test_a_cpu_with_them_is(monkeypatch: pytest.MonkeyPatch, half: float, dtype: torch.dtype | None) -> None:
    monkeypatch.setattr(precision, "_cpu_has_bf16", lambda: True)
    monkeypatch.setattr(precision, "_step_time", lambda dtype, seconds: half if dtype else 0.020)
    found = choose("auto", CPU)
    assert found.dtype == dtype
    assert f"a small step took {half * 1e3:.1f} ms in bf16 and 20.0 ms in float32" in found.reason


@pytest.mark.parametrize("native", [True, False])
def test_a_gpu(monkeypatch: pytest.MonkeyPatch, native: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native)
    assert choose("auto", torch.device("cuda")).dtype == (torch.bfloat16 if native else None)
    assert choose("auto", torch.device("mps")).dtype is None


def test_the_measurement_is_short_and_leaves_the_random_numbers_alone() -> None:
    state = torch.get_rng_state()
    begin = time.perf_counter()
    found = precision._measured()
    assert time.perf_counter() - begin < 3  # 0.2 s on a machine that does nothing else
    assert isinstance(found, Choice)
    assert torch.equal(state, torch.get_rng_state())


def test_what_the_cpu_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "avx512_bf16": False}, raising=False)
    assert not precision._cpu_has_bf16()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    assert precision._cpu_has_bf16()


def test_float32_goes_by_the_name_that_it_has_where_answers_are_written_too() -> None:
    assert TrainingSettings.model_validate({"precision": "full"}).precision == "float32"
