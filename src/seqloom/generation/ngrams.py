"""No n-gram twice (Paulus et al. 2018)."""
# R rows  T tokens written  W windows of n tokens

import torch
from torch import Tensor


def repeated(tokens_RT: Tensor, lengths_R: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Rows and tokens, in pairs: each token that would complete an n-gram that its row already holds.

    Row r holds tokens_RT[r, : lengths_R[r]]. A pair may come more than once. n = 1: every token the row holds.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least one token, not {n}")
    windows = max(tokens_RT.shape[1] - n + 1, 0)
    first_W = torch.arange(windows, device=tokens_RT.device)
    same_RW = first_W + n <= lengths_R[:, None]
    for offset in range(n - 1):
        last_R1 = (lengths_R[:, None] - n + 1 + offset).clamp(min=0)
        if windows:
            same_RW &= tokens_RT[:, offset : offset + windows] == tokens_RT.gather(1, last_R1)
    rows, at = same_RW.nonzero(as_tuple=True)
    return rows, tokens_RT[rows, at + n - 1]
