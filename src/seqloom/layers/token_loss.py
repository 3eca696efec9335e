"""The loss of tokens under a vocabulary's scores, without ever holding all scores at once."""
# N tokens  D width  V vocabulary

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from seqloom.layers.kernels import usable
from seqloom.layers.native import product as native_product
from seqloom.layers.native import token_loss as native
from seqloom.layers.paths import fast

# scores that are held at once: on a CPU few enough for its cache, but enough rows for a good product
CHUNK = {"cpu": 1 << 20}
CHUNK_ELSEWHERE = 1 << 28
ROWS = 512
TILE = 128
EVEN = 8  # scores in half precision that a GPU writes at once: where rows begin elsewhere, its products are slow
PANELS = 1 << 25  # numbers of a table of vectors, of which two copies are made for a while


def token_loss(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    goal_N: Tensor,
    real_N: Tensor | None = None,
    smoothing: float = 0.0,
    weight_N: Tensor | None = None,
) -> Tensor:
    """The sum over real tokens of −log softmax(Wx + b)[goal], in nats.

    smoothing: so much of each goal is spread evenly over the vocabulary (Szegedy et al. 2016).
    weight_N: how often each counts, perhaps less than never; None: once.
    """
    if len(goal_N) != len(hidden_ND) or (weight_N is not None and len(weight_N) != len(goal_N)):
        raise ValueError(f"{len(goal_N)} goals for {len(hidden_ND)} tokens")
    if real_N is not None:
        goal_N = torch.where(real_N, goal_N, 0)  # what stands in the padding need not be a token
    if not fast() or torch.compiler.is_compiling():
        scores_NV = F.linear(hidden_ND, weight_VD, bias_V)
        loss_N = F.cross_entropy(scores_NV, goal_N, reduction="none", label_smoothing=smoothing)
        loss_N = loss_N if weight_N is None else loss_N * weight_N
        return loss_N.sum() if real_N is None else torch.where(real_N, loss_N, 0).sum()
    return _TokenLoss.apply(hidden_ND, weight_VD, bias_V, goal_N, real_N, smoothing, weight_N)  # type: ignore[no-untyped-call]


class _TokenLoss(torch.autograd.Function):
    """Chunk by chunk: scores, loss and, while the scores are at hand, the gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        goal_N: Tensor,
        real_N: Tensor | None,
        smoothing: float,
        weight_N: Tensor | None,
    ) -> Tensor:
        total = hidden_ND.new_zeros((), dtype=torch.promote_types(hidden_ND.dtype, torch.float32))
        own = any(ctx.needs_input_grad[:3]) and _own_products(hidden_ND, weight_VD, bias_V)
        grads = _Gradients(ctx.needs_input_grad, hidden_ND, weight_VD, bias_V, begun=not own)
        # products in the precision that autocast asks for, if it does
        kind = hidden_ND.device.type
        product = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight_VD.dtype
        x_ND, w_VD = hidden_ND.to(product), weight_VD.to(product)
        b_V = None if bias_V is None else bias_V.to(product)
        size = max(ROWS, CHUNK.get(kind, CHUNK_ELSEWHERE) // len(weight_VD))
        size = size if kind == "cpu" else _even(len(hidden_ND), size)
        products = _OwnProducts(x_ND, w_VD, b_V, size) if own else _Products(x_ND, w_VD, b_V)
        for at in range(0, len(hidden_ND), size):
            here = slice(at, at + size)
            if own or (usable(x_ND) and product != torch.float64) or native.fits(x_ND, grads.wanted):
                total += products.loss(goal_N, _times(real_N, weight_N, here), smoothing, here, grads)
                continue
            log_p = F.log_softmax(F.linear(x_ND[here], w_VD, b_V), -1, dtype=total.dtype)
            hit = log_p.gather(-1, goal_N[here, None])
            loss = -(1 - smoothing) * hit[:, 0] - (smoothing * log_p.mean(-1) if smoothing else 0)
            counts = None if real_N is None else real_N[here]
            times = None if weight_N is None else weight_N[here].to(total.dtype)
            loss = loss if times is None else loss * times
            total += loss.sum() if counts is None else torch.where(counts, loss, 0).sum()
            if grads.wanted:
                d_scores = log_p.exp_()
                d_scores.scatter_add_(-1, goal_N[here, None], torch.full_like(hit, smoothing - 1))
                d_scores = d_scores.sub_(smoothing / len(weight_VD)) if smoothing else d_scores
                d_scores = d_scores if times is None else d_scores.mul_(times[:, None])
                d_scores = d_scores if counts is None else d_scores.masked_fill_(~counts[:, None], 0)
                grads.add(here, d_scores.to(product), x_ND, w_VD)
        ctx.save_for_backward(grads.hidden_ND, grads.weight_VD, grads.bias_V)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if part is None else part * grads[0].to(part.dtype) for part in ctx.saved_tensors]
        return scaled[0], scaled[1], scaled[2], None, None, None, None


def _even(tokens: int, most: int) -> int:
    """Tokens of a chunk: of as few chunks as there must be, all as long, in whole tiles of a product."""
    chunks = max(1, -(-tokens // most))
    return max(1, -(-tokens // chunks // TILE)) * TILE


def _times(real_N: Tensor | None, weight_N: Tensor | None, here: slice) -> Tensor | None:
    """How often each token counts; None: once."""
    times_N = None if weight_N is None else weight_N[here].float()
    if real_N is None:
        return times_N
    return real_N[here].float() if times_N is None else torch.where(real_N[here], times_N, 0.0)


def _own_products(x_ND: Tensor, w_VD: Tensor, b_V: Tensor | None) -> bool:
    return native.fits(x_ND, gradient=True) and native_product.fits(x_ND, w_VD, b_V) and w_VD.numel() <= PANELS


class _Products:
    """Scores of some tokens, and what becomes of their gradients."""

    def __init__(self, x_ND: Tensor, w_VD: Tensor, b_V: Tensor | None) -> None:
        self.x_ND, self.tokens = x_ND, len(w_VD)
        spare = _spare(x_ND, len(w_VD))
        self.w_VD, self.b_V = _wider(w_VD, spare), None if b_V is None else _wider(b_V, spare)

    def loss(
        self, goal_N: Tensor, times_N: Tensor | None, smoothing: float, here: slice, grads: "_Gradients"
    ) -> Tensor:
        """Of some tokens: one kernel makes their gradients where the scores were."""
        if self.x_ND.is_cuda:
            from seqloom.layers.kernels.loss import loss_in_place
        else:
            loss_in_place = native.loss_in_place

        scores = self.scores(here)  # what is spare stays 0, as a gradient too
        loss = loss_in_place(scores[:, : self.tokens], goal_N[here], times_N, smoothing, grads.wanted).sum()
        if grads.wanted:
            self.back(here, scores, grads)
        return loss

    def scores(self, here: slice) -> Tensor:
        return F.linear(self.x_ND[here], self.w_VD, self.b_V)

    def back(self, here: slice, d_scores: Tensor, grads: "_Gradients") -> None:
        grads.add(here, d_scores, self.x_ND, self.w_VD)


def _spare(x_ND: Tensor, tokens: int) -> int:
    """How many tokens more make rows of scores begin where a GPU likes it."""
    return -tokens % EVEN if x_ND.is_cuda and x_ND.element_size() == 2 else 0


def _wider(x: Tensor, spare: int) -> Tensor:
    """With zeros behind the last token's."""
    return torch.cat((x, x.new_zeros(spare, *x.shape[1:]))) if spare else x


class _OwnProducts(_Products):
    """By a kernel of our own: the table of vectors is laid out for it once, and scores overwrite scores."""

    def __init__(self, x_ND: Tensor, w_VD: Tensor, b_V: Tensor | None, size: int) -> None:
        super().__init__(x_ND, w_VD, b_V)
        self.forth_DV, self.back_VD = native_product.panels(w_VD.T), native_product.panels(w_VD)
        self.space = x_ND.new_empty(min(size, len(x_ND)), len(w_VD))

    def scores(self, here: slice) -> Tensor:
        x = self.x_ND[here]
        return native_product.multiply(x, self.forth_DV, self.space[: len(x)], self.b_V)

    def back(self, here: slice, d_scores: Tensor, grads: "_Gradients") -> None:
        assert grads.hidden_ND is not None
        native_product.multiply(d_scores, self.back_VD, grads.hidden_ND[here])
        if grads.weight_VD is not None:
            native_product.multiply(d_scores.T, self.x_ND[here], grads.weight_VD, add=here.start > 0)
        if grads.bias_V is not None:
            grads.bias_V += d_scores.sum(0)


class _Gradients:
    """Sums in the precision of what they are gradients of. begun: that of the weights with zeros."""

    def __init__(
        self, needed: tuple[bool, ...], hidden: Tensor, weight: Tensor, bias: Tensor | None, begun: bool
    ) -> None:
        self.wanted = any(needed[:3])
        self.hidden_ND = torch.empty_like(hidden) if self.wanted else None
        self.weight_VD = (torch.zeros_like(weight) if begun else torch.empty_like(weight)) if needed[1] else None
        self.bias_V = torch.zeros_like(bias) if bias is not None and needed[2] else None

    def add(self, here: slice, d_scores: Tensor, x_ND: Tensor, w_VD: Tensor) -> None:
        """Scores and vectors may have spare tokens, with zeros."""
        assert self.hidden_ND is not None
        if self.hidden_ND.dtype == d_scores.dtype:
            torch.mm(d_scores, w_VD, out=self.hidden_ND[here])
        else:
            self.hidden_ND[here] = d_scores @ w_VD
        if self.weight_VD is not None:
            _add_product(self.weight_VD, d_scores[:, : len(self.weight_VD)].T, x_ND[here])
        if self.bias_V is not None:
            self.bias_V += d_scores[:, : len(self.bias_V)].sum(0)


def _add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    if total.dtype == a.dtype:
        total.addmm_(a, b)
    elif total.is_cuda and total.dtype == torch.float32:  # not rounded on the way, nor read twice
        torch.addmm(total, a, b, torch.float32, out=total)
    else:
        total += a @ b
