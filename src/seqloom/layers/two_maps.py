"""f(xW₁ + b₁)W₂ + b₂ on a CPU, there and back, without a copy for the activation.

A kernel of our own adds the bias, and drops, in the same pass. Without a compiler for it: a rectifier overwrites what
goes in, and its way back overwrites the gradient; the smooth activation leaves its slope while its numbers are in the
cache, where torch works the same out twice, each time slower.
"""
# N tokens  D width  F hidden width

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.layers.activations import Activation
from seqloom.layers.linear import Linear
from seqloom.layers.native import activation as native
from seqloom.layers.native import product
from seqloom.layers.native.chance import Chance, chance
from seqloom.layers.paths import fast

CHUNK = 1 << 17  # numbers that are worked on at once: a few tensors of them fit into a core's cache
# gelu-tanh: 0.5 x (1 + tanh(c (x + 0.044715 x³))) = x σ(2c x + 2c · 0.044715 x³), c = √(2/π)
LINE = 2 * (2 / torch.pi) ** 0.5
CUBE = LINE * 0.044715


def fits(x: Tensor, inputs: nn.Module, out: nn.Module, activation: Activation, dropout: float) -> bool:
    """Whether it is for this: a gradient is asked for, and nobody looks at what is between the maps."""
    return (
        activation in ("relu", "gelu-tanh")
        and fast()
        and x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.float64)
        and torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and (not dropout or native.fits(x))
        and all(
            type(part) is Linear and not part._forward_hooks and not part._forward_pre_hooks for part in (inputs, out)
        )
    )


def mapped_twice(x: Tensor, inputs: Linear, out: Linear, activation: Activation, dropout: float = 0.0) -> Tensor:
    """dropout: of the hidden layer."""
    weights = inputs.weight, inputs.bias, out.weight, out.bias
    if native.fits(x):
        return _NativeMaps.apply(x, *weights, activation, chance(dropout))  # type: ignore[no-untyped-call]
    return _TwoMaps.apply(x, *weights, activation)  # type: ignore[no-untyped-call]


class _NativeMaps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        in_FD: Tensor,
        in_F: Tensor | None,
        out_DF: Tensor,
        out_D: Tensor | None,
        name: Activation,
        chance: Chance,
    ) -> Tensor:
        x_ND = x.flatten(0, -2)
        ctx.own = product.fits(x, in_FD, in_F, out_DF, out_D)
        smooth = name == "gelu-tanh"
        if ctx.own:
            hidden_NF, slope_NF = product.activated(x_ND, in_FD, in_F, smooth, chance)
        else:
            slope_NF = native.activate_(hidden_NF := x_ND @ in_FD.T, in_F, smooth, chance)
        ctx.save_for_backward(x_ND, in_FD, out_DF, hidden_NF, slope_NF)
        ctx.chance, ctx.shape = chance, x.shape
        mapped = product.mapped if ctx.own else torch.nn.functional.linear
        return mapped(hidden_NF, out_DF, out_D).view(*x.shape[:-1], len(out_DF))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, in_FD, out_DF, hidden_NF, slope_NF = ctx.saved_tensors
        needs_x, needs_in, needs_in_bias, needs_out, needs_out_bias, *_ = ctx.needs_input_grad
        dy_ND = grads[0].flatten(0, -2).contiguous()
        weight_back, mapped_back = (product.weight_back, product.mapped_back) if ctx.own else (_weight_back, torch.mm)
        d_out, d_out_bias = weight_back(dy_ND, hidden_NF, needs_out_bias) if needs_out else (None, None)
        if needs_out_bias and d_out_bias is None:
            d_out_bias = dy_ND.sum(0)
        if ctx.own:
            d_NF = product.activated_back(dy_ND, out_DF, hidden_NF, slope_NF, ctx.chance)
            d_in, d_in_bias = weight_back(d_NF, x_ND, needs_in_bias) if needs_in else (None, None)
            if needs_in_bias and d_in_bias is None:
                d_in_bias = d_NF.sum(0)
        else:
            d_in_bias = native.back_(d_NF := dy_ND @ out_DF, hidden_NF, slope_NF, ctx.chance, needs_in_bias)
            d_in = d_NF.T @ x_ND if needs_in else None
        d_x = mapped_back(d_NF, in_FD).view(ctx.shape) if needs_x else None
        return d_x, d_in, d_in_bias, d_out, d_out_bias, None, None


def _weight_back(dy_NE: Tensor, x_ND: Tensor, sums: bool) -> tuple[Tensor, Tensor | None]:
    return dy_NE.T @ x_ND, dy_NE.sum(0) if sums else None


class _TwoMaps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, in_FD: Tensor, in_F: Tensor | None, out_DF: Tensor, out_D: Tensor | None, name: Activation
    ) -> Tensor:
        x_ND = x.flatten(0, -2)
        hidden_NF = torch.nn.functional.linear(x_ND, in_FD, in_F)
        slope_NF = hidden_NF.relu_() if name == "relu" else smooth_(hidden_NF)
        ctx.save_for_backward(x_ND, in_FD, out_DF, hidden_NF, slope_NF)
        ctx.relu, ctx.shape = name == "relu", x.shape
        return torch.nn.functional.linear(hidden_NF, out_DF, out_D).view(*x.shape[:-1], len(out_DF))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, in_FD, out_DF, hidden_NF, slope_NF = ctx.saved_tensors
        needs_x, needs_in, needs_in_bias, needs_out, needs_out_bias, _ = ctx.needs_input_grad
        dy_ND = grads[0].flatten(0, -2)
        d_out = dy_ND.T @ hidden_NF if needs_out else None
        d_out_bias = dy_ND.sum(0) if needs_out_bias else None
        d_NF = dy_ND @ out_DF
        if ctx.relu:
            torch.ops.aten.threshold_backward.grad_input(d_NF, slope_NF, 0, grad_input=d_NF)
        else:
            d_NF.mul_(slope_NF)
        d_in = d_NF.T @ x_ND if needs_in else None
        d_in_bias = d_NF.sum(0) if needs_in_bias else None
        return (d_NF @ in_FD).view(ctx.shape) if needs_x else None, d_in, d_in_bias, d_out, d_out_bias, None


def smooth_(x_NF: Tensor) -> Tensor:
    """gelu-tanh in place; its slope, σ + x σ (1 − σ) (LINE + 3 CUBE x²)."""
    slope_NF = torch.empty_like(x_NF)
    line, twice = x_NF.new_tensor(LINE), x_NF.new_tensor(-2 * LINE)
    rows = max(1, CHUNK // x_NF.shape[1])
    for x, slope in zip(x_NF.split(rows), slope_NF.split(rows), strict=True):
        inner = torch.mul(x, x)
        torch.add(line, inner, alpha=CUBE, out=inner)  # LINE + CUBE x²
        torch.mul(inner, x, out=slope).sigmoid_()
        x.mul_(slope)
        torch.add(twice, inner, alpha=3, out=inner)
        inner.mul_(x)
        slope.addcmul_(inner, slope, value=-1).add_(inner)  # σ + y (1 − σ) (…)
    return slope_NF
