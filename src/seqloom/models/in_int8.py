"""A model whose large products are made in eight bits, for writing on a CPU."""

from copy import deepcopy

from torch import nn

from seqloom.layers.dense import DenseFeedForward
from seqloom.layers.heads import HeadProjections
from seqloom.layers.int8 import Int8Linear
from seqloom.models.build import Model
from seqloom.models.heads import TokenHead


def in_int8(network: Model) -> Model:
    """A copy. The maps of attention and feed-forward layers and the output's scores; all else is as it was."""
    network = deepcopy(network)
    for part in list(network.modules()):
        if isinstance(part, HeadProjections | DenseFeedForward):
            for name, child in list(part.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(part, name, Int8Linear(child.weight, child.bias))
        elif isinstance(part, TokenHead):
            part.product = Int8Linear(part.weight_VD, part.bias_V)
    return network.train(network.training)  # what is new, too
