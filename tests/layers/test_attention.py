"""Self-attention as a layer: structure, weights on demand, dropout, shared and normed heads."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers.attend import share
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.layout import Packed, Padded, with_structure
from seqloom.layers.mixers import build_mixer
from seqloom.layers.paths import only_plain
from seqloom.layers.positions import T5, Alibi, Music, Rotary, Shaw
from tests.layers.largest import largest

WIDTH = 8


def built(settings: Attention, causal: bool = False, seed: int = 0) -> SelfAttention:
    torch.manual_seed(seed)
    mixer = build_mixer(settings, WIDTH, causal)
    assert isinstance(mixer, SelfAttention)
    return mixer.double().eval()


def inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, WIDTH, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


EDGES = torch.tensor([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)  # a path and one alone


def test_a_graphs_edges() -> None:
    """Each node reads its neighbours only; a node without any reads nothing, and makes no NaN."""
    mixer = built(Attention(heads=2, output=False))
    x = inputs(4).requires_grad_()
    layout = with_structure(Packed.of([4]), EDGES[None])
    y, _ = mixer(x, layout)
    _, _, v = mixer.heads.of_itself(x)
    torch.testing.assert_close(y[0], v[1].flatten())  # its only neighbour, with weight 1
    torch.testing.assert_close(y[2], v[1].flatten())
    assert (y[3] == 0).all()
    weights_HTT = mixer.weights(x, layout)[0]
    assert torch.equal(weights_HTT > 0, EDGES.expand(2, -1, -1))
    grads = torch.autograd.grad(y.square().sum(), [x, *mixer.parameters()])
    assert all(grad.isfinite().all() for grad in grads)
    assert (grads[0][3] == 0).all()


def test_a_far_node_changes_nothing_in_one_layer() -> None:
    mixer, x = built(Attention(heads=2)), inputs(4)
    layout = with_structure(Packed.of([4]), EDGES[None])
    before, _ = mixer(x, layout)
    x[2] += 5
    after, _ = mixer(x, layout)
    changed = ((after - before).abs() > 1e-12).any(-1)
    assert changed.tolist() == [False, True, False, False]


def test_structures_of_unequal_graphs() -> None:
    """A batch of two graphs gives what each gives alone, whatever the structure says of padding."""
    mixer, x = built(Attention(heads=2)), inputs(6)
    both = torch.ones(2, 4, 4, dtype=torch.bool)
    both[0], both[1, :2, :2] = EDGES, torch.tensor([[True, True], [False, True]])
    together, _ = mixer(x, with_structure(Packed.of([4, 2]), both))
    one, _ = mixer(x[:4], with_structure(Packed.of([4]), both[:1]))
    other, _ = mixer(x[None, 4:], with_structure(Padded.of([2]), both[1:, :2, :2]))
    torch.testing.assert_close(together, torch.cat((one, other[0])))


def test_a_structure_and_a_window_both_hold() -> None:
    mixer, x = built(Attention(heads=1, window=2)), inputs(7)
    structure = torch.ones(1, 7, 7, dtype=torch.bool)
    structure[0, :, 3] = False
    weights_TT = mixer.weights(x, with_structure(Packed.of([7]), structure))[0, 0]
    away = (torch.arange(7) - torch.arange(7)[:, None]).abs()
    assert torch.equal(weights_TT > 0, (away < 2) & structure[0])
    y, _ = mixer(x, with_structure(Packed.of([7]), structure))
    changed = x.clone()
    changed[3] += 3
    z, _ = mixer(changed, with_structure(Packed.of([7]), structure))
    torch.testing.assert_close(y[[0, 1, 2, 4, 5, 6]], z[[0, 1, 2, 4, 5, 6]])


def test_a_structure_cannot_go_step_by_step() -> None:
    mixer = built(Attention(heads=2), causal=True)
    with pytest.raises(ValueError, match="a structure says who sees whom in a whole sequence"):
        mixer(inputs(4), with_structure(Packed.of([4]), EDGES[None]), mixer.start(1))


def test_what_is_not_causal_has_no_state() -> None:
    mixer = built(Attention(heads=2))
    with pytest.raises(ValueError, match="this SelfAttention is not causal: it reads whole sequences and has no state"):
        mixer(inputs(4), Packed.of([4]), mixer.start(1))


ALL_KINDS = [
    Attention(heads=2, output=False),
    Attention(heads=2, output=False, score="dot"),
    Attention(heads=2, output=False, score="multiplicative"),
    Attention(heads=2, output=False, score="additive"),
    Attention(heads=4, key_heads=2, output=False),
    Attention(heads=2, output=False, window=2),
    Attention(heads=2, output=False, block=3),
    Attention(heads=2, output=False, qk_norm=True),
    Attention(heads=2, output=False, relative=Music(distance=3)),
    Attention(heads=2, output=False, relative=T5(buckets=4, distance=5)),
    Attention(heads=2, output=False, relative=Alibi()),
    Attention(heads=2, output=False, relative=Rotary()),
    Attention(heads=2, output=False, relative=Shaw(distance=2, values=False)),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("settings", ALL_KINDS, ids=lambda s: s.model_dump_json(exclude_defaults=True))
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=3).filter(any))
def test_weights_on_demand_are_those_of_the_fast_path(settings: Attention, causal: bool, lengths: list[int]) -> None:
    """The values, averaged by them, are the output."""
    mixer, layout = built(settings, causal), Packed.of(lengths)
    x = inputs(sum(lengths))
    y, _ = mixer(x, layout)
    weights_BHTT = mixer.weights(x, layout)
    v_BHTK = share(layout.pad(mixer.heads.of_itself(x)[2]).transpose(1, 2), settings.heads)
    again = layout.unpad((weights_BHTT @ v_BHTK).transpose(1, 2)).flatten(-2)
    torch.testing.assert_close(again, y)
    real_BT = layout.real_BT
    sums_BHT = weights_BHTT.sum(-1).transpose(1, 2)[real_BT]
    torch.testing.assert_close(sums_BHT, torch.ones_like(sums_BHT))


def test_weights_on_demand_while_going_on() -> None:
    mixer, x = built(Attention(heads=2), causal=True), inputs(1, 5)
    whole = mixer.weights(x, Padded.whole(1, 5))
    _, state = mixer(x[:, :3], Padded.whole(1, 3), mixer.start(1))
    torch.testing.assert_close(mixer.weights(x[:, 3:], Padded.whole(1, 2), state), whole[:, :, 3:])


def test_dropout_is_off_when_not_training() -> None:
    mixer, x = built(Attention(heads=2, dropout=0.5)), inputs(5)
    layout = Packed.of([5])
    sober, _ = mixer(x, layout)
    assert torch.equal(mixer(x, layout)[0], sober)
    mixer.train()
    torch.manual_seed(1)
    one, other = mixer(x, layout)[0], mixer(x, layout)[0]
    assert not torch.equal(one, other)
    torch.testing.assert_close(
        torch.stack([mixer(x, layout)[0] for _ in range(3000)]).mean(0), sober, atol=0.06, rtol=0
    )
    torch.testing.assert_close(mixer.weights(x, layout), mixer.eval().weights(x, layout))


def test_one_set_of_keys_for_all_queries() -> None:
    """Multi-query attention is attention whose heads have equal keys and values."""
    few = built(Attention(heads=4, key_heads=1))
    many = built(Attention(heads=4))
    q_size, K = WIDTH, WIDTH // 4
    with torch.no_grad():
        for name in "weight", "bias":
            shared, own = getattr(few.heads.qkv, name), getattr(many.heads.qkv, name)
            own[:q_size] = shared[:q_size]
            for head in range(4):
                own[q_size + head * K : q_size + (head + 1) * K] = shared[q_size : q_size + K]
                own[2 * q_size + head * K : 2 * q_size + (head + 1) * K] = shared[q_size + K :]
        many.heads.out.load_state_dict(few.heads.out.state_dict())
    x, layout = inputs(5), Packed.of([3, 2])
    torch.testing.assert_close(few(x, layout)[0], many(x, layout)[0])


def test_heads_wider_than_their_share() -> None:
    mixer = built(Attention(heads=2, head_width=7))
    assert mixer.heads.qkv.weight.shape == (3 * 14, WIDTH)
    assert mixer.heads.out is not None
    assert mixer.heads.out.weight.shape == (WIDTH, 14)
    assert mixer(inputs(3), Packed.of([3]))[0].shape == (3, WIDTH)


@pytest.mark.parametrize(
    ("bias", "output_bias", "inner", "outer"),
    [(True, None, True, True), (False, None, False, False), (True, False, True, False), (False, True, False, True)],
)
def test_biases_within_and_behind(bias: bool, output_bias: bool | None, inner: bool, outer: bool) -> None:
    heads = built(Attention(heads=2, bias=bias, output_bias=output_bias)).heads
    assert (heads.qkv.bias is not None) == inner
    assert heads.out is not None
    assert (heads.out.bias is not None) == outer


def test_normed_queries_and_keys() -> None:
    mixer, x = built(Attention(heads=2, qk_norm=True)), inputs(5)
    with torch.no_grad():
        mixer.heads.q_norm.gain_D.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))  # type: ignore[union-attr]
    q, k, v = mixer.heads.of_itself(x)
    plain = mixer.heads.qkv(x).unflatten(-1, (3, 2, 4)).unbind(1)
    gain = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    roots = [(part.square().mean(-1, keepdim=True) + 1e-6).sqrt() for part in plain]
    torch.testing.assert_close(q, plain[0] / roots[0] * gain)
    torch.testing.assert_close(k, plain[1] / roots[1])
    torch.testing.assert_close(v, plain[2])


def test_activation_of_the_projections() -> None:
    mixer, x = built(Attention(heads=2, activation="tanh")), inputs(5)
    plain = mixer.heads.qkv(x).unflatten(-1, (3, 2, 4)).unbind(1)
    for part, linear in zip(mixer.heads.of_itself(x), plain, strict=True):
        torch.testing.assert_close(part, torch.tanh(linear))


def test_against_torchs_own_layer() -> None:
    mixer, x = built(Attention(heads=2)), inputs(2, 5)
    lengths = torch.tensor([5, 3])
    theirs = torch.nn.MultiheadAttention(WIDTH, 2, batch_first=True, dtype=torch.float64).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(mixer.heads.qkv.weight)
        theirs.in_proj_bias.copy_(mixer.heads.qkv.bias)
        theirs.out_proj.load_state_dict(mixer.heads.out.state_dict())  # type: ignore[union-attr]
    padding = torch.arange(5) >= lengths[:, None]
    expected, weights = theirs(x, x, x, key_padding_mask=padding, average_attn_weights=False)
    layout = Padded.of(lengths)
    torch.testing.assert_close(mixer(x, layout)[0][~padding], expected[~padding])
    real = ~padding[:, None, :, None]
    torch.testing.assert_close(mixer.weights(x, layout) * real, weights * real)


def test_the_kernel_gets_no_mask_when_none_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Causal batches, padded or not, must take the kernel's own causal form: it skips half of the work.

    Without gradients: with them, short rows on a CPU are multiplied without the kernel.
    """
    asked: list[tuple[Tensor | None, bool]] = []
    kernel = F.scaled_dot_product_attention

    def watched(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float, causal: bool, **rest: Any
    ) -> Tensor:
        asked.append((mask, causal))
        return kernel(q, k, v, mask, dropout, causal, **rest)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    causal, free = built(Attention(heads=2), causal=True), built(Attention(heads=2))
    with torch.no_grad():
        causal(inputs(5), Packed.of([3, 2]))
        causal(inputs(2, 5), Padded.of([5, 3]))
        free(inputs(4), Packed.of([2, 2]))
        assert asked == [(None, True), (None, True), (None, False)]
        free(inputs(5), Packed.of([3, 2]))
    assert asked[-1][0] is not None


@pytest.mark.parametrize("stepping", [False, True])
def test_blocks_take_memory_in_proportion(stepping: bool) -> None:
    """Blocks are rows of their own: neither training nor reading a prompt makes a mask of all pairs."""
    mixer = SelfAttention(Attention(heads=2, block=16), 8, causal=True)

    def each_step(steps: int) -> float:
        x = torch.randn(1, steps, 8).requires_grad_()
        state = mixer.start(1) if stepping else None
        return largest(lambda: mixer(x, Padded.whole(1, steps), state)[0]) / steps

    assert each_step(1280) == pytest.approx(each_step(320), rel=0.1)
    with only_plain():
        assert each_step(1280) > 3 * each_step(320)


@pytest.mark.parametrize("block", [1, 3, 4, 20])
def test_blocks_are_the_masked_square(block: int) -> None:
    mixer = SelfAttention(Attention(heads=2, block=block), 8, causal=True).double()
    layout = Packed.of([11, 3, 1])
    x = torch.randn(15, 8).double()
    with only_plain():
        wanted, _ = mixer(x, layout)
    torch.testing.assert_close(mixer(x, layout)[0], wanted)
    state = mixer.start(1)
    whole, state = mixer(x[None, :11], Padded.whole(1, 11), state)
    torch.testing.assert_close(whole[0], wanted[:11])
