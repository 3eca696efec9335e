"""Recurrent layers one upon the other: against torch's stacks, and against their equations."""

import pytest
import torch
from torch import Tensor, nn

from seqloom.layers.attentive_recurrence import AttentiveRecurrence, AttentiveRecurrenceMixer, StepAttention
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer
from seqloom.layers.recurrent_cell import RecurrentCell

D, T = 4, 3


def cells(mixer: RecurrenceMixer) -> list[RecurrentCell]:
    """All of them, bottom up, forward before backward."""
    each = [cell for layer in mixer._layers for cell in (layer.ahead, layer.back)]
    return [cell for cell in each if cell is not None]


def built(settings: Recurrence, causal: bool = True) -> RecurrenceMixer:
    torch.manual_seed(3)
    return RecurrenceMixer(settings, D, causal).double().eval()


def target() -> Tensor:
    return torch.randn(T, D, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def copied(cell: RecurrentCell) -> nn.LSTM:
    theirs = nn.LSTM(cell.inputs, cell.hidden, dtype=torch.float64)
    theirs.load_state_dict(dict(zip(theirs.state_dict(), cell.weights, strict=True)))
    return theirs


@pytest.mark.parametrize("both", [False, True])
def test_deep_layers_are_torchs(both: bool) -> None:
    hidden = D // 2 if both else D
    ours = built(Recurrence(depth=3, direction="both" if both else "forward"), causal=not both)
    theirs = nn.LSTM(D, hidden, num_layers=3, bidirectional=both, dtype=torch.float64)
    with torch.no_grad():
        for cell, weights in zip(cells(ours), theirs.all_weights, strict=True):
            for own, other in zip(cell.weights, weights, strict=True):
                other.copy_(own)
    y, _ = ours(target(), Packed.of([T]))
    torch.testing.assert_close(y, theirs(target())[0])


def test_residuals_begin_at_their_layer() -> None:
    ours = built(Recurrence(depth=3, residual=2))
    x = copied(cells(ours)[0])(target())[0]
    for cell in cells(ours)[1:]:
        x = x + copied(cell)(x)[0]
    torch.testing.assert_close(ours(target(), Packed.of([T]))[0], x)


def test_fast_forward() -> None:
    """f¹ = Wx; fᵏ = W[hᵏ⁻¹; half of fᵏ⁻¹]; at the top h and all of f, mapped to the width."""
    ours = built(Recurrence(depth=3, fast_forward=True))
    assert ours.out is not None
    x, told = target(), target()[:, :0]
    for number, cell in enumerate(cells(ours)):
        inputs = torch.cat((x, told), -1)
        f = inputs @ cell.weight_x_GD.T + cell.bias_x_G
        x, told = copied(cell)(inputs)[0], f if number == 2 else f[:, : 2 * D]
    torch.testing.assert_close(ours(target(), Packed.of([T]))[0], ours.out(torch.cat((x, told), -1)))


def test_interleaved_columns() -> None:
    """Column 0 goes forward, backward, forward; column 1 the other way; they meet at the top."""
    ours = built(Recurrence(depth=3, direction="interleaved"), causal=False)
    columns = []
    for side in 0, 1:
        x = target()
        for number, cell in enumerate(cells(ours)[side::2]):
            turned = number % 2 != side
            y = copied(cell)(x.flip(0) if turned else x)[0]
            x = y.flip(0) if turned else y
        columns.append(x)
    torch.testing.assert_close(ours(target(), Packed.of([T]))[0], torch.cat(columns, -1))


def test_gnmts_decoder() -> None:
    """c_t asked for by the bottom layer's last state, and told to all; the third layer adds its input."""
    torch.manual_seed(3)
    settings = AttentiveRecurrence(
        form="bahdanau",
        cell="elman",
        depth=3,
        asks="bottom",
        told="all",
        output="state",
        residual=3,
        initial="zeros",
        attention=StepAttention(score="dot"),
    )
    mixer = AttentiveRecurrenceMixer(settings, D).double().eval()
    source = torch.randn(5, D).double()
    state = mixer.start(1, Memory(source, Packed.of([5])))
    y, _ = mixer(target(), Packed.of([T]), state)
    weights = mixer.weights(target(), Packed.of([T]), state)
    states = [torch.zeros(D).double()] * 3
    for t, x in enumerate(target()):
        asked = (source @ states[0]).softmax(-1)
        torch.testing.assert_close(weights[0, 0, t], asked)
        h = x
        for layer, cell in enumerate(mixer._cells):
            W, U, b, c = cell.weights
            states[layer] = torch.tanh(W @ torch.cat((h, asked @ source)) + b + U @ states[layer] + c)
            h = h + states[layer] if layer == 2 else states[layer]
        torch.testing.assert_close(y[t], h)


def test_one_way_encoders_leave_their_last_states() -> None:
    ours = built(Recurrence(cell="gru", depth=2, direction=("forward", "backward")), causal=False)
    x = torch.randn(2, T, D).double()
    y, ends = ours(x, Padded.of([T, 2]))
    assert ends is not None
    assert len(ends) == 2
    torch.testing.assert_close(ends[1].hidden_BH, y[:, 0])  # the upper layer ends at the first position
    assert built(Recurrence(direction="both"), causal=False)(x, Padded.of([T, 2]))[1] is None


def test_chance_is_the_same_at_all_steps() -> None:
    """Locked dropout and dropped weights: at once and step by step are the same, given the same chance."""
    torch.manual_seed(3)
    settings = AttentiveRecurrence(depth=2, dropout=0.5, locked=True, weight_dropout=0.5)
    mixer = AttentiveRecurrenceMixer(settings, 8).double()
    x = torch.randn(1, 1, 8).double().expand(1, 6, 8)
    state = mixer.start(1, Memory(torch.zeros(1, 2, 8).double(), Padded.whole(1, 2)))
    one, other = (mixer(x, Padded.whole(1, 6), state)[0] for _ in range(2))
    assert not torch.allclose(one, other)
    # nothing but the state changes from step to step, so that all comes to rest, unless chance is fresh at each step
    long = x[:, :1].expand(1, 300, 8)
    rest = mixer(long, Padded.whole(1, 300), state)[0]
    torch.testing.assert_close(rest[0, -1], rest[0, -2], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "name", "why"),
    [
        (Recurrence(cell="gru", projection=True), "projection", "an LSTM has a projection, gru has none"),
        (Recurrence(fast_forward=True), "fast_forward", "from layer to layer, and there is one"),
        (Recurrence(dropout=0.1), "dropout", "between recurrent layers, and there is one"),
        (Recurrence(depth=2, locked=True), "locked", "set dropout"),
        (Recurrence(depth=2, residual=3), "residual", "there is no layer 3: depth = 2"),
        (Recurrence(depth=2, hidden=(3, 4), residual=2), "residual", "layer 2 cannot add 3 numbers to 4"),
        (Recurrence(depth=2, hidden=(3, 4, 5)), "hidden", "a list of 3 layers does not fill a depth of 2"),
        (Recurrence(depth=3, direction=("forward", "both")), "direction", "a list of 2 layers"),
        (Recurrence(direction="interleaved"), "direction", "of two at least"),
        (Recurrence(depth=2, direction=("both", "interleaved")), "direction", "is of all layers"),
        (Recurrence(initial="layers"), "initial", "only a decoder has a memory"),
    ],
)
def test_faults(settings: Recurrence, name: str, why: str) -> None:
    assert any(fault == name and why in said for fault, said in settings.check(D, causal=False))


@pytest.mark.parametrize(
    ("settings", "name", "why"),
    [
        (AttentiveRecurrence(asks="bottom"), "asks", "in Luong's form the top state asks"),
        (AttentiveRecurrence(told="all"), "told", "in Luong's form"),
        (AttentiveRecurrence(output="state"), "output", "use form = 'bahdanau'"),
        (AttentiveRecurrence(hidden=7), "hidden", "set projection = true"),
    ],
)
def test_faults_of_those_that_attend(settings: AttentiveRecurrence, name: str, why: str) -> None:
    assert any(fault == name and why in said for fault, said in settings.check(D, causal=True))


def test_states_of_an_encoder_that_left_none() -> None:
    mixer = built(Recurrence(depth=2, initial="layers"))
    with pytest.raises(ValueError, match="2 layers begin where the encoder's ended, and it left 0 states"):
        mixer.start(1, Memory(target(), Packed.of([T])))
