"""y = xWᵀ + b. torch's own, but in training on a CPU, and for the bias's way back in half precision on a GPU."""
# N tokens  D inputs  E outputs

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seqloom.layers.kernels import half
from seqloom.layers.native import product


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        bias: Tensor | None = self.bias
        if torch.is_grad_enabled() and product.fits(x, self.weight, bias):
            return _NativeLinear.apply(x, self.weight, bias)  # type: ignore[no-untyped-call]
        if bias is None or not torch.is_grad_enabled() or not half(x):
            return super().forward(x)
        return _Linear.apply(x, self.weight, bias)  # type: ignore[no-untyped-call]


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
    """To sum a bias's gradient over all tokens, torch takes as long as for a product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        dtype = torch.get_autocast_dtype("cuda")
        x_ND, w = x.flatten(0, -2).to(dtype), weight.to(dtype)
        ctx.save_for_backward(x_ND, w)
        ctx.kinds, ctx.shape = (x.dtype, weight.dtype, bias.dtype), x.shape
        with torch.autocast("cuda", enabled=False):
            y_NE = torch.addmm(bias.to(dtype), x_ND, w.T)
        return y_NE.unflatten(0, x.shape[:-1]) if x.dim() != 2 else y_NE

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from seqloom.layers.kernels.columns import column_sums

        x_ND, w = ctx.saved_tensors
        kind, weight_kind, bias_kind = ctx.kinds
        dy_NE = grads[0].flatten(0, -2).contiguous()
        dx = (dy_NE @ w).to(kind).view(ctx.shape) if ctx.needs_input_grad[0] else None
        dw = (dy_NE.T @ x_ND).to(weight_kind) if ctx.needs_input_grad[1] else None
        db = column_sums(dy_NE).to(bias_kind) if ctx.needs_input_grad[2] else None
        return dx, dw, db
