"""Weights laid out for writing step by step on a CPU: the same numbers, in the order in which products read them.

A step multiplies few rows with each matrix. With a matrix that lies as torch keeps it, products of 9 to 48 rows take
three to five times as long as with one that lies transposed; many rows take as long with either.
"""

from torch import Tensor, nn
from torch.nn.utils import parametrize

from seqloom.models.build import Model
from seqloom.models.heads import TokenHead


def lay_out(network: Model) -> None:
    """In place; shapes and values stay. An output that shares the token vectors gets a copy: these are looked up.

    A weight that is changed afterwards is seen to be, but not through its `.data` or numpy.
    """
    if isinstance(network.head, TokenHead):
        # laid out below, which copies it
        network.head.weight_VD = nn.Parameter(network.head.weight_VD.detach(), requires_grad=False)
    network.requires_grad_(False)  # kernels keep weights in a form of their own, and would not see them learn
    for part in list(network.modules()):
        if isinstance(part, nn.Linear | nn.Conv1d) and parametrize.is_parametrized(part, "weight"):
            # a length and a direction make one weight once, not in each step
            parametrize.remove_parametrizations(part, "weight")
        if isinstance(part, nn.Linear):
            part.weight.data = _transposed(part.weight.data)
        elif isinstance(part, TokenHead):
            part.weight_VD.data = _transposed(part.weight_VD.data)


def _transposed(weight: Tensor) -> Tensor:
    return weight.t().contiguous().t()
