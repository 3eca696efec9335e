"""The fading memory: the chunked form is the recurrence, wherever the borders fall."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers import gated_linear
from seqloom.layers.gated_linear import CHUNK, GatedLinear, GatedLinearMixer, fade_chunked, fade_plain
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.paths import only_plain
from tests.examples import many

B, H, K, V = 2, 2, 3, 4


def parts(steps: int, seed: int = 0) -> tuple[Tensor, ...]:
    """q, k, v, the log of the decay, and a memory to begin with."""
    g = torch.Generator().manual_seed(seed)
    shapes = [(B, steps, H, K), (B, steps, H, K), (B, steps, H, V), (B, steps, H), (B, H, K, V)]
    q, k, v, fade, memory = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes)
    return q, k, v, -fade.abs() / 4, memory


def same(steps: int, new_BT: Tensor | None, seed: int = 0) -> None:
    q, k, v, fade, memory = parts(steps, seed)
    y, after = fade_chunked(q, k, v, fade, memory, new_BT)
    plain_y, plain_after = fade_plain(q, k, v, fade, memory, new_BT)
    torch.testing.assert_close(y, plain_y, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(after, plain_after, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("steps", [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1, 200])
def test_around_the_borders_of_chunks(steps: int) -> None:
    same(steps, None)


@many
@given(
    chunk=st.integers(1, 4),
    segment=st.integers(1, 3),
    steps=st.integers(0, 30),
    starts=st.none() | st.lists(st.lists(st.booleans(), min_size=30, max_size=30), min_size=B, max_size=B),
    seed=st.integers(0, 99),
)
def test_any_chunk_and_segment(
    chunk: int, segment: int, steps: int, starts: list[list[bool]] | None, seed: int
) -> None:
    """Sequences may begin anywhere, several of them within one chunk, and span several segments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gated_linear, "CHUNK", chunk)
        patch.setattr(gated_linear, "SEGMENT", segment)
        same(steps, None if starts is None else torch.tensor(starts)[:, :steps], seed)


def test_the_recurrence_itself() -> None:
    """S_t = a_t·S_{t-1} + k_t v_tᵀ, y_t = S_tᵀ q_t, spelled out for one row and one head."""
    q, k, v, fade, memory = parts(5)
    y, after = fade_plain(q, k, v, fade, memory, None)
    S = memory[1, 0].clone()
    for t in range(5):
        S = torch.exp(fade[1, t, 0]) * S + torch.outer(k[1, t, 0], v[1, t, 0])
        torch.testing.assert_close(y[1, t, 0], S.T @ q[1, t, 0])
    torch.testing.assert_close(after[1, 0], S)


def test_nothing_crosses_from_one_sequence_into_the_next() -> None:
    q, k, v, fade, memory = parts(6)
    new_BT = torch.zeros(B, 6, dtype=torch.bool)
    new_BT[:, 4] = True
    y, after = fade_chunked(q, k, v, fade, memory, new_BT)
    alone, alone_after = fade_plain(*(x[:, 4:] for x in (q, k, v, fade)), torch.zeros_like(memory), None)
    torch.testing.assert_close(y[:, 4:], alone)
    torch.testing.assert_close(after, alone_after)


def test_a_strong_decay_does_not_overflow() -> None:
    q, k, v, fade, memory = parts(CHUNK)
    y, _ = fade_chunked(q, k, v, fade - 60, memory, None)
    assert y.isfinite().all()
    torch.testing.assert_close(y, (q * k).sum(-1, keepdim=True) * v, atol=1e-9, rtol=0)


@pytest.mark.parametrize("causal", [True, False])
@many
@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=4).filter(any),
    filler=st.integers(0, 5),
    chunk=st.integers(1, 5),
    segment=st.integers(1, 3),
)
def test_packed_rows_do_not_know_each_other(
    causal: bool, lengths: list[int], filler: int, chunk: int, segment: int
) -> None:
    torch.manual_seed(0)
    mixer = GatedLinearMixer(GatedLinear(heads=2), 8, causal).double()
    x = torch.randn(sum(lengths), 8).double()
    layout = Packed.of(lengths, tokens=sum(lengths) + filler) if filler else Packed.of(lengths)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(gated_linear, "CHUNK", chunk)
        patch.setattr(gated_linear, "SEGMENT", segment)
        y = mixer(torch.cat((x, torch.full((filler, 8), 100.0).double())), layout)[0][: sum(lengths)]
        with only_plain():
            rows = [mixer(row[None], Padded.whole(1, len(row)))[0][0] for row in x.split(lengths) if len(row)]
    torch.testing.assert_close(y, torch.cat(rows), atol=1e-9, rtol=1e-9)


def test_the_whole_layer_spelled_out() -> None:
    torch.manual_seed(1)
    mixer = GatedLinearMixer(GatedLinear(heads=2, key_width=3), 8, causal=True).double()
    with torch.no_grad():
        assert mixer.norm.gain_D is not None
        mixer.norm.gain_D.uniform_(0.5, 1.5)
    x = torch.randn(5, 8).double()
    q, k, v, gate, decay = mixer.ahead.inputs(x).split([6, 6, 8, 8, 2], -1)
    a = torch.sigmoid(decay + mixer.ahead.decay_H) ** (1 / 16)
    expected = []
    S = torch.zeros(2, 3, 4).double()
    for t in range(5):
        heads = []
        for h in range(2):
            S[h] = a[t, h] * S[h] + torch.outer(k[t, 3 * h : 3 * h + 3], v[t, 4 * h : 4 * h + 4])
            y = S[h].T @ (q[t, 3 * h : 3 * h + 3] / 3**0.5)
            y = y / (y.square().mean() + 1e-5).sqrt() * mixer.norm.gain_D
            heads.append(y * F.silu(gate[t, 4 * h : 4 * h + 4]))
        expected.append(torch.cat(heads))
        S = S.detach().clone()
    ours, _ = mixer(x, Packed.of([5]))
    torch.testing.assert_close(ours, torch.stack(expected) @ mixer.out.weight.T)


def test_key_widths() -> None:
    assert GatedLinear(heads=2).widths(8) == (2, 4)
    assert GatedLinear(heads=2, key_width=7).widths(8) == (7, 4)
    assert GatedLinear(heads=8).widths(8) == (1, 1)
