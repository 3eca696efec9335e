"""Optimisers, and their state by the names of parameters: no pickle, exact to the bit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, assert_never

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from seqloom.settings import Frozen, impossible
from seqloom.training.muon import MuonStep
from seqloom.training.roles import Role, roles, trained
from seqloom.training.uncompiled import uncompiled

FACTOR = "factor"
"""To the rate of a group, in torch's dict of it."""

Betas = tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]]


class Adam(Frozen):
    """Kingma and Ba 2015, with the numbers of Vaswani et al. 2017, section 5.3."""

    kind: Literal["adam"] = "adam"
    rate: float = Field(default=1e-3, gt=0, description="the learning rate at the schedule's peak")
    betas: Betas = (0.9, 0.98)
    epsilon: float = Field(default=1e-9, gt=0)
    l2: float = Field(
        default=0.0, ge=0, description="times the weights, added to the gradient; not of gains and biases"
    )


class AdamW(Frozen):
    """Adam with decay apart from the gradient (Loshchilov and Hutter 2019).

    What is multiplied with features decays: matrices, embeddings, kernels. Gains and biases do not.
    """

    kind: Literal["adamw"] = "adamw"
    rate: float = Field(default=1e-3, gt=0, description="the learning rate at the schedule's peak")
    betas: Betas = (0.9, 0.98)
    epsilon: float = Field(default=1e-8, gt=0)
    decay: float = Field(
        default=0.01, ge=0, description="of weights, each step, times the rate; not of gains and biases"
    )


class Muon(Frozen):
    """Hidden matrices by Muon (Jordan et al. 2024); embeddings, heads, kernels and vectors by AdamW."""

    kind: Literal["muon"] = "muon"
    rate: float = Field(default=0.02, gt=0, description="of hidden matrices, at the schedule's peak")
    momentum: float = Field(default=0.95, ge=0, lt=1)
    nesterov: bool = True
    steps: int = Field(default=5, ge=1, le=20, description="of the Newton–Schulz iteration")
    decay: float = Field(default=0.0, ge=0, description="of hidden matrices, each step, times the rate")
    others: AdamW = Field(default=AdamW(decay=0.0), description="for all that is not a hidden matrix")


class SGD(Frozen):
    """Gradient descent with momentum; by default as Gehring et al. 2017 train, with Nesterov's."""

    kind: Literal["sgd"] = "sgd"
    rate: float = Field(default=0.25, gt=0, description="the learning rate at the schedule's peak")
    momentum: float = Field(default=0.99, ge=0, lt=1)
    nesterov: bool = True
    decay: float = Field(default=0.0, ge=0, description="added to the gradient; not of gains and biases")

    @model_validator(mode="after")
    def _nesterov_needs_momentum(self) -> "SGD":
        if self.nesterov and not self.momentum:
            raise impossible("nesterov looks ahead along the momentum, which is 0; set nesterov = false", "nesterov")
        return self


OptimiserSettings = Annotated[Adam | AdamW | Muon | SGD, Field(discriminator="kind")]


class Optimiser:
    """Steps with a share of each group's own rate; its state goes by the names of parameters."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], parts: Iterable[torch.optim.Optimizer]) -> None:
        self._parameters = dict(parameters)
        self._parts = tuple(parts)
        self._groups = [group for part in self._parts for group in part.param_groups]
        self._rates = [float(group["lr"]) for group in self._groups]
        for group in self._groups:
            device = group["params"][0].device
            if device.type == "cuda":  # there, so that a step can be recorded
                group["lr"] = torch.tensor(float(group["lr"]), device=device)
        by_id = {
            id(p): _begin(part, group, p)
            for part in self._parts
            for group in part.param_groups
            for p in group["params"]
        }
        self._states = {name: by_id[id(parameter)] for name, parameter in self._parameters.items()}

    def rate(self, factor: float) -> float:
        """Of a step with this factor: that of what has the settings' own `rate`."""
        return self._rates[0] * factor / float(self._groups[0].get(FACTOR, 1.0))

    def step(self, rate_factor: float | Tensor = 1.0, bad: Tensor | None = None) -> None:
        """rate_factor: on a GPU perhaps a number there. bad: a number there, above 0 where no weight may change."""
        for group, rate in zip(self._groups, self._rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].copy_(torch.as_tensor(rate_factor * rate))
            else:
                group["lr"] = rate * rate_factor
        for part in self._parts:
            part.found_inf = bad  # type: ignore[attr-defined]  # torch's own kernels look for it by this name
            part.step()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors by `parameter/what`, and numbers that JSON can hold.

        The tensors are the optimiser's own: whoever keeps them beyond the next step must copy them.
        """
        tensors = {
            f"{name}/{what}": value
            for name, state in self._states.items()
            for what, value in state.items()
            if what != "step"
        }
        return tensors, {"steps": {name: int(state["step"]) for name, state in self._states.items() if "step" in state}}

    def load(self, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> None:
        """Go on from a state; ValueError, and nothing changed, if it is another model's or another optimiser's."""
        mine, counts = self.state()
        steps: dict[str, int] = numbers.get("steps", {})
        _refuse_other(_names(mine, counts["steps"]), _names(tensors, steps))
        for key, tensor in mine.items():
            tensor.copy_(tensors[key])
        for name, count in steps.items():
            self._states[name]["step"].fill_(count)


def _begin(part: torch.optim.Optimizer, group: dict[str, Any], parameter: Tensor) -> dict[str, Any]:
    """The state before the first step, which torch would make only then: so the names are known from the start."""
    state: dict[str, Any] = part.state[parameter]
    match part:
        case torch.optim.Adam():  # AdamW is one too
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device if group["fused"] else None)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        case MuonStep():
            state["momentum_buffer"] = torch.zeros_like(parameter)
        case torch.optim.SGD() if group["momentum"]:
            state["momentum_buffer"] = torch.zeros_like(parameter)
    return state


def _names(tensors: Mapping[str, Tensor], steps: Mapping[str, int]) -> dict[str, str]:
    shapes = {name: f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}" for name, t in tensors.items()}
    return shapes | {f"{name}/step": "a count" for name in steps}


def _refuse_other(wanted: Mapping[str, str], given: Mapping[str, str]) -> None:
    faults = [f"{name} is missing" for name in wanted if name not in given]
    faults += [f"{name} is unknown" for name in given if name not in wanted]
    faults += [f"{name} is {given[name]}, not {what}" for name, what in wanted.items() if given.get(name, what) != what]
    if faults:
        more = f"; and {len(faults) - 8} more" if len(faults) > 8 else ""
        raise ValueError(f"the optimiser's state is of another model or optimiser: {'; '.join(faults[:8])}{more}")


def build_optimiser(
    settings: OptimiserSettings, model: nn.Module, factors: Mapping[str, float] | None = None
) -> Optimiser:
    """factors: to the rate of each trained parameter, by name; None: 1 for all."""
    parameters, role = trained(model), roles(model)
    if not parameters:
        raise ValueError("the model has no parameters that are trained")
    parts = _Parts(parameters, role, dict.fromkeys(parameters, 1.0) if factors is None else factors)
    match settings:
        case Adam():
            part = uncompiled(torch.optim.Adam)(
                parts.by_decay(settings.rate, settings.l2) if settings.l2 else parts.groups(settings.rate),
                lr=settings.rate,
                betas=settings.betas,
                eps=settings.epsilon,
                fused=_fused(parameters),
                capturable=_on_gpu(parameters),
            )
            return Optimiser(parameters, [part])
        case AdamW():
            return Optimiser(parameters, [_adamw(settings, parts)])
        case Muon():
            return Optimiser(parameters, _muon(settings, parts))
        case SGD():
            kind = uncompiled(torch.optim.SGD)
            groups = parts.by_decay(settings.rate, settings.decay)
            fused = _fused(parameters)
            step = kind(
                groups, settings.rate, settings.momentum, nesterov=settings.nesterov, foreach=not fused, fused=fused
            )
            return Optimiser(parameters, [step])
        case _:
            assert_never(settings)


@dataclass(frozen=True)
class _Parts:
    """Parameters by name, and what their groups depend on."""

    parameters: Mapping[str, nn.Parameter]
    role: Mapping[str, Role]
    factors: Mapping[str, float]

    def of(self, *kinds: Role) -> "_Parts":
        return _Parts(
            {name: p for name, p in self.parameters.items() if self.role[name] in kinds}, self.role, self.factors
        )

    def groups(self, rate: float, **more: Any) -> list[dict[str, Any]]:
        """Those of one factor together, the highest first."""
        found = dict[float, list[nn.Parameter]]()
        for name, parameter in self.parameters.items():
            found.setdefault(self.factors[name], []).append(parameter)
        return [
            {"params": found[factor], "lr": rate * factor, FACTOR: factor, **more} for factor in sorted(found)[::-1]
        ]

    def by_decay(self, rate: float, decay: float) -> list[dict[str, Any]]:
        weights, vectors = self.of("matrix", "stack", "table"), self.of("vector")
        return [*weights.groups(rate, weight_decay=decay), *vectors.groups(rate, weight_decay=0.0)]


def _adamw(settings: AdamW, parts: _Parts) -> torch.optim.Optimizer:
    groups = parts.by_decay(settings.rate, settings.decay)
    return uncompiled(torch.optim.AdamW)(
        groups,
        lr=settings.rate,
        betas=settings.betas,
        eps=settings.epsilon,
        fused=_fused(parts.parameters),
        capturable=_on_gpu(parts.parameters),
    )


def _muon(settings: Muon, parts: _Parts) -> list[torch.optim.Optimizer]:
    more: dict[str, Any] = {
        "momentum": settings.momentum,
        "nesterov": settings.nesterov,
        "weight_decay": settings.decay,
        "steps": settings.steps,
    }
    groups = parts.of("matrix").groups(settings.rate, stacked=False, **more)
    groups += parts.of("stack").groups(settings.rate, stacked=True, **more)
    others = parts.of("table", "vector")
    made: list[torch.optim.Optimizer] = [uncompiled(MuonStep)(groups)] if groups else []
    return [*made, _adamw(settings.others, others)] if others.parameters else made


def _fused(parameters: Mapping[str, nn.Parameter]) -> bool:
    """One kernel for all of a step, where torch has it."""
    return all(parameter.device.type in ("cpu", "cuda") for parameter in parameters.values())


def _on_gpu(parameters: Mapping[str, nn.Parameter]) -> bool:
    return all(parameter.is_cuda for parameter in parameters.values())


def clip(model: nn.Module, limit: float | None) -> Tensor:
    """Scale all gradients together down to a global norm, and return the norm as it was.

    limit: None measures only. The norm stays a tensor, as to read it would make a GPU wait.
    """
    parameters = [parameter for parameter in trained(model).values() if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None], foreach=True)
    if limit is not None:
        torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm, foreach=True)
    return norm
