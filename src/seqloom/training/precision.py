"""In which precision to compute: bfloat16 where it is faster, float32 elsewhere. Weights stay in float32."""

from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import BeforeValidator
from torch import nn

from seqloom.training.peak import best_time

Precision = Annotated[
    Literal["auto", "float32", "bf16"], BeforeValidator(lambda name: "float32" if name == "full" else name)
]
"""full: what float32 is called where answers are written (generation.precision)."""

_SECONDS = 0.1  # for each of the two
GAIN = 1.1  # bfloat16 is less exact: a gain within the noise is not worth that


class Choice(NamedTuple):
    """What to compute in: the type for autocast, or None for float32 without it; and why, in a sentence."""

    dtype: torch.dtype | None
    reason: str


def choose(precision: Precision, device: torch.device) -> Choice:
    if precision == "float32":
        return Choice(None, "float32, as set")
    if precision == "bf16":
        slow = device.type == "cpu" and not _cpu_has_bf16()
        return Choice(torch.bfloat16, "bf16, as set" + ("; this CPU has no instructions for it: slow" if slow else ""))
    match device.type:
        case "cuda" if torch.cuda.is_bf16_supported(including_emulation=False):
            return Choice(torch.bfloat16, "bf16, which this GPU computes natively")
        case "cuda":
            return Choice(None, "float32: this GPU has no bf16")
        case "cpu" if _cpu_has_bf16():
            return _measured()
        case "cpu":
            return Choice(None, "float32: this CPU has no bf16 instructions")
        case other:
            return Choice(None, f"float32: bf16 is not tried on {other}")


def _cpu_has_bf16() -> bool:
    """x86: AVX-512 or AMX with bf16; ARM: its bf16 extension. A torch that cannot tell has it measured."""
    capabilities = getattr(torch.cpu, "get_capabilities", None)
    if capabilities is None:
        return True
    return any(capabilities().get(name, False) for name in ("avx512_bf16", "amx_bf16", "amx_tile", "bf16", "sve_bf16"))


def _measured() -> Choice:
    plain, half = _step_time(None, _SECONDS), _step_time(torch.bfloat16, _SECONDS)
    gain = plain / half
    words = f"a small step took {half * 1e3:.1f} ms in bf16 and {plain * 1e3:.1f} ms in float32"
    return Choice(torch.bfloat16, f"bf16: {words}") if gain >= GAIN else Choice(None, f"float32: {words}")


def _step_time(dtype: torch.dtype | None, seconds: float) -> float:
    """Of a feed-forward layer of a small model, there and back."""
    with torch.random.fork_rng(devices=[]):
        model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.LayerNorm(1024), nn.Linear(1024, 256))
        x = torch.randn(256, 256)

    def step() -> None:
        with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
            loss = model(x).square().mean()
        loss.backward()

    return best_time(step, torch.device("cpu"), seconds)
