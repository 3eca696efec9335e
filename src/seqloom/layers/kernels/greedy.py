"""What the likeliest tokens mean for the answers that are being written: all of a step's books in one kernel."""
# R rows  T tokens that fit, and a place for what nobody reads

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 128  # rows that a program has in hand


@triton.jit
def _noted(  # type: ignore[no-untyped-def]
    log_prob_ptr, token_ptr, tokens_ptr, log_probs_ptr, step_ptr, longest_ptr, last_ptr, done_ptr, ended_ptr, bad_ptr,
    goes_ptr, R, T, end, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = row < R
    log_prob = tl.load(log_prob_ptr + row, mask=inside, other=0.0)
    token = tl.load(token_ptr + row, mask=inside, other=0)
    step = tl.load(step_ptr + row, mask=inside, other=0)
    longest = tl.load(longest_ptr + row, mask=inside, other=0)
    here = (tl.load(done_ptr + row, mask=inside, other=1) == 0) & inside
    real = log_prob > float("-inf")  # not so where it is no number
    ends = here & real & (token == end)
    goes = here & real & (token != end) & (step < longest)
    at = row.to(tl.int64) * T + step
    tl.store(tokens_ptr + at, token, mask=here)
    tl.store(log_probs_ptr + at, log_prob, mask=here)
    tl.store(bad_ptr + row, tl.full([BLOCK], 1, tl.uint8), mask=here & (log_prob != log_prob))
    tl.store(ended_ptr + row, tl.full([BLOCK], 1, tl.uint8), mask=ends)
    tl.store(done_ptr + row, tl.full([BLOCK], 1, tl.uint8), mask=here & (goes == 0))
    tl.store(last_ptr + row, token, mask=goes)
    tl.store(step_ptr + row, step + 1, mask=goes)
    tl.store(goes_ptr + row, goes.to(tl.uint8), mask=inside)


class Books(NamedTuple):
    """As `GreedyBooks` has them."""

    tokens_RT: Tensor
    log_probs_RT: Tensor
    step_R: Tensor
    longest_R: Tensor
    last_R: Tensor
    done_R: Tensor
    ended_R: Tensor
    bad_R: Tensor


def noted(books: Books, log_prob_R1: Tensor, token_R1: Tensor, end: int) -> Tensor:
    """One more token to each row, written into the books; goes_R: who goes on."""
    rows, room = books.tokens_RT.shape
    goes_R = torch.empty(rows, dtype=torch.bool, device=token_R1.device)
    flags = (part.view(torch.uint8) for part in (books.done_R, books.ended_R, books.bad_R, goes_R))
    _noted[(triton.cdiv(rows, BLOCK),)](
        log_prob_R1, token_R1, *books[:5], *flags, rows, room, end, BLOCK, num_warps=4
    )  # fmt: skip
    return goes_R
