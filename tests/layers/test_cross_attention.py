"""Attention over a memory: ragged memories, weights on demand, and what it must be given."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.mixers import build_cross

WIDTH = 8


def built(settings: CrossAttention, memory_width: int | None = None) -> MemoryAttention:
    torch.manual_seed(3)
    return MemoryAttention(settings, WIDTH, memory_width).double().eval()


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_against_torchs_own_layer_with_a_memory_of_another_width() -> None:
    mixer = built(CrossAttention(heads=2), memory_width=6)
    theirs = torch.nn.MultiheadAttention(WIDTH, 2, kdim=6, vdim=6, batch_first=True, dtype=torch.float64).eval()
    with torch.no_grad():
        theirs.q_proj_weight.copy_(mixer.heads.q.weight)
        theirs.k_proj_weight.copy_(mixer.heads.kv.weight[:WIDTH])
        theirs.v_proj_weight.copy_(mixer.heads.kv.weight[WIDTH:])
        theirs.in_proj_bias.copy_(torch.cat((mixer.heads.q.bias, mixer.heads.kv.bias)))
        theirs.out_proj.load_state_dict(mixer.heads.out.state_dict())  # type: ignore[union-attr]
    x, memory = random(2, 4, WIDTH), random(2, 5, 6, seed=2)
    state = mixer.start(2, Memory(memory, Padded.of([5, 2])))
    hidden = torch.arange(5) >= torch.tensor([[5], [2]])
    expected, weights = theirs(x, memory, memory, key_padding_mask=hidden, average_attn_weights=False)
    torch.testing.assert_close(mixer(x, Padded.whole(2, 4), state)[0], expected)
    torch.testing.assert_close(mixer.weights(x, Padded.whole(2, 4), state), weights)


def test_the_memory_is_projected_once_and_does_not_change() -> None:
    mixer = built(CrossAttention(heads=2))
    calls: list[int] = []
    mixer.heads.kv.register_forward_hook(lambda *_: calls.append(1))
    state = mixer.start(1, Memory(random(5, WIDTH), Packed.of([5])))
    for step in range(3):
        _, after = mixer(random(1, 1, WIDTH, seed=step), Padded.whole(1, 1), state)
        assert after is state
    assert len(calls) == 1


def test_an_empty_memory_gives_the_output_bias_alone() -> None:
    mixer = built(CrossAttention(heads=2))
    x = random(4, WIDTH).requires_grad_()
    state = mixer.start(2, Memory(random(3, WIDTH), Packed.of([3, 0])))
    y, _ = mixer(x, Packed.of([2, 2]), state)
    assert mixer.heads.out is not None
    torch.testing.assert_close(y[2:], mixer.heads.out.bias.expand(2, -1))
    assert torch.autograd.grad(y.square().sum(), x)[0].isfinite().all()
    assert mixer.weights(x, Packed.of([2, 2]), state)[1].sum() == 0


@torch.no_grad()
def test_who_knows_that_no_memory_is_empty_need_not_look() -> None:
    mixer, x, one = built(CrossAttention(heads=2)), random(2, 1, WIDTH), Padded.whole(2, 1)
    some = mixer.start(2, Memory(random(4, WIDTH), Packed.of([3, 1])))
    none = mixer.start(2, Memory(random(3, WIDTH), Packed.of([3, 0])))
    assert some.filled
    assert not none.filled
    torch.testing.assert_close(mixer(x, one, some)[0], mixer(x, one, replace(some, filled=False))[0])
    assert mixer.heads.out is not None
    torch.testing.assert_close(mixer(x, one, none)[0][1, 0], mixer.heads.out.bias)


@torch.no_grad()
def test_a_padded_memory_is_projected_without_its_padding() -> None:
    mixer, seen = built(CrossAttention(heads=2)), list[torch.Size]()
    mixer.heads.kv.register_forward_hook(lambda _, given, out: seen.append(out.shape[:-1]))
    memory = Memory(random(6, WIDTH), Packed.of([5, 1]))
    state, padded = mixer.start(2, memory), mixer.start(2, memory.padded())
    assert seen == [(6,), (6,)]
    assert torch.equal(state.keys_AGSK, padded.keys_AGSK)
    assert torch.equal(state.values_AGSK, padded.values_AGSK)


def test_what_it_needs() -> None:
    mixer = built(CrossAttention(heads=2))
    with pytest.raises(ValueError, match="attention over a memory needs a memory to start from"):
        mixer.start(2)
    with pytest.raises(ValueError, match="attention over a memory needs the state that `start` makes from it"):
        mixer(random(2, WIDTH), Packed.of([2]))


def test_faults_are_told_when_it_is_built() -> None:
    with pytest.raises(
        ValueError,
        match=r"^attention\.heads: width 8 cannot be split into 3 heads of equal width; 2 would do, or width 6$",
    ):
        build_cross(CrossAttention(heads=3), WIDTH)
