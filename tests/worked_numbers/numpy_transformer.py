"""The Transformer of 2017 (arXiv:1706.03762) in plain NumPy: one pair of sequences, one layer a side, every step named.

Forward: each function writes what it computes into a trace, under the name of the step. Backward: each function has a
twin that takes the gradient of its result, reads the trace, adds to the gradients of the weights, and returns the
gradient of its input. Nothing here is shared with the package: these are the same equations, written a second time.
"""
# S source tokens  T target tokens  D width  H heads  K head width  F hidden width  V vocabulary

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Pass:
    """One forward and backward pass: the weights, what each step computed, and the gradients of the weights."""

    weights: dict[str, Array]
    heads: int
    trace: dict[str, Array] = field(default_factory=dict)
    grads: dict[str, Array] = field(default_factory=dict)

    def note(self, name: str, value: Array) -> Array:
        self.trace[name] = value
        return value

    def add(self, name: str, grad: Array) -> None:
        self.grads[name] = self.grads.get(name, np.zeros_like(self.weights[name])) + grad


def sinusoids(length: int, width: int) -> Array:
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(the same)."""
    table = np.zeros((length, width))
    for position in range(length):
        for i in range(width // 2):
            angle = position / 10_000 ** (2 * i / width)
            table[position, 2 * i], table[position, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return table


def embed(run: Pass, name: str, tokens: Sequence[int]) -> Array:
    """Section 3.4: the token's vector times √D, plus the position."""
    vectors_VD = run.weights[f"{name} vectors"]
    x_TD = run.note(f"{name} embedding", vectors_VD[list(tokens)] * np.sqrt(vectors_VD.shape[1]))
    return run.note(f"{name} input", x_TD + sinusoids(*x_TD.shape))


def embed_back(run: Pass, name: str, tokens: Sequence[int], grad_TD: Array) -> None:
    vectors_VD = run.weights[f"{name} vectors"]
    grad_VD = np.zeros_like(vectors_VD)
    for token, grad_D in zip(tokens, grad_TD, strict=True):
        grad_VD[token] += grad_D * np.sqrt(vectors_VD.shape[1])
    run.add(f"{name} vectors", grad_VD)


def linear(run: Pass, name: str, x: Array) -> Array:
    run.note(f"{name} in", x)
    return run.note(name, x @ run.weights[f"{name} weight"].T + run.weights[f"{name} bias"])


def linear_back(run: Pass, name: str, grad: Array) -> Array:
    run.add(f"{name} weight", grad.T @ run.trace[f"{name} in"])
    run.add(f"{name} bias", grad.sum(0))
    return grad @ run.weights[f"{name} weight"]


def split(x_TD: Array, heads: int) -> Array:
    """x_HTK: each head's own share of the width."""
    return x_TD.reshape(len(x_TD), heads, -1).transpose(1, 0, 2)


def join(x_HTK: Array) -> Array:
    return x_HTK.transpose(1, 0, 2).reshape(x_HTK.shape[1], -1)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def softmax_back(y: Array, grad: Array) -> Array:
    return y * (grad - (grad * y).sum(-1, keepdims=True))


def attention(run: Pass, name: str, x_TD: Array, memory_SD: Array, see_TS: Bools) -> Array:
    """Section 3.2: queries from x, keys and values from the memory (which is x itself in self-attention)."""
    q_HTK = split(linear(run, f"{name} query", x_TD), run.heads)
    k_HSK = split(linear(run, f"{name} key", memory_SD), run.heads)
    v_HSK = split(linear(run, f"{name} value", memory_SD), run.heads)
    scores_HTS = run.note(f"{name} scores", q_HTK @ k_HSK.transpose(0, 2, 1) / np.sqrt(q_HTK.shape[-1]))
    masked_HTS = run.note(f"{name} masked scores", np.where(see_TS, scores_HTS, -np.inf))
    weights_HTS = run.note(f"{name} weights", softmax(masked_HTS))
    joined_TD = run.note(f"{name} joined heads", join(weights_HTS @ v_HSK))
    return linear(run, f"{name} output", joined_TD)


def attention_back(run: Pass, name: str, grad_TD: Array) -> tuple[Array, Array]:
    """The gradients of x and of the memory."""
    q_HTK, k_HSK, v_HSK = (split(run.trace[f"{name} {part}"], run.heads) for part in ("query", "key", "value"))
    weights_HTS = run.trace[f"{name} weights"]
    grad_HTK = split(linear_back(run, f"{name} output", grad_TD), run.heads)
    grad_v_HSK = weights_HTS.transpose(0, 2, 1) @ grad_HTK
    # a masked score has weight 0, so its gradient is 0 too
    grad_scores_HTS = softmax_back(weights_HTS, grad_HTK @ v_HSK.transpose(0, 2, 1)) / np.sqrt(q_HTK.shape[-1])
    grad_q_HTK = grad_scores_HTS @ k_HSK
    grad_k_HSK = grad_scores_HTS.transpose(0, 2, 1) @ q_HTK
    grad_x_TD = linear_back(run, f"{name} query", join(grad_q_HTK))
    grad_memory_SD = linear_back(run, f"{name} key", join(grad_k_HSK))
    return grad_x_TD, grad_memory_SD + linear_back(run, f"{name} value", join(grad_v_HSK))


EPSILON = 1e-5


def add_and_norm(run: Pass, name: str, x_TD: Array, y_TD: Array) -> Array:
    """Section 3.1: LayerNorm(x + layer(x))."""
    sum_TD = run.note(f"{name} sum", x_TD + y_TD)
    mean_T1 = sum_TD.mean(-1, keepdims=True)
    variance_T1 = ((sum_TD - mean_T1) ** 2).mean(-1, keepdims=True)
    deviation_T1 = run.note(f"{name} deviation", np.sqrt(variance_T1 + EPSILON))
    normed_TD = run.note(f"{name} normed", (sum_TD - mean_T1) / deviation_T1)
    return run.note(name, normed_TD * run.weights[f"{name} gain"] + run.weights[f"{name} bias"])


def add_and_norm_back(run: Pass, name: str, grad_TD: Array) -> Array:
    """The gradient of the sum, which is that of both of its terms."""
    normed_TD = run.trace[f"{name} normed"]
    run.add(f"{name} gain", (grad_TD * normed_TD).sum(0))
    run.add(f"{name} bias", grad_TD.sum(0))
    inner_TD = grad_TD * run.weights[f"{name} gain"]
    centred_TD = inner_TD - inner_TD.mean(-1, keepdims=True)
    along_T1 = (inner_TD * normed_TD).mean(-1, keepdims=True)
    return (centred_TD - normed_TD * along_T1) / run.trace[f"{name} deviation"]


def feed_forward(run: Pass, name: str, x_TD: Array) -> Array:
    """Section 3.3: max(0, xW₁ + b₁)W₂ + b₂."""
    hidden_TF = linear(run, f"{name} hidden", x_TD)
    return linear(run, f"{name} output", np.maximum(hidden_TF, 0))


def feed_forward_back(run: Pass, name: str, grad_TD: Array) -> Array:
    grad_TF = linear_back(run, f"{name} output", grad_TD)
    return linear_back(run, f"{name} hidden", grad_TF * (run.trace[f"{name} hidden"] > 0))


def encode(run: Pass, source: Sequence[int]) -> Array:
    x_SD = embed(run, "source", source)
    everyone_SS = np.ones((len(source), len(source)), dtype=bool)
    y_SD = attention(run, "encoder attention", x_SD, x_SD, everyone_SS)
    x_SD = add_and_norm(run, "encoder attention norm", x_SD, y_SD)
    y_SD = feed_forward(run, "encoder feed-forward", x_SD)
    return add_and_norm(run, "encoder feed-forward norm", x_SD, y_SD)


def encode_back(run: Pass, source: Sequence[int], grad_SD: Array) -> None:
    grad_SD = add_and_norm_back(run, "encoder feed-forward norm", grad_SD)
    grad_SD = grad_SD + feed_forward_back(run, "encoder feed-forward", grad_SD)
    grad_SD = add_and_norm_back(run, "encoder attention norm", grad_SD)
    as_query_SD, as_memory_SD = attention_back(run, "encoder attention", grad_SD)
    embed_back(run, "source", source, grad_SD + as_query_SD + as_memory_SD)


def decode(run: Pass, target: Sequence[int], memory_SD: Array) -> Array:
    x_TD = embed(run, "target", target)
    past_TT = np.tril(np.ones((len(target), len(target)), dtype=bool))
    y_TD = attention(run, "decoder attention", x_TD, x_TD, past_TT)
    x_TD = add_and_norm(run, "decoder attention norm", x_TD, y_TD)
    everyone_TS = np.ones((len(target), len(memory_SD)), dtype=bool)
    y_TD = attention(run, "cross-attention", x_TD, memory_SD, everyone_TS)
    x_TD = add_and_norm(run, "cross-attention norm", x_TD, y_TD)
    y_TD = feed_forward(run, "decoder feed-forward", x_TD)
    return add_and_norm(run, "decoder feed-forward norm", x_TD, y_TD)


def decode_back(run: Pass, target: Sequence[int], grad_TD: Array) -> Array:
    """The gradient of the memory."""
    grad_TD = add_and_norm_back(run, "decoder feed-forward norm", grad_TD)
    grad_TD = grad_TD + feed_forward_back(run, "decoder feed-forward", grad_TD)
    grad_TD = add_and_norm_back(run, "cross-attention norm", grad_TD)
    as_query_TD, grad_memory_SD = attention_back(run, "cross-attention", grad_TD)
    grad_TD = add_and_norm_back(run, "decoder attention norm", grad_TD + as_query_TD)
    as_query_TD, as_memory_TD = attention_back(run, "decoder attention", grad_TD)
    embed_back(run, "target", target, grad_TD + as_query_TD + as_memory_TD)
    return grad_memory_SD


def forward(run: Pass, source: Sequence[int], target: Sequence[int], gold: Sequence[int]) -> float:
    """The cross-entropy of the gold tokens, averaged; each is predicted from the source and the target up to it."""
    hidden_TD = decode(run, target, run.note("memory", encode(run, source)))
    scores_TV = run.note("scores", run.note("hidden", hidden_TD) @ run.weights["output vectors"].T)
    chances_TV = run.note("chances", softmax(scores_TV))
    return float(-np.log(chances_TV[range(len(gold)), list(gold)]).mean())


def backward(run: Pass, source: Sequence[int], target: Sequence[int], gold: Sequence[int]) -> None:
    """The gradients of all weights, into run.grads."""
    # of cross-entropy behind a softmax: what was said, less what should have been said
    grad_TV = (run.trace["chances"] - np.eye(run.trace["chances"].shape[1])[list(gold)]) / len(gold)
    run.add("output vectors", grad_TV.T @ run.trace["hidden"])
    encode_back(run, source, decode_back(run, target, grad_TV @ run.weights["output vectors"]))
