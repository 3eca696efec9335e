"""Blocks one upon the other: per-layer lists, the last norm, shared tables, reports."""

import pytest
import torch

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.convolution import Convolution, ConvolutionMixer
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.dense import Dense
from seqloom.layers.experts import Experts, MixtureOfExperts
from seqloom.layers.feed_forward import NoFeedForward
from seqloom.layers.layout import Packed
from seqloom.layers.mixers import NoCross
from seqloom.layers.norms import LayerNorm, NoNorm
from seqloom.layers.positions import T5, Shaw
from seqloom.models.block import Block
from seqloom.models.stack import Stack
from seqloom.models.stack_settings import StackSettings

WIDTH = 8


def blocks(stack: Stack) -> list[Block]:
    return [block for block in stack.blocks if isinstance(block, Block)]


def test_lists_are_repeated_to_fill_the_depth() -> None:
    settings = StackSettings(
        depth=4,
        mixer=(Attention(heads=2), Convolution()),
        cross=(CrossAttention(heads=2), NoCross(), NoCross(), NoCross()),
        feed_forward=(NoFeedForward(), Dense(width=3)),
    )
    built = blocks(Stack(settings, WIDTH, causal=True, crosses=True))
    assert [type(block.mixer) for block in built] == [SelfAttention, ConvolutionMixer] * 2
    assert [type(block.cross) for block in built] == [MemoryAttention] + [type(None)] * 3
    assert [block.feed_forward is None for block in built] == [True, False, True, False]


def test_only_a_decoder_crosses() -> None:
    settings = StackSettings(depth=2, mixer=Attention(heads=2))
    assert all(block.cross is None for block in blocks(Stack(settings, WIDTH, causal=False)))
    assert all(block.cross is not None for block in blocks(Stack(settings, WIDTH, causal=True, crosses=True)))


@pytest.mark.parametrize(("norm", "ends"), [(LayerNorm(), True), (LayerNorm(place="post"), False), (NoNorm(), False)])
def test_the_last_norm(norm: LayerNorm | NoNorm, ends: bool) -> None:
    stack = Stack(StackSettings(depth=1, mixer=Attention(heads=2), norm=norm), WIDTH, causal=False)
    assert (stack.norm is not None) == ends
    y, _, _ = stack(torch.randn(3, WIDTH), Packed.of([3]))
    centred = torch.allclose(y.mean(-1), torch.zeros(3), atol=1e-5)
    assert centred == (ends or norm.place == "post")


def test_no_layers() -> None:
    stack = Stack(StackSettings(depth=0, norm=NoNorm()), WIDTH, causal=True)
    x = torch.randn(3, WIDTH)
    y, state, report = stack(x, Packed.of([3]), stack.start(1))
    assert torch.equal(y, x)
    assert state == ()
    assert report is None


def tables(stack: Stack) -> set[int]:
    return {id(block.mixer.relative) for block in blocks(stack) if isinstance(block.mixer, SelfAttention)}


def test_t5_shares_one_table_and_others_do_not() -> None:
    shared = StackSettings(depth=3, mixer=Attention(heads=2, relative=T5(buckets=8)))
    own = StackSettings(depth=3, mixer=Attention(heads=2, relative=T5(buckets=8, shared=False)))
    shaw = StackSettings(depth=3, mixer=Attention(heads=2, relative=Shaw()))
    assert len(tables(Stack(shared, WIDTH, causal=False))) == 1
    assert len(tables(Stack(own, WIDTH, causal=False))) == 3
    assert len(tables(Stack(shaw, WIDTH, causal=False))) == 3


def test_layers_that_ask_for_unlike_tables_have_their_own() -> None:
    mixers = (
        Attention(heads=2, relative=T5(buckets=8)),
        Attention(heads=4, relative=T5(buckets=8)),
        Attention(heads=2, relative=T5(buckets=16)),
        Attention(heads=2, relative=T5(buckets=8)),
    )
    stack = Stack(StackSettings(depth=4, mixer=mixers), WIDTH, causal=False)
    assert len(tables(stack)) == 3
    assert sum(name.endswith("table_MH") for name, _ in stack.named_parameters()) == 3
    first, last = blocks(stack)[0].mixer, blocks(stack)[3].mixer
    assert isinstance(first, SelfAttention)
    assert isinstance(last, SelfAttention)
    assert first.relative is last.relative


def test_reports_of_all_layers_are_added() -> None:
    torch.manual_seed(0)
    settings = StackSettings(
        depth=3, mixer=Attention(heads=2), feed_forward=(Experts(experts=4), Dense(), Experts(experts=4))
    )
    stack = Stack(settings, WIDTH, causal=False).eval()
    seen = []
    for block in blocks(stack):
        if block.feed_forward is not None and isinstance(block.feed_forward.layer, MixtureOfExperts):
            block.feed_forward.layer.register_forward_hook(lambda _, __, result: seen.append(result[1]))
    _, _, report = stack(torch.randn(5, WIDTH), Packed.of([5]))
    assert len(seen) == 2
    torch.testing.assert_close(report.loss, seen[0].loss + seen[1].loss)
    assert report.routed == 20
    assert [load_E.tolist() for load_E in report.loads] == [each.loads[0].tolist() for each in seen]


@pytest.mark.parametrize("other", [2, 1])
def test_layers_with_unlike_numbers_of_experts(other: int) -> None:
    feed_forward = (Experts(experts=4), Experts(experts=other, active=1))
    stack = Stack(StackSettings(depth=2, mixer=Attention(heads=2), feed_forward=feed_forward), WIDTH, causal=False)
    _, _, report = stack(torch.randn(5, WIDTH), Packed.of([5]))
    assert report.routed == 15
    assert [(len(load_E), load_E.sum()) for load_E in report.loads] == [(4, 10), (other, 5)]
