"""The loss of scores under a softmax, and its gradient in their place."""
# N tokens  V vocabulary

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096


@triton.jit
def _loss(  # type: ignore[no-untyped-def]
    scores_ptr, goal_ptr, times_ptr, loss_ptr, smoothing, V, stride,
    BLOCK: tl.constexpr, WEIGHS: tl.constexpr, GRADIENT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    scores_ptr += row.to(tl.int64) * stride
    goal = tl.load(goal_ptr + row)
    hit = tl.load(scores_ptr + goal).to(tl.float32)  # before all threads meet: behind that, some may write
    times = 1.0
    if WEIGHS:
        times = tl.load(times_ptr + row).to(tl.float32)
    top = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    every = tl.zeros((), tl.float32)
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(scores_ptr + at, mask=at < V, other=float("-inf")).to(tl.float32)
        newtop = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - newtop) + tl.sum(tl.exp(x - newtop), 0)
        every += tl.sum(tl.where(at < V, x, 0.0), 0)
        top = newtop
    spread = top + tl.log(total)
    # not 0 times: a token that is forbidden, with a score of -inf, makes the mean of all -inf too
    smooth = tl.where(smoothing == 0.0, 0.0, smoothing * (spread - every / V))
    loss = (1.0 - smoothing) * (spread - hit) + smooth
    # not times 0: what does not count may be no number at all
    tl.store(loss_ptr + row, tl.where(times == 0.0, 0.0, loss * times))
    if GRADIENT:
        for start in range(0, V, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(scores_ptr + at, mask=at < V, other=float("-inf")).to(tl.float32)
            d = tl.exp(x - spread) - smoothing / V - tl.where(at == goal, 1.0 - smoothing, 0.0)
            d = tl.where(times == 0.0, 0.0, d * times)
            tl.store(scores_ptr + at, d.to(scores_ptr.dtype.element_ty), mask=at < V)


def loss_in_place(
    scores_NV: Tensor, goal_N: Tensor, times_N: Tensor | None, smoothing: float, gradient: bool
) -> Tensor:
    """loss_N; with `gradient` the scores become its slope in each of them. times_N: how often each counts."""
    assert scores_NV.stride(1) == 1 or scores_NV.shape[1] == 1
    N, V = scores_NV.shape
    loss_N = torch.empty(N, dtype=torch.float32, device=scores_NV.device)
    if N:
        _loss[(N,)](
            scores_NV, goal_N, loss_N if times_N is None else times_N, loss_N, smoothing, V, scores_NV.stride(0),
            BLOCK=min(BLOCK, max(16, 1 << (V - 1).bit_length())), WEIGHS=times_N is not None, GRADIENT=gradient,
            num_warps=8,
        )  # fmt: skip
    return loss_N
