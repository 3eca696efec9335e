"""A model whose large products are made in half precision, for writing on a GPU: as it was trained, if it was so."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from seqloom.layers.attention import SelfAttention
from seqloom.layers.dense import DenseFeedForward
from seqloom.layers.heads import HeadProjections
from seqloom.models.build import Model
from seqloom.models.heads import TokenHead


def in_half(network: Model, dtype: torch.dtype) -> Model:
    """A copy, to be used under autocast of the same type. The maps of attention and feed-forward layers, the output's
    scores and the caches are of it; all else is as it was, and what autocast would make narrow in each step still is.
    """
    network = deepcopy(network)
    for part in list(network.modules()):
        if isinstance(part, HeadProjections | DenseFeedForward):
            for child in part.children():
                if isinstance(child, nn.Linear):
                    child.weight = _narrow(child.weight, dtype)
                    if isinstance(child.bias, Tensor):
                        child.bias = _narrow(child.bias, dtype)
        elif isinstance(part, TokenHead):
            # an output that shares the token vectors gets its own: these are looked up as they are
            part.weight_VD = _narrow(part.weight_VD, dtype)
            part.bias_V = None if part.bias_V is None else _narrow(part.bias_V, dtype)
        elif isinstance(part, SelfAttention):
            part.anchor = part.anchor.to(dtype)
    return network


def _narrow(weight: Tensor, dtype: torch.dtype) -> nn.Parameter:
    return nn.Parameter(weight.detach().to(dtype), requires_grad=False)
