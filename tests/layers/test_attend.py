"""Attention itself: the near path, rows that see nothing, dropout, and grouped heads."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers import attend as module
from seqloom.layers.attend import attend, attention_weights, share
from seqloom.layers.masks import Sight
from seqloom.layers.paths import only_plain
from seqloom.layers.positions import Alibi, Music, Shaw, build_relative
from seqloom.layers.scores import AdditiveScore, DotScore, Score
from tests.examples import many

SCALED = DotScore(4, scaled=True)


def heads(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def both_paths(q: Tensor, k: Tensor, v: Tensor, sight: Sight, score: Score = SCALED) -> tuple[Tensor, Tensor]:
    at_BT = torch.arange(q.shape[2])[None]
    fast = attend(q, k, v, score=score, sight=sight, at_BT=at_BT)
    with only_plain():
        return fast, attend(q, k, v, score=score, sight=sight, at_BT=at_BT)


@many
@given(
    span=st.integers(1, 9),
    steps=st.integers(1, 60),
    causal=st.booleans(),
    windowed=st.booleans(),
    lengths=st.none() | st.lists(st.floats(0, 1), min_size=2, max_size=2),
    grouped=st.booleans(),
)
def test_near_is_masked(
    span: int, steps: int, causal: bool, windowed: bool, lengths: list[float] | None, grouped: bool
) -> None:
    q = heads(2, 4, steps, 4, seed=1)
    k, v = (heads(2, 2 if grouped else 4, steps, 4, seed=seed) for seed in (2, 3))
    ends_B = None if lengths is None else torch.tensor([round(part * steps) for part in lengths])
    sight = Sight(
        causal=causal,
        window=span if windowed else None,
        block=None if windowed else span,
        lengths_B=ends_B,
        from_start=True,
    )
    fast, plain = both_paths(q, k, v, sight)
    torch.testing.assert_close(fast, plain)


@pytest.mark.parametrize(
    ("steps", "taken"), [(10, False), (11, True), (12, True), (64, True)], ids=["2·5", "2·5 + 1", "2·5 + 2", "long"]
)
def test_when_the_near_path_is_taken(monkeypatch: pytest.MonkeyPatch, steps: int, taken: bool) -> None:
    calls: list[int] = []
    near = module._attend_near

    def watched(*args: object) -> Tensor:
        calls.append(1)
        return near(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_attend_near", watched)
    x = heads(1, 1, steps, 4)
    fast, plain = both_paths(x, x, x, Sight(window=5, from_start=True))
    torch.testing.assert_close(fast, plain)
    assert bool(calls) == taken


def test_near_in_half_precision_counts_right() -> None:
    """bfloat16 cannot tell step 1000 from 1001; steps must not be counted in it."""
    q, k, v = (heads(1, 1, 1001, 4, seed=seed).bfloat16() for seed in range(3))
    fast, plain = both_paths(q, k, v, Sight(causal=True, window=3, from_start=True))
    torch.testing.assert_close(fast, plain, atol=0.03, rtol=0.03)


@pytest.mark.parametrize("path", ["fast", "plain"])
@pytest.mark.parametrize("score", [SCALED, AdditiveScore(2, 2, 4, 4).double()], ids=["scaled-dot", "additive"])
def test_rows_that_see_nothing(path: str, score: Score) -> None:
    q, k, v = (heads(2, 2, 3, 4, seed=seed).requires_grad_() for seed in range(3))
    see_BTS = torch.ones(2, 3, 3, dtype=torch.bool)
    see_BTS[0, 1] = see_BTS[1] = False

    def run() -> Tensor:
        return attend(q, k, v, score=score, sight=Sight(structure_BTS=see_BTS), at_BT=torch.arange(3)[None])

    if path == "fast":
        y = run()
    else:
        with only_plain():
            y = run()
    assert (y[0, :, 1] == 0).all()
    assert (y[1] == 0).all()
    assert (y[0, :, 0] != 0).all()
    grads = torch.autograd.grad(y.square().sum() + y.sum(), (q, k, v))
    assert all(grad.isfinite().all() for grad in grads)
    assert (grads[0][0, :, 1] == 0).all()
    assert all((grad[1] == 0).all() for grad in grads)
    assert (grads[1][0] != 0).any()


@pytest.mark.parametrize("causal", [False, True])
def test_rows_that_see_nothing_on_the_near_path(causal: bool) -> None:
    """A row of length 0 beside a long one; and steps whose whole window is padding."""
    q, k, v = (heads(2, 2, 20, 4, seed=seed).requires_grad_() for seed in range(3))
    sight = Sight(window=2, causal=causal, lengths_B=torch.tensor([20, 0]), from_start=True)
    y = attend(q, k, v, score=SCALED, sight=sight, at_BT=torch.arange(20)[None])
    assert (y[1] == 0).all()
    assert (y[0] != 0).any()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(y.square().sum(), (q, k, v)))


def test_weights_of_rows_that_see_nothing() -> None:
    see_BTS = torch.tensor([[[True, True], [False, False]]])
    w = attention_weights(heads(1, 1, 2, 4), heads(1, 1, 2, 4, seed=1), SCALED, see_BTS)
    assert w[0, 0, 1].tolist() == [0, 0]
    assert w[0, 0, 0].sum().item() == pytest.approx(1)


@pytest.mark.parametrize("kind", [Shaw(distance=2), Shaw(distance=2, values=False), Music(distance=3), Alibi()])
def test_a_bias_and_rows_that_see_nothing(kind: Shaw | Music | Alibi) -> None:
    relative = build_relative(kind, 2, 4, causal=False).double()
    q, k, v = (heads(1, 2, 3, 4, seed=seed).requires_grad_() for seed in range(3))
    see = torch.tensor([[[True, True, False], [False] * 3, [True] * 3]])
    y = attend(q, k, v, score=SCALED, sight=Sight(structure_BTS=see), at_BT=torch.arange(3)[None], relative=relative)
    assert (y[0, :, 1] == 0).all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(y.square().sum(), (q, k, v)))


def test_each_key_head_serves_its_group() -> None:
    x = heads(1, 2, 3, 4)
    shared = share(x, 6)
    assert shared.shape == (1, 6, 3, 4)
    for head in range(6):
        assert torch.equal(shared[:, head], x[:, head // 3])
    assert share(x, 2) is x


@pytest.mark.parametrize("path", ["fast", "plain"])
def test_dropout_keeps_the_expectation(path: str) -> None:
    """Weights are dropped and the others grow; on average nothing changes."""
    q, k, v = (heads(1, 1, 2, 4, seed=seed) for seed in range(3))
    sight, at_BT = Sight(), torch.arange(2)[None]
    exact = attend(q, k, v, score=SCALED, sight=sight, at_BT=at_BT)
    many = [x.expand(20_000, -1, -1, -1) for x in (q, k, v)]
    torch.manual_seed(0)
    if path == "fast":
        y = attend(*many, score=SCALED, sight=sight, at_BT=at_BT, dropout=0.25)
    else:
        with only_plain():
            y = attend(*many, score=SCALED, sight=sight, at_BT=at_BT, dropout=0.25)
    assert y.std(0).min() > 0.05
    torch.testing.assert_close(y.mean(0), exact[0], atol=0.03, rtol=0)
    # two keys: each weight is dropped in a quarter of the cases, both in a sixteenth
    assert (y == 0).all(-1).double().mean().item() == pytest.approx(0.0625, abs=0.01)
