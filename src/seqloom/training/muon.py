"""Muon: momentum, made orthogonal (Jordan et al. 2024)."""
# N matrices of one shape  R rows  C columns

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonal(x_NRC: Tensor, steps: int, dtype: torch.dtype) -> Tensor:
    """About U·Vᵀ of x = U·S·Vᵀ: every direction as strong as any other (singular values end between 0.7 and 1.2).

    The quintic Newton–Schulz iteration x ← a·x + (b·A + c·A²)·x with A = x·xᵀ, on matrices that are wide.
    """
    a, b, c = _COEFFICIENTS
    tall = x_NRC.shape[-2] > x_NRC.shape[-1]
    x = (x_NRC.mT if tall else x_NRC).to(dtype)
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).to(x_NRC.dtype)


class MuonStep(torch.optim.Optimizer):
    """torch.optim.Muon with the same formula, and three differences.

    The iteration is in bfloat16 only on a GPU: many CPUs have no instructions for it. Matrices of one shape go through
    it together. A group that is `stacked` holds tensors of several matrices, each (in, out).
    """

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        """Each group: params, lr, momentum, nesterov, weight_decay, steps, stacked."""
        super().__init__(groups, {})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        assert closure is None
        for group in self.param_groups:
            alike: dict[Any, list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike[parameter.shape, parameter.device, parameter.dtype].append(parameter)
            for parameters in alike.values():
                self._update(parameters, group)

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        for parameter in parameters:
            if not self.state[parameter]:
                self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        averages = [self.state[parameter]["momentum_buffer"] for parameter in parameters]
        torch._foreach_lerp_(averages, gradients, 1 - group["momentum"])
        directions = torch._foreach_lerp(gradients, averages, group["momentum"]) if group["nesterov"] else averages
        bad: Tensor | None = getattr(self, "found_inf", None)
        updates = _orthogonal_all(list(directions), group["steps"], group["stacked"], bad)
        rows, columns = parameters[0].shape[-2:]
        out, into = (columns, rows) if group["stacked"] else (rows, columns)
        rate = group["lr"] if bad is None else torch.where(bad > 0, 0.0, group["lr"])
        if group["weight_decay"]:
            torch._foreach_mul_(parameters, 1 - rate * group["weight_decay"])
        # a matrix that makes more of less is turned further, so that what it adds to the features is as large
        torch._foreach_mul_(updates, -rate * max(1.0, out / into) ** 0.5)
        torch._foreach_add_(parameters, updates)


def _orthogonal_all(directions: list[Tensor], steps: int, stacked: bool, bad: Tensor | None) -> list[Tensor]:
    """bad: above 0 where nothing is to come of it, whatever the directions are."""
    dtype = torch.bfloat16 if directions[0].is_cuda and torch.cuda.is_bf16_supported() else directions[0].dtype
    x_NRC = torch.cat(directions) if stacked else torch.stack(directions)
    made = orthogonal(x_NRC, steps, dtype)
    made = made if bad is None else torch.where(bad > 0, 0.0, made)
    return list(made.chunk(len(directions)) if stacked else made.unbind())
