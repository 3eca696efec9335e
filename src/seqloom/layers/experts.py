"""A mixture of experts: many feed-forward layers, of which each token uses a few (Shazeer et al. 2017)."""
# N tokens  D width  F hidden width  E experts  k experts a token  C places of an expert

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.activations import Activation, activate
from seqloom.layers.cost import Cost, linear
from seqloom.layers.faults import Faults
from seqloom.layers.layout import Layout
from seqloom.layers.paths import fast
from seqloom.settings import Frozen

FEW = 512  # tokens that a GPU has done with all experts sooner than it can tell who goes to which


class Experts(Frozen):
    """Noisy top-k gating over feed-forward experts, with losses that keep them in balance."""

    kind: Literal["experts"] = "experts"
    experts: int = Field(default=8, ge=1)
    active: int = Field(default=2, ge=1, description="experts that each token uses")
    width: int | None = Field(default=None, ge=1, description="an expert's hidden width; unset: four times the model's")
    activation: Activation = "relu"
    noise: bool = Field(default=True, description="while training, learned noise lets tokens try other experts")
    capacity: float | None = Field(
        default=None,
        gt=0,
        description="while training, an expert takes at most this many times its even share of tokens; what does not "
        "fit skips the expert and is counted. Unset: all fit",
    )
    importance: float = Field(default=0.1, ge=0, description="weight of the loss for even shares of the gates")
    load: float = Field(default=0.1, ge=0, description="weight of the loss for even numbers of tokens")

    def hidden(self, width: int) -> int:
        return self.width or 4 * width

    def check(self, width: int) -> Faults:
        if self.active > self.experts:
            yield "active", f"a token cannot use {self.active} of {self.experts} experts"
        if self.changed("load") and self.load and not self.noise:
            yield "load", "the load loss is the chance that fresh noise gives: it needs noise = true"

    def cost(self, width: int) -> Cost:
        """As training runs: with a capacity all places of an expert are computed, taken or not."""
        one = linear(width, self.hidden(width), bias=True) + linear(self.hidden(width), width, bias=True)
        gate = linear(width, self.experts, bias=False)
        noise = Cost(gate.parameters if self.noise else 0, gate.flops if self.noise else 0)
        run = self.active if self.capacity is None else min(self.capacity * self.active, self.experts)
        return Cost(self.experts * one.parameters, run * one.flops) + gate + noise


@dataclass(frozen=True)
class ExpertsReport:
    """What a mixture tells of one batch."""

    loss: Tensor  # importance and load losses, weighted
    routed: Tensor  # (token, expert) pairs that were asked for
    dropped: Tensor  # those of them that found the expert full
    loads: tuple[Tensor, ...]  # of each mixture, bottom up: tokens that each expert took, load_E

    def __add__(self, other: "ExpertsReport") -> "ExpertsReport":
        return ExpertsReport(
            self.loss + other.loss, self.routed + other.routed, self.dropped + other.dropped, self.loads + other.loads
        )


@dataclass(frozen=True)
class Routing:
    gate_Nk: Tensor
    expert_Nk: Tensor
    loss: Tensor


class MixtureOfExperts(nn.Module):
    """Section 2.1, eq. 1-5; balance after section 4 and appendix A."""

    def __init__(self, settings: Experts, width: int) -> None:
        super().__init__()
        self.settings = settings
        E, hidden = settings.experts, settings.hidden(width)
        self.gate_DE = nn.Parameter(torch.zeros(width, E))
        self.noise_DE = nn.Parameter(torch.zeros(width, E)) if settings.noise else None
        self.in_EDF = nn.Parameter(torch.empty(E, width, hidden).uniform_(-(width**-0.5), width**-0.5))
        self.in_EF = nn.Parameter(torch.zeros(E, hidden))
        self.out_EFD = nn.Parameter(torch.empty(E, hidden, width).uniform_(-(hidden**-0.5), hidden**-0.5))
        self.out_ED = nn.Parameter(torch.zeros(E, width))
        self.activate = activate(settings.activation)

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, ExpertsReport]:
        x_ND = x.flatten(0, -2)
        real_N = x_ND.new_ones(len(x_ND), dtype=torch.bool) if layout.real is None else layout.real.flatten()
        route = self._route(x_ND, real_N)
        if not fast() or self._sooner(x_ND, layout):
            y_ND, kept_Nk = self._all(x_ND, route, real_N)
        elif self.training and self.settings.capacity is not None:
            y_ND, kept_Nk = self._within_capacity(x_ND, route, real_N)
        else:
            y_ND, kept_Nk = self._each(x_ND, route, real_N)
        nobody_E = torch.zeros(self.settings.experts, dtype=torch.int64, device=x.device)
        load_E = nobody_E.index_add(0, route.expert_Nk.flatten(), kept_Nk.flatten().long())
        routed = real_N.sum() * self.settings.active
        return y_ND.view_as(x), ExpertsReport(route.loss, routed, routed - kept_Nk.sum(), (load_E,))

    def _sooner(self, x_ND: Tensor, layout: Layout) -> bool:
        """Whether a GPU has it done with all experts before it could tell who goes to which.

        A step of writing must not tell, however many rows it has: nothing in it may wait for the device.
        """
        one = layout.uniform and layout.longest == 1
        return x_ND.is_cuda and not self.training and (one or len(x_ND) <= FEW)

    def gates(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """How fitting each expert is for each token, and how much of it is used, which is 0 of most: …E, …E."""
        x_ND = x.flatten(0, -2)
        route = self._route(x_ND, x_ND.new_ones(len(x_ND), dtype=torch.bool))
        clean_NE = x_ND.to(route.gate_Nk.dtype) @ self.gate_DE.to(route.gate_Nk.dtype)
        gates_NE = torch.zeros_like(clean_NE).scatter(1, route.expert_Nk, route.gate_Nk)
        return clean_NE.unflatten(0, x.shape[:-1]), gates_NE.unflatten(0, x.shape[:-1])

    def _route(self, x_ND: Tensor, real_N: Tensor) -> Routing:
        """In float32 at least: gates are compared, and their sums run over a whole batch."""
        with torch.autocast(x_ND.device.type, enabled=False):
            precise = torch.promote_types(x_ND.dtype, torch.float32)
            return self._routed(x_ND.to(precise), real_N)

    def _routed(self, x_ND: Tensor, real_N: Tensor) -> Routing:
        clean_NE = x_ND @ self.gate_DE.to(x_ND.dtype)
        noisy_NE, spread_NE = clean_NE, None
        if self.noise_DE is not None and self.training:
            spread_NE = F.softplus(x_ND @ self.noise_DE.to(x_ND.dtype)) + 1e-2
            noisy_NE = clean_NE + torch.randn_like(clean_NE) * spread_NE
        top_Nk, expert_Nk = noisy_NE.topk(self.settings.active, -1)
        gate_Nk = top_Nk.softmax(-1)
        loss = self._balance(clean_NE, noisy_NE, spread_NE, gate_Nk, expert_Nk, real_N)
        return Routing(gate_Nk, expert_Nk, loss)

    def _balance(
        self,
        clean_NE: Tensor,
        noisy_NE: Tensor,
        spread_NE: Tensor | None,
        gate_Nk: Tensor,
        expert_Nk: Tensor,
        real_N: Tensor,
    ) -> Tensor:
        real_N1 = real_N[:, None].to(clean_NE.dtype)
        gates_NE = torch.zeros_like(clean_NE).scatter(1, expert_Nk, gate_Nk) * real_N1
        loss = self.settings.importance * _unevenness(gates_NE.sum(0))
        k = self.settings.active
        if spread_NE is None or k == self.settings.experts:
            return loss
        # eq. 8-10: the chance that fresh noise would put expert i among the top k of this token
        bounds = noisy_NE.topk(k + 1, -1).values
        chosen_NE = noisy_NE >= bounds[:, k - 1 : k]
        threshold_NE = torch.where(chosen_NE, bounds[:, k : k + 1], bounds[:, k - 1 : k])
        chance_NE = torch.special.ndtr((clean_NE - threshold_NE) / spread_NE) * real_N1
        return loss + self.settings.load * _unevenness(chance_NE.sum(0))

    def _run(self, x_ECD: Tensor) -> Tensor:
        """Every expert on its own tokens: y_ECD."""
        hidden_ECF = self.activate(torch.baddbmm(self.in_EF[:, None], x_ECD, self.in_EDF))
        return torch.baddbmm(self.out_ED[:, None], hidden_ECF, self.out_EFD)

    def _all(self, x_ND: Tensor, route: Routing, real_N: Tensor) -> tuple[Tensor, Tensor]:
        """The equation: all experts on all tokens, weighted by gates most of which are zero."""
        kept_Nk = self._kept(route, real_N)
        gates_NE = x_ND.new_zeros(len(x_ND), self.settings.experts)
        gates_NE = gates_NE.scatter(1, route.expert_Nk, (route.gate_Nk * kept_Nk).to(x_ND.dtype))
        every_END = self._run(x_ND.expand(self.settings.experts, -1, -1))
        return torch.einsum("ne,end->nd", gates_NE.to(every_END.dtype), every_END), kept_Nk

    def _places(self, route: Routing, real_N: Tensor) -> Tensor:
        """Each pair's place in the queue for its expert; first choices of all tokens come before second ones."""
        expert_P = route.expert_Nk.T.flatten()
        # one row an expert: a GPU counts along rows by many threads, and down columns by one each
        every_E1 = torch.arange(self.settings.experts, device=expert_P.device)[:, None]
        chosen_EP = (expert_P == every_E1) & real_N.repeat(self.settings.active)
        queue_EP = chosen_EP.cumsum(-1, dtype=torch.int32) - 1
        return queue_EP.gather(0, expert_P[None])[0].view(self.settings.active, -1).T.long()

    @property
    def _share(self) -> float | None:
        """How many of the real tokens an expert takes at most; None: all."""
        capacity = self.settings.capacity if self.training else None
        return None if capacity is None else capacity * self.settings.active / self.settings.experts

    def _seats(self, tokens: int) -> int:
        """Places of each expert in a batch of this size."""
        assert self._share is not None
        return min(math.ceil(self._share * tokens), tokens)

    def _room(self, real_N: Tensor) -> Tensor:
        """Places that may be taken: padding and filler, which take none, give none either."""
        assert self._share is not None
        precise = torch.float32 if real_N.device.type == "mps" else torch.float64
        return (self._share * real_N.sum().to(precise)).ceil().clamp(max=self._seats(len(real_N)))

    def _kept(self, route: Routing, real_N: Tensor, place_Nk: Tensor | None = None) -> Tensor:
        real_Nk = real_N[:, None].expand_as(route.expert_Nk)
        if self._share is None:
            return real_Nk
        place_Nk = self._places(route, real_N) if place_Nk is None else place_Nk
        return real_Nk & (place_Nk < self._room(real_N))

    def _within_capacity(self, x_ND: Tensor, route: Routing, real_N: Tensor) -> tuple[Tensor, Tensor]:
        """Fixed shapes, whatever the gates say: each expert has the same number of places."""
        C, E, k = self._seats(len(x_ND)), self.settings.experts, self.settings.active
        place_Nk = self._places(route, real_N)
        kept_Nk = self._kept(route, real_N, place_Nk)
        # the last seat is for those without one; who sits on a seat, as a number of a pair: nobody is the last
        seat_Nk = torch.where(kept_Nk, route.expert_Nk * C + place_Nk, E * C)
        pair_P = torch.arange(len(x_ND) * k, device=x_ND.device)
        pair_S = pair_P.new_full((E * C + 1,), len(pair_P)).scatter(0, seat_Nk.flatten(), pair_P)[:-1]
        x_SD: Tensor = _Seated.apply(x_ND, pair_S, seat_Nk)  # type: ignore[no-untyped-call]
        y_ECD = self._run(x_SD.view(E, C, x_ND.shape[1]))
        y_NkD: Tensor = _Left.apply(y_ECD.flatten(0, 1), pair_S, seat_Nk)  # type: ignore[no-untyped-call]
        gate_Nk1 = (route.gate_Nk * kept_Nk).to(y_NkD.dtype)[..., None]
        return (gate_Nk1 * y_NkD).sum(1), kept_Nk

    def _each(self, x_ND: Tensor, route: Routing, real_N: Tensor) -> tuple[Tensor, Tensor]:
        """One expert after the other, each on just its tokens."""
        y_ND = torch.zeros_like(x_ND)
        kept_Nk = real_N[:, None].expand_as(route.expert_Nk)
        for e in range(self.settings.experts):
            token_M, choice_M = torch.where((route.expert_Nk == e) & kept_Nk)
            hidden_MF = self.activate(torch.addmm(self.in_EF[e], x_ND[token_M], self.in_EDF[e]))
            out_MD = torch.addmm(self.out_ED[e], hidden_MF, self.out_EFD[e])
            y_ND = y_ND.index_add(0, token_M, (out_MD * route.gate_Nk[token_M, choice_M, None]).to(y_ND.dtype))
        return y_ND, kept_Nk


# Who goes to a seat, and who leaves it: each is the other's way back. Written out, because the gradient of taking by
# index adds row to row, and all seats that are empty are one row: on a GPU one thread then adds them one by one.


def _to_seats(x_PD: Tensor, pair_S: Tensor) -> Tensor:
    taken_S1 = (pair_S < len(x_PD))[:, None]
    return torch.where(taken_S1, x_PD[pair_S.clamp(max=len(x_PD) - 1)], 0)


def _from_seats(y_SD: Tensor, seat_Nk: Tensor) -> Tensor:
    seated_Nk1 = (seat_Nk < len(y_SD))[..., None]
    return torch.where(seated_Nk1, y_SD[seat_Nk.clamp(max=len(y_SD) - 1)], 0)


class _Seated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, pair_S: Tensor, seat_Nk: Tensor) -> Tensor:
        ctx.save_for_backward(seat_Nk)
        taken_S1 = (pair_S < seat_Nk.numel())[:, None]
        return torch.where(taken_S1, x_ND[(pair_S // seat_Nk.shape[1]).clamp(max=len(x_ND) - 1)], 0)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _from_seats(grads[0], *ctx.saved_tensors).sum(1), None, None


class _Left(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y_SD: Tensor, pair_S: Tensor, seat_Nk: Tensor) -> Tensor:
        ctx.save_for_backward(pair_S)
        return _from_seats(y_SD, seat_Nk)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _to_seats(grads[0].flatten(0, 1), *ctx.saved_tensors), None, None


def _unevenness(x_E: Tensor) -> Tensor:
    """The squared coefficient of variation (eq. 7), of all experts there are."""
    return x_E.var(correction=0) / (x_E.mean().square() + 1e-10)
