"""The small numbers with which attention is taught, in our layers."""
# S source states  T target states  D width  K head width

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.layers.attend import attend, attention_weights
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.masks import Sight
from seqloom.layers.mixer import Memory
from seqloom.layers.scores import AdditiveScore, DotScore, MultiplicativeScore

PLAIN_CROSS = CrossAttention(heads=1, score="dot", project=False, output=False)
PARAMETER_FREE = Attention(heads=1, score="dot", project=False, output=False)


def numbers(*rows: tuple[float, ...]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def as_head(x: Tensor) -> Tensor:
    """One row, one head: x_11SK."""
    return x[None, None]


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_dot_score() -> None:
    encoder, decoder = numbers((0.8, 0.2)), numbers((0.7, 0.3))
    score = DotScore(2, scaled=False).compare(as_head(decoder), as_head(encoder))
    assert score.item() == pytest.approx(0.8 * 0.7 + 0.2 * 0.3)
    assert score.item() == pytest.approx(0.62)


def test_weighted_states_add_up_to_the_context() -> None:
    """Weight 0.7 on (0.8, 0.2) is (0.56, 0.14); all weighted states together are the context vector."""
    encoder = numbers((0.8, 0.2), (0.1, 0.9))
    # the scores 0.6·a and -0.8·a; their softmax is 0.7 and 0.3
    a = math.log(0.7 / 0.3) / 1.4
    decoder = numbers((a, -a))
    mixer = MemoryAttention(PLAIN_CROSS, 2).double()
    state = mixer.start(1, Memory(encoder, Packed.of([2])))
    weights_S = mixer.weights(decoder, Packed.of([1]), state)[0, 0, 0]
    torch.testing.assert_close(weights_S, torch.tensor([0.7, 0.3]).double())
    weighted_SD = weights_S[:, None] * encoder
    torch.testing.assert_close(weighted_SD[0], torch.tensor([0.56, 0.14]).double())
    context_1D, _ = mixer(decoder, Packed.of([1]), state)
    torch.testing.assert_close(context_1D[0], weighted_SD.sum(0))
    torch.testing.assert_close(context_1D[0], torch.tensor([0.59, 0.41]).double())


def test_scores_over_the_root_of_the_width() -> None:
    """q·k = 112 and 96 with keys 64 wide: 14 and 12, and a softmax of 0.88 and 0.12."""
    q, k = torch.zeros(1, 64), torch.zeros(2, 64)
    q[0, 0], k[0, 0], k[1, 0] = 8.0, 14.0, 12.0
    assert DotScore(64, scaled=False).compare(as_head(q), as_head(k)).flatten().tolist() == [112.0, 96.0]
    scaled = DotScore(64, scaled=True)
    assert scaled.compare(as_head(q), as_head(k)).flatten().tolist() == [14.0, 12.0]
    weights = attention_weights(as_head(q), as_head(k), scaled, None).flatten()
    assert [round(w, 2) for w in weights.tolist()] == [0.88, 0.12]


def test_the_root_keeps_the_spread_of_scores() -> None:
    """Products of 256 numbers of variance 1 have variance 256; scaled, 1 again (Vaswani et al. 2017, footnote 4)."""
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 300, 256), torch.randn(1, 1, 300, 256)
    assert DotScore(256, scaled=False).compare(q, k).var().item() == pytest.approx(256, rel=0.05)
    assert DotScore(256, scaled=True).compare(q, k).var().item() == pytest.approx(1, rel=0.05)


def test_minus_infinity_before_the_softmax_is_zero_behind_it() -> None:
    q, k = numbers((1.0, 0.5)), numbers((0.3, 0.1), (0.9, -0.4), (0.2, 0.7))
    see = torch.tensor([[[True, False, True]]])
    score = DotScore(2, scaled=False)
    masked = attention_weights(as_head(q), as_head(k), score, see).flatten()
    scores = (q @ k.T).flatten().numpy()
    with_infinity = softmax(np.array([scores[0], -np.inf, scores[2]]))
    np.testing.assert_allclose(masked.numpy(), with_infinity, rtol=1e-12)
    assert masked[1] == 0
    free = attention_weights(as_head(q), as_head(k), score, None).flatten()
    zeroed = free * torch.tensor([1, 0, 1])
    torch.testing.assert_close(masked, zeroed / zeroed.sum())
    assert masked.sum().item() == pytest.approx(1)


def test_self_attention_without_parameters() -> None:
    """w_ij = softmax over j of x_i·x_j, y_i = Σ_j w_ij x_j: in loops, as matrices, and ours."""
    x = np.random.default_rng(3).standard_normal((5, 4))
    loops = np.zeros_like(x)
    for i in range(5):
        powers = [math.exp(sum(x[i, d] * x[j, d] for d in range(4))) for j in range(5)]
        for j in range(5):
            for d in range(4):
                loops[i, d] += powers[j] / sum(powers) * x[j, d]
    matrices = softmax(x @ x.T) @ x
    mixer = SelfAttention(PARAMETER_FREE, 4, causal=False).double()
    assert not list(mixer.parameters())
    ours, _ = mixer(torch.from_numpy(x), Packed.of([5]))
    np.testing.assert_allclose(matrices, loops, rtol=1e-12)
    np.testing.assert_allclose(ours.numpy(), loops, rtol=1e-12)


def test_of_vectors_of_one_length_each_is_most_like_itself() -> None:
    x = torch.randn(7, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x = x / x.norm(dim=-1, keepdim=True)
    mixer = SelfAttention(PARAMETER_FREE, 4, causal=False).double()
    weights_TT = mixer.weights(x, Packed.of([7]))[0, 0]
    assert weights_TT.argmax(-1).tolist() == list(range(7))
    torch.testing.assert_close(weights_TT.sum(-1), torch.ones(7, dtype=torch.float64))


def test_projections_in_loops_and_as_a_matrix() -> None:
    """q_i = Q x_i + b_q, k_i = K x_i + b_k, v_i = V x_i + b_v; then all of self-attention from them."""
    torch.manual_seed(2)
    D, T = 3, 4
    mixer = SelfAttention(Attention(heads=1), D, causal=False).double()
    x = torch.randn(T, D, dtype=torch.float64)
    maps, biases = mixer.heads.qkv.weight.chunk(3), mixer.heads.qkv.bias.chunk(3)
    looped = np.zeros((3, T, D))
    for part in range(3):
        for t in range(T):
            for row in range(D):
                total = sum(maps[part][row, d].item() * x[t, d].item() for d in range(D))
                looped[part, t, row] = total + biases[part][row].item()
    ours = [part[:, 0].detach().numpy() for part in mixer.heads.of_itself(x)]
    np.testing.assert_allclose(ours, looped, rtol=1e-12)
    q, k, v = looped
    mixed = softmax(q @ k.T / math.sqrt(D)) @ v
    expected = mixed @ mixer.heads.out.weight.detach().numpy().T + mixer.heads.out.bias.detach().numpy()
    np.testing.assert_allclose(mixer(x, Packed.of([T]))[0].detach().numpy(), expected, rtol=1e-10)


def test_multiplicative_score_of_unequal_widths() -> None:
    """score(q, k) = qᵀWk with q of 4 numbers and k of 6."""
    torch.manual_seed(4)
    mixer = MemoryAttention(CrossAttention(heads=1, score="multiplicative", project=False), 4, memory_width=6).double()
    assert isinstance(mixer.heads.score, MultiplicativeScore)
    W = mixer.heads.score.weight_HKJ[0].detach().numpy()
    assert W.shape == (4, 6)
    queries, memory = torch.randn(2, 4).double(), torch.randn(5, 6).double()
    expected = np.array([[q @ W @ k for k in memory.numpy()] for q in queries.numpy()])
    state = mixer.start(1, Memory(memory, Packed.of([5])))
    weights_TS = mixer.weights(queries, Packed.of([2]), state)[0, 0].detach().numpy()
    np.testing.assert_allclose(weights_TS, softmax(expected), rtol=1e-10)
    y, _ = mixer(queries, Packed.of([2]), state)
    out = mixer.heads.out
    context = softmax(expected) @ memory.numpy()
    np.testing.assert_allclose(
        y.detach().numpy(), context @ out.weight.detach().numpy().T + out.bias.detach().numpy(), rtol=1e-10
    )


def test_additive_score() -> None:
    """score(q, k) = vᵀ tanh(Wq + Uk + b) with q of 4 numbers and k of 6."""
    torch.manual_seed(5)
    mixer = MemoryAttention(CrossAttention(heads=1, score="additive", project=False), 4, memory_width=6).double()
    score = mixer.heads.score
    assert isinstance(score, AdditiveScore)
    with torch.no_grad():
        score.bias_HA.uniform_()
    W, U = score.query_HKA[0].detach().numpy().T, score.key_GJA[0].detach().numpy().T
    b, v = score.bias_HA[0].detach().numpy(), score.out_HA[0].detach().numpy()
    queries, memory = torch.randn(2, 4).double(), torch.randn(5, 6).double()
    expected = np.array([[v @ np.tanh(W @ q + U @ k + b) for k in memory.numpy()] for q in queries.numpy()])
    state = mixer.start(1, Memory(memory, Packed.of([5])))
    weights_TS = mixer.weights(queries, Packed.of([2]), state)[0, 0].detach().numpy()
    np.testing.assert_allclose(weights_TS, softmax(expected), rtol=1e-10)


def test_two_heads_are_two_attentions_side_by_side() -> None:
    torch.manual_seed(6)
    both = SelfAttention(Attention(heads=2, output=False), 6, causal=True).double()
    x = torch.randn(4, 6).double()
    y, _ = both(x, Packed.of([4]))
    for head in range(2):
        q, k, v = (part[:, head].detach() for part in both.heads.of_itself(x))
        alone = attend(
            as_head(q),
            as_head(k),
            as_head(v),
            score=DotScore(3, scaled=True),
            sight=Sight(causal=True),
            at_BT=torch.arange(4)[None],
        )
        torch.testing.assert_close(y[:, 3 * head : 3 * head + 3].detach(), alone[0, 0])


def test_the_first_causal_step_sees_itself_only() -> None:
    mixer = SelfAttention(PARAMETER_FREE, 2, causal=True).double()
    x = numbers((0.3, -1.0), (2.0, 0.1), (0.4, 0.4))
    y, _ = mixer(x[None], Padded.whole(1, 3))
    torch.testing.assert_close(y[0, 0], x[0])
    weights_TT = mixer.weights(x[None], Padded.whole(1, 3))[0, 0]
    assert (weights_TT.triu(1) == 0).all()
    assert (weights_TT.tril() > 0).sum() == 6
