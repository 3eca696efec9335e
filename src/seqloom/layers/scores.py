"""How alike a query and a key are: dot, scaled dot, multiplicative, additive, leaky additive.

Three of them are a dot product once the query is prepared, so the fast kernel serves them all.
"""
# B rows  H query heads  G key heads  T queries  S keys  K query width  J key width  A additive hidden width
# M places  E edges

import math
from typing import Literal, assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqloom.layers.cost import Cost, linear

ScoreName = Literal["dot", "scaled-dot", "multiplicative", "additive", "leaky-additive"]


class Score(nn.Module):
    """score(q, k) = compare(query(q), key(k)). Keys are prepared once, when they enter a cache."""

    scale: float | None = 1.0  # compare is scale · q·k; None: it is something else

    def query(self, q_BHTK: Tensor) -> Tensor:
        return q_BHTK

    def key(self, k_BGSJ: Tensor) -> Tensor:
        return k_BGSJ

    def compare(self, q_BHTK: Tensor, k_BHSK: Tensor) -> Tensor:
        assert self.scale is not None
        return torch.matmul(q_BHTK * self.scale, k_BHSK.transpose(-1, -2))

    def along(self, q_MHK: Tensor, k_MHK: Tensor, query_E: Tensor, key_E: Tensor) -> Tensor:
        """scores_EH: of these pairs alone."""
        assert self.scale is not None
        return (q_MHK.index_select(0, query_E) * k_MHK.index_select(0, key_E)).sum(-1) * self.scale


class DotScore(Score):
    """qᵀk (Luong et al. 2015, eq. 8), or qᵀk / √K (Vaswani et al. 2017, eq. 1)."""

    scale: float

    def __init__(self, width: int, scaled: bool) -> None:
        super().__init__()
        self.scale = width**-0.5 if scaled else 1.0


class MultiplicativeScore(Score):
    """qᵀWk (Luong et al. 2015, eq. 8, "general"); a W for each head; the widths of q and k may differ."""

    def __init__(self, heads: int, query_width: int, key_width: int) -> None:
        super().__init__()
        self.weight_HKJ = nn.Parameter(torch.empty(heads, query_width, key_width))
        nn.init.normal_(self.weight_HKJ, std=(query_width * key_width) ** -0.25)

    def query(self, q_BHTK: Tensor) -> Tensor:
        return torch.matmul(q_BHTK, self.weight_HKJ)


class AdditiveScore(Score):
    """vᵀ tanh(Wq + Uk + b) (Bahdanau et al. 2015, A.1.2); W, U and v for each head; the bias is ours."""

    scale = None

    def __init__(self, heads: int, key_heads: int, query_width: int, key_width: int) -> None:
        super().__init__()
        A = key_width
        self.query_HKA = nn.Parameter(torch.randn(heads, query_width, A) / math.sqrt(query_width))
        self.key_GJA = nn.Parameter(torch.randn(key_heads, key_width, A) / math.sqrt(key_width))
        self.bias_HA = nn.Parameter(torch.zeros(heads, A))
        self.out_HA = nn.Parameter(torch.randn(heads, A) / math.sqrt(A))

    def query(self, q_BHTK: Tensor) -> Tensor:
        return torch.matmul(q_BHTK, self.query_HKA) + self.bias_HA[:, None]

    def key(self, k_BGSJ: Tensor) -> Tensor:
        return torch.matmul(k_BGSJ, self.key_GJA)

    def compare(self, q_BHTK: Tensor, k_BHSK: Tensor) -> Tensor:
        hidden_BHTSA = torch.tanh(q_BHTK[:, :, :, None] + k_BHSK[:, :, None])
        return torch.matmul(hidden_BHTSA, self.out_HA[:, None, :, None]).squeeze(-1)

    def along(self, q_MHK: Tensor, k_MHK: Tensor, query_E: Tensor, key_E: Tensor) -> Tensor:
        hidden_EHA = torch.tanh(q_MHK.index_select(0, query_E) + k_MHK.index_select(0, key_E))
        return (hidden_EHA * self.out_HA).sum(-1)


class LeakyAdditiveScore(Score):
    """LeakyReLU(aᵀq + bᵀk), a slope of 0.2 below 0; a and b for each head (Veličković et al. 2018, eq. 3)."""

    scale = None
    SLOPE = 0.2

    def __init__(self, heads: int, key_heads: int, query_width: int, key_width: int) -> None:
        super().__init__()
        self.query_HK = nn.Parameter(torch.randn(heads, query_width) / math.sqrt(query_width))
        self.key_GJ = nn.Parameter(torch.randn(key_heads, key_width) / math.sqrt(key_width))

    def query(self, q_BHTK: Tensor) -> Tensor:
        return q_BHTK * self.query_HK[:, None]

    def key(self, k_BGSJ: Tensor) -> Tensor:
        return k_BGSJ * self.key_GJ[:, None]

    def compare(self, q_BHTK: Tensor, k_BHSK: Tensor) -> Tensor:
        return F.leaky_relu(q_BHTK.sum(-1)[..., None] + k_BHSK.sum(-1)[..., None, :], self.SLOPE)

    def along(self, q_MHK: Tensor, k_MHK: Tensor, query_E: Tensor, key_E: Tensor) -> Tensor:
        q_MH, k_MH = q_MHK.sum(-1), k_MHK.sum(-1)  # before they are looked up: a number an edge, not a vector
        return F.leaky_relu(q_MH.index_select(0, query_E) + k_MH.index_select(0, key_E), self.SLOPE)


def build_score(name: ScoreName, heads: int, key_heads: int, query_width: int, key_width: int) -> Score:
    match name:
        case "dot":
            return DotScore(query_width, scaled=False)
        case "scaled-dot":
            return DotScore(query_width, scaled=True)
        case "multiplicative":
            return MultiplicativeScore(heads, query_width, key_width)
        case "additive":
            return AdditiveScore(heads, key_heads, query_width, key_width)
        case "leaky-additive":
            return LeakyAdditiveScore(heads, key_heads, query_width, key_width)
        case _:
            assert_never(name)


def score_cost(
    name: ScoreName, heads: int, key_heads: int, query_width: int, key_width: int, seen: float, keys: float
) -> Cost:
    """For one query over `seen` keys, of which `keys` are prepared for each query."""
    compared = Cost(0, 2 * heads * key_width * seen)
    match name:
        case "dot" | "scaled-dot":
            return compared
        case "multiplicative":
            return compared + linear(query_width, heads * key_width, bias=False)
        case "additive":
            query = linear(query_width, heads * key_width, bias=True)
            key = linear(key_width, key_heads * key_width, bias=False).times(keys)
            return compared + query + key + Cost(heads * key_width)
        case "leaky-additive":  # products and sums of single numbers, which are not counted elsewhere either
            return Cost(heads * query_width + key_heads * key_width)
        case _:
            assert_never(name)
