"""An LSTM's gates in one kernel, and whole sequences of steps with few kernels for each.

Products are in half precision, what a cell remembers is in float32.
"""
# B rows  T steps  H hidden width  G gates × hidden width = 4 · H  P width of what is carried on

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 256


@triton.jit
def _tanh(x):  # type: ignore[no-untyped-def]
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


# a kernel for any number of rows: none is to be compiled in the middle of a recording
@triton.jit(do_not_specialize=["size"])
def _forward(  # type: ignore[no-untyped-def]
    x_ptr, from_h_ptr, c_ptr, h_out_ptr, c_out_ptr, acts_ptr,
    size, H, x_row, c_row, h_out_row, c_out_row, acts_row, BLOCK: tl.constexpr, TWO: tl.constexpr,
):  # fmt: skip
    """TWO: what the state says to the gates comes apart from what the input says."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < size
    b, j = (at // H).to(tl.int64), at % H
    x = x_ptr + b * x_row + j
    i = tl.load(x, mask=there, other=0.0).to(tl.float32)
    f = tl.load(x + H, mask=there, other=0.0).to(tl.float32)
    g = tl.load(x + 2 * H, mask=there, other=0.0).to(tl.float32)
    o = tl.load(x + 3 * H, mask=there, other=0.0).to(tl.float32)
    if TWO:
        from_h = from_h_ptr + b * 4 * H + j
        i += tl.load(from_h, mask=there, other=0.0).to(tl.float32)
        f += tl.load(from_h + H, mask=there, other=0.0).to(tl.float32)
        g += tl.load(from_h + 2 * H, mask=there, other=0.0).to(tl.float32)
        o += tl.load(from_h + 3 * H, mask=there, other=0.0).to(tl.float32)
    i, f, g, o = tl.sigmoid(i), tl.sigmoid(f), _tanh(g), tl.sigmoid(o)
    c = f * tl.load(c_ptr + b * c_row + j, mask=there, other=0.0).to(tl.float32) + i * g
    tl.store(c_out_ptr + b * c_out_row + j, c, mask=there)
    tl.store(h_out_ptr + b * h_out_row + j, (o * _tanh(c)).to(h_out_ptr.dtype.element_ty), mask=there)
    acts = acts_ptr + b * acts_row + j
    tl.store(acts, i.to(acts_ptr.dtype.element_ty), mask=there)
    tl.store(acts + H, f.to(acts_ptr.dtype.element_ty), mask=there)
    tl.store(acts + 2 * H, g.to(acts_ptr.dtype.element_ty), mask=there)
    tl.store(acts + 3 * H, o.to(acts_ptr.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=["size"])
def _backward(  # type: ignore[no-untyped-def]
    dy_ptr, dh_ptr, dc_seen_ptr, dc_ptr, acts_ptr, c_before_ptr, c_ptr, dgates_ptr, dc_out_ptr,
    size, H, dy_row, dc_seen_row, acts_row, c_before_row, c_row, dgates_row,
    BLOCK: tl.constexpr, OUT: tl.constexpr, LATER: tl.constexpr, CARRIED: tl.constexpr, SEEN: tl.constexpr,
):  # fmt: skip
    """OUT: h is put out. LATER: a step comes behind, CARRIED: which reads h as it is. SEEN: somebody looked at c."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < size
    b, j = (at // H).to(tl.int64), at % H
    dh = tl.zeros((BLOCK,), tl.float32)
    dc = tl.zeros((BLOCK,), tl.float32)
    if OUT:
        dh += tl.load(dy_ptr + b * dy_row + j, mask=there, other=0.0).to(tl.float32)
    if LATER and CARRIED:
        dh += tl.load(dh_ptr + at, mask=there, other=0.0).to(tl.float32)
    if LATER:
        dc += tl.load(dc_ptr + at, mask=there, other=0.0)
    if SEEN:
        dc += tl.load(dc_seen_ptr + b * dc_seen_row + j, mask=there, other=0.0).to(tl.float32)
    acts = acts_ptr + b * acts_row + j
    i = tl.load(acts, mask=there, other=0.0).to(tl.float32)
    f = tl.load(acts + H, mask=there, other=0.0).to(tl.float32)
    g = tl.load(acts + 2 * H, mask=there, other=0.0).to(tl.float32)
    o = tl.load(acts + 3 * H, mask=there, other=0.0).to(tl.float32)
    c_before = tl.load(c_before_ptr + b * c_before_row + j, mask=there, other=0.0).to(tl.float32)
    t = _tanh(tl.load(c_ptr + b * c_row + j, mask=there, other=0.0))
    dc += dh * o * (1.0 - t * t)
    dgates = dgates_ptr + b * dgates_row + j
    kind = dgates_ptr.dtype.element_ty
    tl.store(dgates, (dc * g * i * (1.0 - i)).to(kind), mask=there)
    tl.store(dgates + H, (dc * c_before * f * (1.0 - f)).to(kind), mask=there)
    tl.store(dgates + 2 * H, (dc * i * (1.0 - g * g)).to(kind), mask=there)
    tl.store(dgates + 3 * H, (dh * t * o * (1.0 - o)).to(kind), mask=there)
    tl.store(dc_out_ptr + at, dc * f, mask=there)


class _Step(torch.autograd.Function):
    """gates_BG, before their functions, and c_BH → h_BH, as narrow as the gates, and the new c_BH."""

    @staticmethod
    def forward(ctx: Any, gates_BG: Tensor, c_BH: Tensor) -> tuple[Tensor, Tensor]:
        gates_BG, c_BH = gates_BG.contiguous(), c_BH.contiguous()
        (B, H), new = c_BH.shape, torch.empty_like(c_BH, dtype=torch.float32)
        h_BH, acts_BG = gates_BG.new_empty(B, H), torch.empty_like(gates_BG)
        _forward[(triton.cdiv(B * H, BLOCK),)](
            gates_BG, gates_BG, c_BH, h_BH, new, acts_BG, B * H, H, 4 * H, H, H, H, 4 * H, BLOCK=BLOCK, TWO=False
        )
        ctx.save_for_backward(acts_BG, c_BH, new)
        ctx.set_materialize_grads(False)
        return h_BH, new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        dh, dc = (None if grad is None else grad.contiguous() for grad in grads)
        acts_BG, c_BH, new = ctx.saved_tensors
        if dh is None and dc is None:
            return None, None
        (B, H), dgates_BG = c_BH.shape, torch.empty_like(acts_BG)
        before = torch.empty_like(new)
        _backward[(triton.cdiv(B * H, BLOCK),)](
            new if dh is None else dh, new, new if dc is None else dc, new, acts_BG, c_BH, new, dgates_BG, before,
            B * H, H, H, H, 4 * H, H, H, 4 * H, BLOCK=BLOCK, OUT=dh is not None, LATER=False, CARRIED=True,
            SEEN=dc is not None,
        )  # fmt: skip
        return dgates_BG, before.to(c_BH.dtype)


class _Steps(torch.autograd.Function):
    """x_BTG, what the input says to the gates, and a first state → what is carried on and put out, and c_BTH.

    weight_PH: maps what the gates let out to what is carried on; None: that is carried on itself.
    """

    @staticmethod
    def forward(
        ctx: Any, x_BTG: Tensor, h_BP: Tensor, c_BH: Tensor, weight_GP: Tensor, weight_PH: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        x_BTG, c_BH = x_BTG.contiguous(), c_BH.contiguous()
        B, T, G = x_BTG.shape
        H, kind = G // 4, x_BTG.dtype
        w_GP, p_PH, h0_BP = weight_GP.to(kind), None if weight_PH is None else weight_PH.to(kind), h_BP.to(kind)
        m_BTH, c_BTH = x_BTG.new_empty(B, T, H), x_BTG.new_empty(B, T, H, dtype=torch.float32)
        y_BTP = m_BTH if p_PH is None else x_BTG.new_empty(B, T, len(p_PH))
        acts_BTG, from_h_BG = torch.empty_like(x_BTG), x_BTG.new_empty(B, G)
        with torch.autocast("cuda", enabled=False):
            for t in range(T):
                torch.mm(y_BTP[:, t - 1] if t else h0_BP, w_GP.T, out=from_h_BG)
                before, row = (c_BTH[:, t - 1], T * H) if t else (c_BH, H)
                _forward[(triton.cdiv(B * H, BLOCK),)](
                    x_BTG[:, t], from_h_BG, before, m_BTH[:, t], c_BTH[:, t], acts_BTG[:, t],
                    B * H, H, T * G, row, T * H, T * H, T * G, BLOCK=BLOCK, TWO=True,
                )  # fmt: skip
                if p_PH is not None:
                    y_BTP[:, t] = m_BTH[:, t] @ p_PH.T
        none = m_BTH.new_empty(0)
        ctx.save_for_backward(h0_BP, c_BH, w_GP, p_PH, y_BTP, none if p_PH is None else m_BTH, c_BTH, acts_BTG)
        ctx.kinds = h_BP.dtype, c_BH.dtype, weight_GP.dtype
        ctx.set_materialize_grads(False)
        return y_BTP, c_BTH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        dy, dseen = (None if grad is None else grad.contiguous() for grad in grads)
        h0_BP, c0_BH, w_GP, p_PH, y_BTP, m_BTH, c_BTH, acts_BTG = ctx.saved_tensors
        if dy is None and dseen is None:
            return None, None, None, None, None
        B, T, H = c_BTH.shape
        G = 4 * H
        dgates_BTG, dh_BP = torch.empty_like(acts_BTG), torch.empty_like(y_BTP[:, 0])
        dc_BH = torch.empty(B, H, dtype=torch.float32, device=dh_BP.device)
        dh_BTP = torch.empty_like(y_BTP) if p_PH is not None else None
        for t in reversed(range(T)):
            before, row = (c_BTH[:, t - 1], T * H) if t else (c0_BH, H)
            out, later, out_row = (c_BTH if dy is None else dy[:, t]), dh_BP, T * H
            told = dy is not None
            if dh_BTP is not None:
                if dy is None:
                    dh_BTP[:, t] = dh_BP if t < T - 1 else 0
                else:
                    dh_BTP[:, t] = dy[:, t] + dh_BP if t < T - 1 else dy[:, t]
                out, told, out_row = dh_BTP[:, t] @ p_PH, True, H
            _backward[(triton.cdiv(B * H, BLOCK),)](
                out, later, c_BTH if dseen is None else dseen[:, t], dc_BH,
                acts_BTG[:, t], before, c_BTH[:, t], dgates_BTG[:, t], dc_BH,
                B * H, H, out_row, T * H, T * G, row, T * H, T * G,
                BLOCK=BLOCK, OUT=told, LATER=t < T - 1, CARRIED=dh_BTP is None, SEEN=dseen is not None,
            )  # fmt: skip
            torch.mm(dgates_BTG[:, t], w_GP, out=dh_BP)
        before_BTP = torch.cat((h0_BP[:, None], y_BTP[:, :-1]), 1)
        dw_GP = dgates_BTG.flatten(0, 1).T @ before_BTP.flatten(0, 1)
        kind, c_kind, w_kind = ctx.kinds
        dp_PH = None if dh_BTP is None else (dh_BTP.flatten(0, 1).T @ m_BTH.flatten(0, 1)).to(w_kind)
        return dgates_BTG, dh_BP.to(kind), dc_BH.to(c_kind), dw_GP.to(w_kind), dp_PH


def lstm_step(gates_BG: Tensor, c_BH: Tensor) -> tuple[Tensor, Tensor]:
    h_BH, new = _Step.apply(gates_BG, c_BH)  # type: ignore[no-untyped-call]
    return h_BH, new


def lstm_steps(
    x_BTG: Tensor, h_BP: Tensor, c_BH: Tensor, weight_GP: Tensor, weight_PH: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    y_BTP, c_BTH = _Steps.apply(x_BTG, h_BP, c_BH, weight_GP, weight_PH)  # type: ignore[no-untyped-call]
    return y_BTP, c_BTH
