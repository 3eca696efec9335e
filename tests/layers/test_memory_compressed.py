"""Memory-compressed attention: a strided convolution of keys and values, and attention over what is left."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers.layout import Packed, Padded
from seqloom.layers.memory_compressed import MemoryCompressed, MemoryCompressedAttention
from seqloom.layers.mixer import join
from seqloom.layers.paths import only_plain
from tests.layers.largest import largest

WIDTH, H, K = 8, 2, 4


def built(factor: int, causal: bool) -> MemoryCompressedAttention:
    torch.manual_seed(factor)
    return MemoryCompressedAttention(MemoryCompressed(heads=H, factor=factor), WIDTH, causal).double().eval()


def by_hand(mixer: MemoryCompressedAttention, x: Tensor, causal: bool) -> Tensor:
    """One sequence: F.conv1d with stride = kernel = factor, then attention in full."""
    factor, T = mixer.factor, len(x)
    q, k, v = (part.flatten(-2) for part in mixer.heads.of_itself(x))
    fill = -T % factor
    short = []
    for part, squeeze in (k, mixer.squeeze_k), (v, mixer.squeeze_v):
        # a linear map over `factor` steps side by side is a kernel with one tap for each of them
        kernel = squeeze.weight.unflatten(1, (factor, WIDTH)).transpose(1, 2)
        short.append(F.conv1d(F.pad(part.T, (0, fill)), kernel, squeeze.bias, stride=factor).T)
    q_HTK, k_HCK, v_HCK = (part.unflatten(-1, (H, K)).transpose(0, 1) for part in (q, *short))
    scores = q_HTK @ k_HCK.transpose(1, 2) / K**0.5
    y_HTK = torch.zeros(H, T, K).double()
    for t in range(T):
        seen = (t + 1) // factor if causal else scores.shape[-1]
        if seen:
            y_HTK[:, t] = (scores[:, t, None, :seen].softmax(-1) @ v_HCK[:, :seen])[:, 0]
    assert mixer.heads.out is not None
    return mixer.heads.out(y_HTK.transpose(0, 1).flatten(-2))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("factor", [1, 2, 3, 4])
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=3).filter(any))
def test_against_a_strided_convolution(factor: int, causal: bool, lengths: list[int]) -> None:
    mixer = built(factor, causal)
    x = torch.randn(sum(lengths), WIDTH, generator=torch.Generator().manual_seed(1)).double()
    y, _ = mixer(x, Packed.of(lengths))
    expected = [by_hand(mixer, row, causal) for row in x.split(lengths) if len(row)]
    torch.testing.assert_close(y, torch.cat(expected))


def test_the_first_steps_see_nothing_yet() -> None:
    mixer = built(3, causal=True)
    x = torch.randn(5, WIDTH).double().requires_grad_()
    y, _ = mixer(x, Packed.of([5]))
    assert mixer.heads.out is not None
    torch.testing.assert_close(y[:2], mixer.heads.out.bias.expand(2, -1))
    assert (y[2] != mixer.heads.out.bias).any()
    assert torch.autograd.grad(y.square().sum(), x)[0].isfinite().all()
    weights = mixer.weights(x, Packed.of([5]))
    assert weights.shape == (1, H, 5, 2)
    assert (weights[0, :, :2] == 0).all()
    assert (weights[0, :, 2:, 0] == 1).all()


def test_steps_wait_until_their_group_is_whole() -> None:
    mixer = built(3, causal=True)
    x = torch.randn(1, 8, WIDTH).double()
    state = mixer.start(1)
    groups = []
    for t in range(8):
        _, after = mixer(x[:, t : t + 1], Padded.whole(1, 1), state)
        assert after is not None
        state = after
        groups.append(state.cache.lengths_B.item())
    assert groups == [0, 0, 1, 1, 1, 2, 2, 2]
    assert state.lengths_B.item() == 8
    kv = torch.cat([part.flatten(-2) for part in mixer.heads.of_itself(x)[1:]], -1)
    torch.testing.assert_close(state.pending_BFC, kv[:, 6:])


def test_weights_on_demand_are_those_of_the_fast_path() -> None:
    mixer = built(2, causal=False)
    x, layout = torch.randn(9, WIDTH).double(), Packed.of([5, 4])
    weights = mixer.weights(x, layout)
    assert weights.shape == (2, H, 5, 3)
    assert (weights[1, :, :, 2] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, H, 5).double())


@pytest.mark.parametrize("factor", [1, 3])
@pytest.mark.parametrize("stepping", [False, True])
def test_no_mask_grows_with_the_square(factor: int, stepping: bool) -> None:
    """Nor does a prompt's, which is read with a state."""
    mixer = built(factor, causal=True)

    def each_step(steps: int) -> float:
        x = torch.randn(1, steps, WIDTH).double().requires_grad_()
        state = mixer.start(1) if stepping else None
        return largest(lambda: mixer(x, Padded.whole(1, steps), state)[0]) / steps

    assert each_step(1200) == pytest.approx(each_step(300), rel=0.1)
    with only_plain():
        assert each_step(1200) > 3 * each_step(300)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_rows_that_wait_for_their_group_go_on_after_a_join(first: int) -> None:
    """An empty cache does not mean that nothing went before."""
    mixer = built(3, causal=True)
    x = torch.randn(2, 8, WIDTH, generator=torch.Generator().manual_seed(1)).double()
    states = []
    for row in x[:, :first].split(1):
        state = mixer.start(1)
        states.append(mixer(row, Padded.whole(1, first), state)[1] if first else state)
    y, _ = mixer(x[:, first:], Padded.whole(2, 8 - first), join(states))
    torch.testing.assert_close(y, mixer(x, Padded.whole(2, 8))[0][:, first:])
