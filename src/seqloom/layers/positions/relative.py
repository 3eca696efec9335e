"""Positions as attention sees them: how far a key is from a query. The contract of all relative positions."""
# B rows (1: the same for all)  T queries  S keys  H heads  K head width  M distances

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Relative(nn.Module):
    """Any of three ways in: turn queries and keys, add to the scores, add to the mixed values."""

    mixes_values = False
    scaled = True  # the bias stands for products of queries, which are scaled as all products are

    def turn(self, x: Tensor, at: Tensor) -> Tensor:
        """Queries or keys x_…HK at positions at_…, before they meet."""
        return x

    def bias(self, q_BHTK: Tensor, at_BT: Tensor, keys: int, from_start: bool) -> Tensor | None:
        """Added to the scores (if `scaled`, before they are scaled): bias_BHTS.

        Key s stands at position s. from_start: query t stands at position t, and there are as many keys as queries.
        """
        return None

    def mixed(self, weights_BHTS: Tensor, at_BT: Tensor) -> Tensor:
        """Added to the weighted average of the values, when `mixes_values`: y_BHTK."""
        raise NotImplementedError


def distances(at_BT: Tensor, keys: int) -> Tensor:
    """Key's position minus query's: distance_BTS; the past is negative."""
    return torch.arange(keys, device=at_BT.device) - at_BT[..., None]


def spread(x_BHTM: Tensor, index_BTS: Tensor) -> Tensor:
    """From one number a distance to one number a key: y[t, s] = x[t, index[t, s]].

    The products with the M distances come first, so that memory grows with T·M and not with T·S·K.
    """
    B, H, T, _ = x_BHTM.shape
    return x_BHTM.gather(-1, index_BTS[:, None].expand(B, H, T, index_BTS.shape[-1]))


def skew(x_HTM: Tensor) -> Tensor:
    """`spread` when queries and keys both stand at 0 … T-1 and x holds distances -(T-1) … T-1, by a change of shape.

    Huang et al. 2018, section 3.4.1, there for the past only: a shift of row t by t places is a reshape.
    """
    *heads, T, M = x_HTM.shape
    flat = F.pad(x_HTM, (0, 1)).flatten(-2)[..., : T * M]
    return flat.view(*heads, T, M)[..., T - 1 :]
