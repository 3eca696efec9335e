"""y = xWᵀ + b. torch's own, but in training: on a CPU, and in half precision on a GPU."""
# N tokens  D inputs  E outputs

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules import module as modules

from seqloom.layers.kernels import half
from seqloom.layers.native import product

EVERYBODYS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)
"""Hooks on all layers that there are."""


Halved = tuple[Tensor, Tensor | None] | None
"""A weight and a bias in half precision, where they are at hand."""


class Linear(nn.Linear):
    halved: Halved = None
    """As `Halves` keeps them."""

    def forward(self, x: Tensor) -> Tensor:
        return mapped(x, self.weight, self.bias, self.halved)


def mapped(x: Tensor, w_ED: Tensor, bias_E: Tensor | None, halves: Halved = None) -> Tensor:
    """x Wᵀ + b."""
    if torch.is_grad_enabled() and product.fits(x, w_ED, bias_E):
        return _NativeLinear.apply(x, w_ED, bias_E)  # type: ignore[no-untyped-call]
    if _in_half(x):
        return _Linear.apply(x, w_ED, bias_E, halves, False)  # type: ignore[no-untyped-call]
    return F.linear(x, w_ED, bias_E)


def rectified(layer: nn.Module, x: Tensor) -> Tensor:
    """max(0, layer(x)); on a GPU, of a map with a bias, in the same kernels there and back."""
    if torch.compiler.is_compiling():
        return torch.relu(layer(x))
    heard = _heard(layer)
    alone = torch.is_inference_mode_enabled() and not heard
    if type(layer) is Linear and not heard and x.is_cuda:
        bias: Tensor | None = layer.bias
        if bias is not None and _in_half(x):
            return _Linear.apply(x, layer.weight, bias, layer.halved, True)  # type: ignore[no-untyped-call]
        if bias is not None and alone and x.dtype == layer.weight.dtype == bias.dtype:
            return torch._addmm_activation(bias, x.flatten(0, -2), layer.weight.t()).unflatten(0, x.shape[:-1])
    y: Tensor = layer(x)
    return torch.relu_(y) if alone else torch.relu(y)  # in place it saves a large copy, while nobody looks


def _in_half(x: Tensor) -> bool:
    """Whether it trains in half precision on a GPU."""
    return torch.is_grad_enabled() and half(x) and x.dim() > 1 and x.dtype != torch.float64


def _heard(layer: nn.Module) -> bool:
    """Whether somebody listens to a layer: what is not rectified, or its gradient, is what they want."""
    own = layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks, layer._backward_pre_hooks
    return any(own) or any(getattr(modules, name) for name in EVERYBODYS)


class _NativeLinear(torch.autograd.Function):
    """By a kernel of our own, which adds the bias, and sums its gradient, on the way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w_ED: Tensor, bias_E: Tensor | None) -> Tensor:
        x_ND = x.flatten(0, -2)
        ctx.save_for_backward(x_ND, w_ED)
        ctx.shape = x.shape
        return product.mapped(x_ND, w_ED, bias_E).view(*x.shape[:-1], len(w_ED))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, w_ED = ctx.saved_tensors
        needs_x, needs_w, needs_bias = ctx.needs_input_grad
        dy_NE = grads[0].flatten(0, -2).contiguous()
        d_w, d_bias = product.weight_back(dy_NE, x_ND, needs_bias) if needs_w else (None, None)
        if needs_bias and d_bias is None:
            d_bias = dy_NE.sum(0)
        return product.mapped_back(dy_NE, w_ED).view(ctx.shape) if needs_x else None, d_w, d_bias


class _Linear(torch.autograd.Function):
    """To sum a bias's gradient, torch takes as long as for a product; and it rounds the gradients of weights."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        halves: Halved,
        rectifies: bool,
    ) -> Tensor:
        dtype = torch.get_autocast_dtype("cuda")
        w, b = (weight, bias) if halves is None else halves
        x_ND, w, b = x.flatten(0, -2).to(dtype), w.to(dtype), None if b is None else b.to(dtype)
        ctx.kinds, ctx.shape = (x.dtype, weight.dtype, None if bias is None else bias.dtype), x.shape
        with torch.autocast("cuda", enabled=False):
            mapped = torch._addmm_activation if rectifies else torch.addmm
            y_NE = x_ND @ w.T if b is None else mapped(b, x_ND, w.T)
        ctx.save_for_backward(x_ND, w, y_NE if rectifies else None)
        return y_NE.unflatten(0, x.shape[:-1]) if x.dim() != 2 else y_NE

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from seqloom.layers.kernels.columns import column_sums, rectified_back

        x_ND, w, y_NE = ctx.saved_tensors
        kind, weight_kind, bias_kind = ctx.kinds
        dy_NE, db = grads[0].flatten(0, -2).contiguous(), None
        if y_NE is not None:
            dy_NE, db = rectified_back(dy_NE, y_NE)
        elif ctx.needs_input_grad[2]:
            db = column_sums(dy_NE)
        dx = (dy_NE @ w).to(kind).view(ctx.shape) if ctx.needs_input_grad[0] else None
        dw = _product(dy_NE.T, x_ND, weight_kind) if ctx.needs_input_grad[1] else None
        return dx, dw, None if db is None else db.to(bias_kind), None, None


def _product(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    """In this type, without rounding to half precision on the way."""
    return torch.mm(a, b, out_dtype=dtype) if dtype == torch.float32 else (a @ b).to(dtype)
