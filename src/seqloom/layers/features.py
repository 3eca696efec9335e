"""Many numbers for each node of a graph, most of them perhaps 0: words of a paper, properties of a protein."""
# N nodes  F features  D width

from typing import Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.cost import Cost, linear
from seqloom.layers.layout import Layout
from seqloom.settings import Frozen


class Features(Frozen):
    """Through one linear map, which is W of the first layer where that layer has none of its own (GAT)."""

    kind: Literal["features"] = "features"
    dropout: float = Field(default=0.0, ge=0, lt=1, description="in training, of single features")
    norm: bool = False

    def cost(self, size: int, width: int) -> Cost:
        return linear(size, width, bias=True)


class FeatureEmbedding(nn.Module):
    def __init__(self, settings: Features, size: int, width: int) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.inputs = nn.Linear(size, width)
        nn.init.xavier_uniform_(self.inputs.weight)  # of features of which most are 0, few are added up
        nn.init.zeros_(self.inputs.bias)

    def forward(self, x_NF: Tensor, layout: Layout, segments: Tensor | None = None) -> tuple[Tensor, Layout]:
        """x_NF: dense, or a sparse COO tensor, of which only what is there is multiplied."""
        if segments is not None:
            raise ValueError("segments are given, but an input of features knows none: they are of tokens")
        rate = self.dropout if self.training else 0.0
        if not x_NF.is_sparse:
            return self.inputs(F.dropout(x_NF, rate)), layout
        dropped = torch.sparse_coo_tensor(
            x_NF.indices(), F.dropout(x_NF.values(), rate), x_NF.shape, is_coalesced=True, check_invariants=False
        )
        with torch.autocast(x_NF.device.type, enabled=False):  # torch has no way back from a sparse product in half
            return torch.sparse.mm(dropped, self.inputs.weight.T) + self.inputs.bias, layout
