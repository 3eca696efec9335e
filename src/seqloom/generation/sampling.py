"""Drawing tokens at random: which of them may be drawn, and draws that depend on nothing but their own place."""
# R rows  V vocabulary  K tokens that may be drawn

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from pydantic import Field
from torch import Tensor

from seqloom.settings import Frozen

_AT_FIRST = 256  # so many of the likeliest tokens nearly always hold the mass that top-p asks for
_ROUNDING = 1e-6  # of a mass
_GOLDEN, _FIRST, _SECOND = (number - 2**64 for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class Sampling(Frozen):
    """Each token is drawn by its probability, not searched for."""

    temperature: float = Field(
        default=1.0, gt=0, description="below 1 likely tokens become likelier; for the likeliest alone set beam = 1"
    )
    top_k: int = Field(default=0, ge=0, description="only the so many likeliest tokens (Fan et al. 2018); 0: all")
    top_p: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="only the fewest tokens that hold this mass together (Holtzman et al. 2020)",
    )
    min_p: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="only tokens at least this share as likely as the best (Nguyen et al. 2024)",
    )

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """As C takes them."""
        return _fair(self.temperature, torch.finfo(torch.float32)), self.top_k, self.top_p, self.min_p


def filtered(log_probs_RV: Tensor, sampling: Sampling) -> Tensor:
    """The log-probabilities that are drawn from: temperature, then top-k, top-p and min-p; each row sums to 1.

    Of equally likely tokens the one with the lower id is kept. A row in which nothing is possible stays so.
    """
    log_probs_RV = _normalised(_heated(log_probs_RV, sampling.temperature))
    if 0 < sampling.top_k < log_probs_RV.shape[1]:
        best_RK = log_probs_RV.topk(sampling.top_k).values
        number_R = torch.full_like(best_RK[:, 0], sampling.top_k, dtype=torch.long)
        log_probs_RV = _normalised(_likeliest(log_probs_RV, best_RK, number_R))
    if sampling.top_p < 1:
        best_RK, number_R = _nucleus(log_probs_RV, sampling)
        log_probs_RV = _likeliest(log_probs_RV, best_RK, number_R)
    if sampling.min_p > 0:
        least_R1 = log_probs_RV.amax(1, keepdim=True) + math.log(sampling.min_p)
        log_probs_RV = log_probs_RV.masked_fill(log_probs_RV < least_R1, -math.inf)
    return _normalised(log_probs_RV)


def row_keys(seeds: Sequence[int], number_R: Tensor, sample_R: Tensor) -> Tensor:
    """What a row's chance hangs on: its seed, item number and sample number, not its neighbours."""
    seed_R = torch.tensor([_mixed_seed(one) for one in seeds], device=number_R.device)
    return _mixed(_mixed(seed_R + number_R * _GOLDEN) + sample_R * _GOLDEN)


def draw(log_probs_RV: Tensor, key_R: Tensor, step_R: Tensor) -> Tensor:
    """One token a row. Its chance hangs on the row's key and the step.

    Each token v waits E_v / p_v, with E_v exponential, and the first to come is drawn: the Gumbel-max trick. Where the
    probabilities differ in their last bits, another token comes first only if two come at almost the same time. That
    is rarer than with one number for the row, compared with running sums in which a vocabulary's last bits add up.
    """
    tokens_RK = None
    possible = int((log_probs_RV > -math.inf).sum(1).max()) if len(log_probs_RV) else 0
    if 0 < possible < log_probs_RV.shape[1] // 4:
        log_probs_RV, tokens_RK = log_probs_RV.topk(possible)
    key_R = _mixed(key_R + step_R * _GOLDEN)
    each = torch.arange(log_probs_RV.shape[1], device=key_R.device) if tokens_RK is None else tokens_RK
    bits_RK = _mixed(key_R[:, None] + (each + 1) * _GOLDEN)
    # 53 bits, the middle of each of 2^53 equal parts of (0, 1)
    uniform_RK = bits_RK.bitwise_right_shift_(11).bitwise_and_((1 << 53) - 1).double().add_(0.5).mul_(2.0**-53)
    first_R = uniform_RK.log_().neg_().log_().neg_().add_(log_probs_RV).argmax(1)
    return first_R if tokens_RK is None else tokens_RK.gather(1, first_R[:, None])[:, 0]


def _heated(log_probs_RV: Tensor, temperature: float) -> Tensor:
    """Divided by the temperature, the best of each row at 0, so that no temperature makes all of them impossible."""
    number = torch.finfo(log_probs_RV.dtype)
    best_R1 = log_probs_RV.amax(1, keepdim=True).clamp(min=number.min)
    return (log_probs_RV - best_R1) / _fair(temperature, number)


def _fair(temperature: float, number: torch.finfo) -> float:
    return min(max(temperature, number.tiny), number.max)


def _normalised(scores_RV: Tensor) -> Tensor:
    total_R1 = scores_RV.logsumexp(1, keepdim=True)
    return scores_RV - total_R1.clamp(min=torch.finfo(scores_RV.dtype).min)  # -inf - -inf would be nan


def _nucleus(log_probs_RV: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """The likeliest tokens' log-probabilities, best first, and how many of them hold the mass."""
    all_of_them, asked = log_probs_RV.shape[1], sampling.top_p - _ROUNDING
    for most in (min(sampling.top_k or _AT_FIRST, all_of_them), all_of_them):
        best_RK = log_probs_RV.topk(most).values
        mass_RK = best_RK.double().exp().cumsum(1)
        if most == all_of_them or sampling.top_k or bool((mass_RK[:, -1] >= asked).all()):
            break
    return best_RK, (mass_RK < asked).sum(1).add(1).clamp(max=most)


def _likeliest(log_probs_RV: Tensor, best_RK: Tensor, number_R: Tensor) -> Tensor:
    """All but the number_R likeliest made impossible; best_RK begins with the values of those."""
    border_R1 = best_RK.gather(1, number_R[:, None] - 1)
    below_RV = log_probs_RV < border_R1
    if bool(((~below_RV).sum(1) != number_R).any()):  # several at the border, and no room for all
        above_RV, at_RV = log_probs_RV > border_R1, log_probs_RV == border_R1
        room_R1 = number_R[:, None] - above_RV.sum(1, keepdim=True)
        below_RV |= at_RV & (at_RV.cumsum(1) > room_R1)
    return log_probs_RV.masked_fill(below_RV, -math.inf)


def _mixed(bits: Tensor) -> Tensor:
    """The finaliser of splitmix64 (Steele et al. 2014): every bit of 64 depends on all. Whole numbers wrap around."""
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, 1)):
        high = (bits >> shift).bitwise_and_((1 << 64 - shift) - 1)  # >> copies the sign
        bits = high.bitwise_xor_(bits).mul_(factor)
    return bits


@lru_cache(maxsize=1024)
def _mixed_seed(seed: int) -> int:
    return int(_mixed(torch.tensor(seed) * _GOLDEN + _GOLDEN))
