"""What a stack's states become: tokens, tags, classes, numbers."""
# V vocabulary, tags, classes or numbers  D width  Q quantiles

from typing import assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqloom.layers.activations import Activation, activate
from seqloom.layers.chain import Chain
from seqloom.layers.int8 import Int8Linear
from seqloom.layers.layout import Layout
from seqloom.layers.norms import NormSettings, build_norm
from seqloom.layers.token_loss import token_loss
from seqloom.models.head_settings import (
    ClassesOutput,
    HorizonOutput,
    NumbersOutput,
    OutputSettings,
    Pool,
    TagsOutput,
    TokensOutput,
)


class TokenHead(nn.Module):
    """Scores before the softmax, for each token of the vocabulary. Tied: its weights are the token vectors."""

    def __init__(
        self, settings: TokensOutput, norm: NormSettings, size: int, width: int, tied: nn.Parameter | None = None
    ) -> None:
        super().__init__()
        self.factor = width**-0.5 if settings.scale else 1.0
        self.transform = None if settings.transform is None else Transform(settings.transform, norm, width)
        self.narrow = None if settings.narrow is None else nn.Linear(width, settings.narrow)
        inner = settings.narrow or width
        self.weight_VD = nn.Parameter(torch.randn(size, inner) * inner**-0.5) if tied is None else tied
        self.bias_V = nn.Parameter(torch.zeros(size)) if settings.bias else None
        self.product: Int8Linear | None = None  # the same map, where products are made in eight bits

    def forward(self, hidden: Tensor, layout: Layout) -> Tensor:
        if self.product is not None:
            return self.product(self.prepared(hidden, layout))
        return F.linear(self.prepared(hidden, layout), self.weight_VD, self.bias_V)

    def loss(
        self, hidden: Tensor, layout: Layout, goal: Tensor, smoothing: float = 0.0, weight: Tensor | None = None
    ) -> Tensor:
        """The sum of all real tokens' losses, each so often as its weight says; all scores are never held at once."""
        hidden = self.prepared(hidden, layout).flatten(0, -2)
        real_N = None if layout.real is None else layout.real.flatten()
        weight_N = None if weight is None else weight.flatten()
        return token_loss(hidden, self.weight_VD, self.bias_V, goal.flatten(), real_N, smoothing, weight_N)

    def prepared(self, hidden: Tensor, layout: Layout) -> Tensor:
        """What is multiplied with the tokens' weights."""
        hidden = hidden if self.transform is None else self.transform(hidden, layout)
        hidden = hidden if self.narrow is None else self.narrow(hidden)
        return hidden if self.factor == 1 else hidden * self.factor


class Transform(nn.Module):
    """norm(f(Wx + b)), before BERT's scores."""

    def __init__(self, activation: Activation, norm: NormSettings, width: int) -> None:
        super().__init__()
        self.dense, self.activate, self.norm = nn.Linear(width, width), activate(activation), build_norm(norm, width)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        return self.norm(self.activate(self.dense(x)), layout)


class FollowsHead(nn.Module):
    """Whether a row's second segment follows its first, scores_B2: from the state of its first token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense, self.out = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, hidden: Tensor, layout: Layout) -> Tensor:
        return self.out(torch.tanh(self.dense(layout.first_B(hidden))))


class TagHead(nn.Module):
    """One score a tag at each position. chain: what tags that follow each other add to these scores, if it counts."""

    def __init__(self, settings: TagsOutput, size: int, width: int) -> None:
        super().__init__()
        self.out = nn.Linear(width, size)
        self.chain = Chain(size) if settings.chain else None

    def forward(self, hidden: Tensor, layout: Layout) -> Tensor:
        return self.out(hidden)


class ClassHead(nn.Module):
    """One score a class for each row: scores_BV."""

    def __init__(self, settings: ClassesOutput, size: int, width: int) -> None:
        super().__init__()
        self.pools, self.dropout = settings.pools, nn.Dropout(settings.dropout)
        self.ask_D = nn.Parameter(torch.zeros(width)) if "attention" in settings.pools else None
        self.out = nn.Linear(width * len(settings.pools), size)

    def forward(self, hidden: Tensor, layout: Layout) -> Tensor:
        return self.out(self.dropout(torch.cat([self._pooled(pool, hidden, layout) for pool in self.pools], -1)))

    def _pooled(self, pool: Pool, hidden: Tensor, layout: Layout) -> Tensor:
        match pool:
            case "mean":
                return layout.mean_B(hidden)
            case "max":
                return layout.max_B(hidden)
            case "last":
                return layout.last_B(hidden)
            case "first":
                return layout.first_B(hidden)
            case "attention":
                return torch.einsum("bt,btd->bd", self.weights(hidden, layout), layout.pad(hidden))
            case _:
                assert_never(pool)

    def weights(self, hidden: Tensor, layout: Layout) -> Tensor:
        """Of an attention pool: how much each place counts, w_BT."""
        assert self.ask_D is not None
        x_BTD = layout.pad(hidden)
        scores_BT = (x_BTD @ self.ask_D) * self.ask_D.shape[0] ** -0.5
        return scores_BT.masked_fill(~layout.real_BT, torch.finfo(x_BTD.dtype).min).softmax(-1)


class NumberHead(nn.Module):
    """Numbers at each position: y_…V, or y_…VQ with quantiles."""

    def __init__(self, settings: NumbersOutput, size: int, width: int) -> None:
        super().__init__()
        self.quantiles = len(settings.quantiles)
        self.out = nn.Linear(width, size * max(self.quantiles, 1))

    def forward(self, hidden: Tensor, layout: Layout) -> Tensor:
        y = self.out(hidden)
        return y.unflatten(-1, (-1, self.quantiles)) if self.quantiles else y


class HorizonHead(nn.Module):
    """What comes behind each row: y_BVQ, of each number its mean and then its quantiles, which never cross."""

    def __init__(self, settings: HorizonOutput, size: int, width: int, positions: int) -> None:
        """positions: of a row; where all are read at their places, none has more."""
        super().__init__()
        self.settings, self.size, self.positions = settings, size, positions
        self.dropout = nn.Dropout(settings.dropout)
        in_patches = settings.pool == "patches"
        self.ahead = nn.Linear(positions, settings.patches(size)) if in_patches else None
        read = width * (positions if settings.pool == "flat" else 1)
        self.out = nn.Linear(read, (settings.patch if in_patches else size) * settings.each)

    def forward(self, hidden: Tensor, layout: Layout) -> Tensor:
        y = self.out(self.dropout(self._pooled(hidden, layout))).flatten(1)
        y_BVQ = y.unflatten(-1, (-1, self.settings.each))[:, : self.size]
        if not self.settings.quantiles:
            return y_BVQ
        return torch.cat((y_BVQ[..., :1], rising(y_BVQ[..., 1:])), -1)

    def _pooled(self, hidden: Tensor, layout: Layout) -> Tensor:
        match self.settings.pool:
            case "mean":
                return layout.mean_B(hidden)
            case "last":
                return layout.last_B(hidden)
            case "flat":
                return self._at_their_places(hidden, layout).flatten(1)
            case "patches":
                assert self.ahead is not None
                return self.ahead(self._at_their_places(hidden, layout).mT).mT

    def _at_their_places(self, hidden: Tensor, layout: Layout) -> Tensor:
        """x_BTD with as many positions as the weights know; zeros behind a row's end."""
        x_BTD = layout.pad(hidden)
        if x_BTD.shape[1] > self.positions:
            raise ValueError(f"a sequence of {x_BTD.shape[1]} positions, but the output reads {self.positions}")
        return F.pad(x_BTD, (0, 0, 0, self.positions - x_BTD.shape[1]))


def rising(free_Q: Tensor) -> Tensor:
    """Any numbers → numbers that never fall: the middle one stays, and from it each goes outwards by softplus."""
    middle = free_Q.shape[-1] // 2
    below, centre, above = free_Q[..., :middle], free_Q[..., middle : middle + 1], free_Q[..., middle + 1 :]
    down = F.softplus(below).flip(-1).cumsum(-1).flip(-1)
    return torch.cat((centre - down, centre, centre + F.softplus(above).cumsum(-1)), -1)


def chain_of(head: nn.Module) -> Chain | None:
    """Of a head whose tags hang on each other."""
    return head.chain if isinstance(head, TagHead) else None


Head = TokenHead | TagHead | ClassHead | NumberHead | HorizonHead


def build_head(
    settings: OutputSettings,
    norm: NormSettings,
    size: int,
    width: int,
    tied: nn.Parameter | None = None,
    positions: int = 0,
) -> Head:
    """positions: of a sequence, where all have as many."""
    match settings:
        case TokensOutput():
            return TokenHead(settings, norm, size, width, tied)
        case TagsOutput():
            return TagHead(settings, size, width)
        case ClassesOutput():
            return ClassHead(settings, size, width)
        case NumbersOutput():
            return NumberHead(settings, size, width)
        case HorizonOutput():
            return HorizonHead(settings, size, width, positions)
        case _:
            assert_never(settings)
