"""The loss of scores under a softmax, and its gradient in their place."""
# N tokens  V vocabulary

import ctypes
from ctypes import c_float, c_int, c_int64, c_void_p

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.native import Library, address, usable_both_ways


def _same(lib: ctypes.CDLL) -> bool:
    scores, goal, times = torch.linspace(-2, 3, 111).mul(40).sin().view(3, 37), torch.tensor([0, 36, 5]), torch.ones(3)
    with torch.enable_grad():
        x = scores.detach().double().requires_grad_()
        wanted = F.cross_entropy(x, goal, reduction="none", label_smoothing=0.1)
        (slope,) = torch.autograd.grad(wanted.sum(), x)
    loss = _in_place(lib, scores, goal, times, 0.1, True)
    return torch.allclose(loss.double(), wanted, atol=1e-5) and torch.allclose(scores.double(), slope, atol=1e-5)


LOSS = Library("token_loss", {"loss_in_place": (*(c_void_p,) * 4, *(c_int64,) * 2, c_float, c_int, c_int)}, _same)


def fits(x: Tensor, gradient: bool) -> bool:
    """gradient: it is for training, which waits for a compiler."""
    return usable_both_ways(x) and (LOSS.wait() if gradient else LOSS.get()) is not None


def loss_in_place(
    scores_NV: Tensor, goal_N: Tensor, times_N: Tensor | None, smoothing: float, gradient: bool
) -> Tensor:
    """loss_N; with `gradient` the scores become its slope in each of them. times_N: how often each counts.

    Without, the scores are used up too.
    """
    lib = LOSS.wait()
    assert lib is not None  # `fits` asked
    return _in_place(lib, scores_NV, goal_N, times_N, smoothing, gradient)


def _in_place(
    lib: ctypes.CDLL, scores_NV: Tensor, goal_N: Tensor, times_N: Tensor | None, smoothing: float, gradient: bool
) -> Tensor:
    assert scores_NV.is_contiguous()
    assert scores_NV.dtype == torch.float32
    N, V = scores_NV.shape
    if N and not 0 <= int(goal_N.min()) <= int(goal_N.max()) < V:
        raise IndexError(f"goals from {int(goal_N.min())} to {int(goal_N.max())}, but there are {V} tokens")
    loss_N, goal_N = scores_NV.new_empty(N), goal_N.long().contiguous()
    times_N = None if times_N is None else times_N.float().contiguous()
    lib.loss_in_place(
        scores_NV.data_ptr(), goal_N.data_ptr(), address(times_N), loss_N.data_ptr(),
        N, V, smoothing, gradient, torch.get_num_threads(),
    )  # fmt: skip
    return loss_N
