"""The scores, for several heads, against their formulas."""

import math

import pytest
import torch
from torch import Tensor

from seqloom.layers.scores import AdditiveScore, DotScore, MultiplicativeScore, Score, ScoreName, build_score

B, H, T, S, K, J = 2, 4, 3, 5, 6, 7


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def scored(score: Score, q: Tensor, k: Tensor) -> Tensor:
    return score.compare(score.query(q), score.key(k)).detach()


def test_dot_and_scaled_dot() -> None:
    q, k = random(B, H, T, K, seed=1), random(B, H, S, K, seed=2)
    products = torch.einsum("bhtk,bhsk->bhts", q, k)
    torch.testing.assert_close(scored(DotScore(K, scaled=False), q, k), products)
    torch.testing.assert_close(scored(DotScore(K, scaled=True), q, k), products / math.sqrt(K))


def test_multiplicative_has_a_matrix_a_head() -> None:
    torch.manual_seed(0)
    score = MultiplicativeScore(H, K, J).double()
    q, k = random(B, H, T, K, seed=1), random(B, H, S, J, seed=2)
    expected = torch.einsum("bhtk,hkj,bhsj->bhts", q, score.weight_HKJ.detach(), k)
    torch.testing.assert_close(scored(score, q, k), expected)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_additive_with_shared_keys(groups: int) -> None:
    """Grouped keys are prepared once a group, then shared."""
    torch.manual_seed(0)
    score = AdditiveScore(H, groups, K, J).double()
    with torch.no_grad():
        score.bias_HA.uniform_(-1, 1)
    q, k = random(B, H, T, K, seed=1), random(B, groups, S, J, seed=2)
    prepared = score.key(k).repeat_interleave(H // groups, 1)
    ours = score.compare(score.query(q), prepared)
    for head in range(H):
        group = head // (H // groups)
        hidden = torch.tanh(
            (q[:, head] @ score.query_HKA[head])[:, :, None]
            + (k[:, group] @ score.key_GJA[group])[:, None]
            + score.bias_HA[head]
        )
        torch.testing.assert_close(ours[:, head], hidden @ score.out_HA[head])


@pytest.mark.parametrize(
    ("name", "scale", "parameters"),
    [
        ("dot", 1.0, 0),
        ("scaled-dot", K**-0.5, 0),
        ("multiplicative", 1.0, H * K * J),
        ("additive", None, H * K * J + 2 * J * J + 2 * H * J),
        ("leaky-additive", None, H * K + 2 * J),
    ],
)
def test_built_by_name(name: ScoreName, scale: float | None, parameters: int) -> None:
    score = build_score(name, H, 2, K, J)
    assert score.scale == scale
    assert sum(p.numel() for p in score.parameters()) == parameters


@pytest.mark.parametrize("name", ["multiplicative", "additive", "leaky-additive"])
def test_first_scores_are_neither_huge_nor_tiny(name: ScoreName) -> None:
    """Before training, queries and keys of variance 1 should neither freeze the softmax nor leave it flat."""
    torch.manual_seed(0)
    score = build_score(name, 1, 1, 64, 64)
    spread = score.compare(score.query(torch.randn(1, 1, 50, 64)), score.key(torch.randn(1, 1, 50, 64))).std().item()
    assert 0.3 < spread < 10
