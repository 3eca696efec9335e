"""Luong's and Bahdanau's decoders, step by step from their equations."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from seqloom.layers.attentive_recurrence import AttentiveRecurrence, AttentiveRecurrenceMixer, StepAttention
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory

D, S, T = 4, 5, 3


def built(settings: AttentiveRecurrence) -> AttentiveRecurrenceMixer:
    torch.manual_seed(4)
    return AttentiveRecurrenceMixer(settings, D).double().eval()


def source() -> Tensor:
    return torch.randn(S, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def target() -> Tensor:
    return torch.randn(T, D, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def cell_step(mixer: AttentiveRecurrenceMixer, layer: int, x: Tensor, state: Tensor) -> Tensor:
    """An Elman layer: tanh(Wx + Uh + both biases)."""
    W, U, b, c = mixer._cells[layer].weights
    return torch.tanh(W @ x + b + U @ state + c)


def context_of(query: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Attention by plain products: the states, weighted by softmax."""
    weights = (memory @ query).softmax(-1)
    return weights @ memory, weights


@pytest.mark.parametrize("feed", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
def test_luong(feed: bool, depth: int) -> None:
    """h_t from [x_t; the last output]; c_t asked for by h_t; y_t = tanh(W[c_t; h_t])."""
    mixer = built(AttentiveRecurrence(cell="elman", feed=feed, depth=depth, initial="zeros"))
    memory = source()
    state = mixer.start(1, Memory(memory, Packed.of([S])))
    y, _ = mixer(target(), Packed.of([T]), state)
    weights = mixer.weights(target(), Packed.of([T]), state)
    states, fed = [torch.zeros(D).double()] * depth, torch.zeros(D).double()
    for t, x in enumerate(target()):
        h = torch.cat((x, fed)) if feed else x
        for layer in range(depth):
            states[layer] = h = cell_step(mixer, layer, h, states[layer])
        context, asked = context_of(h, memory)
        fed = torch.tanh(mixer.out.weight @ torch.cat((context, h)) + mixer.out.bias)
        torch.testing.assert_close(y[t], fed)
        torch.testing.assert_close(weights[0, 0, t], asked)


def test_bahdanau() -> None:
    """c_t asked for by the last state; h_t from [x_t; c_t]; y_t = tanh(W[h_t; c_t; x_t])."""
    mixer = built(AttentiveRecurrence(form="bahdanau", cell="elman", initial="zeros"))
    memory = source()
    state = mixer.start(1, Memory(memory, Packed.of([S])))
    y, _ = mixer(target(), Packed.of([T]), state)
    weights = mixer.weights(target(), Packed.of([T]), state)
    h = torch.zeros(D).double()
    for t, x in enumerate(target()):
        context, asked = context_of(h, memory)
        h = cell_step(mixer, 0, torch.cat((x, context)), h)
        expected = torch.tanh(mixer.out.weight @ torch.cat((h, context, x)) + mixer.out.bias)
        torch.testing.assert_close(y[t], expected)
        torch.testing.assert_close(weights[0, 0, t], asked)
    torch.testing.assert_close(weights[0, 0, 0], torch.full((S,), 1 / S).double())  # a state of zeros asks everyone


@pytest.mark.parametrize("told", ["first", "all"])
@pytest.mark.parametrize("asks", ["top", "bottom"])
def test_gnmt(asks: Literal["top", "bottom"], told: Literal["first", "all"]) -> None:
    """Wu et al. 2016, section 3.3: the last state of one layer asks; its context is told to the first layer, or to all;
    the third layer adds what it reads; the top state is the output.
    """
    settings = AttentiveRecurrence(
        form="bahdanau", cell="elman", depth=3, asks=asks, told=told, output="state", residual=3, initial="zeros"
    )
    mixer = built(settings)
    memory = source()
    state = mixer.start(1, Memory(memory, Packed.of([S])))
    y, _ = mixer(target(), Packed.of([T]), state)
    weights = mixer.weights(target(), Packed.of([T]), state)
    states = [torch.zeros(D).double()] * 3
    for t, x in enumerate(target()):
        # of GNMT's residual layers the state is what the cell put out, the sum is what goes up
        context, asked = context_of(states[0 if asks == "bottom" else 2], memory)
        beside = [context] if told == "all" else []
        states[0] = cell_step(mixer, 0, torch.cat((x, context)), states[0])
        states[1] = cell_step(mixer, 1, torch.cat((states[0], *beside)), states[1])
        states[2] = cell_step(mixer, 2, torch.cat((states[1], *beside)), states[2])
        torch.testing.assert_close(y[t], states[1] + states[2])
        torch.testing.assert_close(weights[0, 0, t], asked)


def test_each_layer_begins_from_the_memory() -> None:
    mixer = built(AttentiveRecurrence(cell="lstm", depth=2, summary="mean"))
    state = mixer.start(1, Memory(source(), Packed.of([S])))
    for layer, first in enumerate(mixer.firsts):
        expected = torch.tanh(first.out.weight @ source().mean(0) + first.out.bias)
        torch.testing.assert_close(state.layers[layer].hidden_BH[0], expected[:D])
        torch.testing.assert_close(state.layers[layer].cell_BH[0], expected[D:])


def test_weights_of_ragged_rows() -> None:
    settings = AttentiveRecurrence(attention=StepAttention(heads=2, score="additive"))
    mixer = built(settings)
    memory = Memory(torch.randn(7, D).double(), Packed.of([5, 2]))
    x = torch.randn(2, 3, D).double()
    weights = mixer.weights(x, Padded.of([3, 1]), mixer.start(2, memory))
    assert weights.shape == (2, 2, 3, 5)
    assert (weights[1, :, :, 2:] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 3).double())


def test_rows_without_steps_keep_their_state() -> None:
    mixer = built(AttentiveRecurrence())
    memory = Memory(torch.randn(4, D).double(), Packed.of([2, 2]))
    _, before = mixer(torch.randn(2, 2, D).double(), Padded.whole(2, 2), mixer.start(2, memory))
    assert before is not None
    _, after = mixer(torch.randn(2, 1, D).double(), Padded.of([0, 1], 1), before)
    assert after is not None
    assert torch.equal(after.fed_BD[0], before.fed_BD[0])
    assert not torch.equal(after.fed_BD[1], before.fed_BD[1])
    assert torch.equal(after.layers[0].hidden_BH[0], before.layers[0].hidden_BH[0])


def test_what_it_needs() -> None:
    mixer = built(AttentiveRecurrence())
    with pytest.raises(ValueError, match="a recurrent decoder with attention needs a memory to start from"):
        mixer.start(1)
    with pytest.raises(ValueError, match="needs the state that `start` makes from a memory"):
        mixer(target(), Packed.of([T]))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (AttentiveRecurrence(form="bahdanau", feed=False), "feed"),
        (AttentiveRecurrence(attention=StepAttention(heads=3)), "attention.heads"),
        (AttentiveRecurrence(summary="ends"), "summary"),
    ],
)
def test_faults(settings: AttentiveRecurrence, name: str) -> None:
    assert name in [fault for fault, _ in settings.check(5, causal=True)]
