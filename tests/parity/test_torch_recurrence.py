"""Recurrent layers against torch.nn.RNN, GRU and LSTM on packed sequences.

Our fast path is torch's own kernel, fed by our layouts; our plain path is the equation. Both are compared.
"""
# B rows  T steps  L layers  D width  H hidden width

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from seqloom.layers.feed_forward import NoFeedForward
from seqloom.layers.norms import NoNorm
from seqloom.layers.paths import only_plain
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer
from seqloom.layers.recurrent_cell import Cell, RecurrentState
from seqloom.models.block import BlockState
from seqloom.models.stack import Stack
from seqloom.models.stack_settings import NoResidual, StackSettings
from tests.laws.subject import Form
from tests.parity.compare import FORMS, LENGTHS, Named, Pair, agree, stepwise, vectors, whole

WIDTH = 6
KINDS: dict[Cell, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
PARTS = {
    "weight_x_GD": "weight_ih",
    "weight_h_GH": "weight_hh",
    "bias_x_G": "bias_ih",
    "bias_h_G": "bias_hh",
}  # ours: torch's

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
every_cell = pytest.mark.parametrize("cell", KINDS)
both_paths = pytest.mark.parametrize("path", ["fast", "plain"])

Path = Literal["fast", "plain"]
Join = Literal["concat", "sum"]


def layer(theirs: Named, number: int, ways: dict[str, str]) -> Named:
    """ways: our direction → the ending of torch's names."""
    return {
        f"{way}.{ours}": theirs[f"{part}_l{number}{ending}"]
        for way, ending in ways.items()
        for ours, part in PARTS.items()
    }


AHEAD, BOTH = {"ahead": ""}, {"ahead": "", "back": "_reverse"}


def stack(theirs: Named, depth: int, ways: dict[str, str]) -> Named:
    return {
        f"blocks.{number}.mixer.{name}": tensor
        for number in range(depth)
        for name, tensor in layer(theirs, number, ways).items()
    }


def _chosen(path: Path) -> Any:
    return only_plain() if path == "plain" else nullcontext()


def _theirs(rnn: nn.Module, rows: list[Tensor], first: Any = None) -> tuple[list[Tensor], Any]:
    y, last = rnn(pack_sequence(rows, enforce_sorted=False), first)
    return unpack_sequence(y), last


def _first(cell: Cell, depth: int) -> Any:
    """A state to continue from, as torch has it: one tensor of all layers, two for an LSTM."""
    generator = torch.Generator().manual_seed(3)
    h_LBH, c_LBH = torch.randn(2, depth, len(LENGTHS), WIDTH, generator=generator)
    return (h_LBH, c_LBH) if cell == "lstm" else h_LBH


def _of_layer(state: Any, number: int) -> RecurrentState:
    return (
        RecurrentState(*(part[number] for part in state)) if isinstance(state, tuple) else RecurrentState(state[number])
    )


def _parts(state: RecurrentState) -> list[Tensor]:
    return [state.hidden_BH] if state.cell_BH is None else [state.hidden_BH, state.cell_BH]


@every_form
@every_cell
@both_paths
def test_forward_from_a_state(form: Form, cell: Cell, path: Path) -> None:
    """Outputs, their gradients and the state behind the last real step of each row."""
    ours = RecurrenceMixer(Recurrence(cell=cell), WIDTH, causal=True)
    pair = Pair.of(KINDS[cell](WIDTH, WIDTH), ours, partial(layer, number=0, ways=AHEAD))
    rows, their_rows, first = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH), _first(cell, 1)
    theirs, last = _theirs(pair.theirs, their_rows, first)
    layout = form.layout(LENGTHS)
    with _chosen(path):
        y, state = ours(form.join(rows, layout), layout, (_of_layer(first, 0),))
        pair.agree(form.split(y, layout, LENGTHS), theirs, rows, their_rows)
        agree(_parts(state[0]), _parts(_of_layer(last, 0)), "last state")
        steps = stepwise(ours, [row.detach() for row in rows], form, (_of_layer(first, 0),))
    agree(steps, theirs, "steps of row")


@every_form
@every_cell
@both_paths
@pytest.mark.parametrize("join", ["concat", "sum"])
def test_both_directions(form: Form, cell: Cell, path: Path, join: Join) -> None:
    hidden = WIDTH // 2 if join == "concat" else WIDTH
    ours = RecurrenceMixer(Recurrence(cell=cell, direction="both", join=join), WIDTH, causal=False)
    theirs = KINDS[cell](WIDTH, hidden, bidirectional=True)
    pair = Pair.of(theirs, ours, partial(layer, number=0, ways=BOTH))
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    expected, _ = _theirs(theirs, their_rows)
    if join == "sum":
        expected = [y[:, :hidden] + y[:, hidden:] for y in expected]
    with _chosen(path):
        pair.agree(whole(ours, rows, form), expected, rows, their_rows)


@every_form
@every_cell
@both_paths
def test_backward(form: Form, cell: Cell, path: Path) -> None:
    """torch runs backwards only beside forwards; that half is not looked at."""
    ours = RecurrenceMixer(Recurrence(cell=cell, direction="backward"), WIDTH, causal=False)
    theirs = KINDS[cell](WIDTH, WIDTH, bidirectional=True)
    constant = [f"{part}_l0" for part in PARTS.values()]
    pair = Pair.of(theirs, ours, partial(layer, number=0, ways={"back": "_reverse"}), constant)
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    expected, _ = _theirs(theirs, their_rows)
    with _chosen(path):
        pair.agree(whole(ours, rows, form), [y[:, WIDTH:] for y in expected], rows, their_rows)


def _bare(mixer: Recurrence) -> StackSettings:
    """Recurrent layers and nothing else, as in torch."""
    return StackSettings(depth=2, mixer=mixer, feed_forward=NoFeedForward(), norm=NoNorm(), residual=NoResidual())


@every_form
@every_cell
def test_two_layers_from_a_state(form: Form, cell: Cell) -> None:
    ours = Stack(_bare(Recurrence(cell=cell)), WIDTH, causal=True)
    theirs = KINDS[cell](WIDTH, WIDTH, num_layers=2)
    pair = Pair.of(theirs, ours, partial(stack, depth=2, ways=AHEAD))
    rows, their_rows, first = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH), _first(cell, 2)
    expected, last = _theirs(theirs, their_rows, first)
    layout = form.layout(LENGTHS)
    begin = tuple(BlockState((_of_layer(first, number),), None) for number in range(2))
    y, state, _ = ours(form.join(rows, layout), layout, begin)
    pair.agree(form.split(y, layout, LENGTHS), expected, rows, their_rows)
    for number in range(2):
        agree(_parts(state[number].mixer[0]), _parts(_of_layer(last, number)), f"last state of layer {number}")


@every_form
@every_cell
def test_two_layers_of_both_directions(form: Form, cell: Cell) -> None:
    ours = Stack(_bare(Recurrence(cell=cell, direction="both")), WIDTH, causal=False)
    theirs = KINDS[cell](WIDTH, WIDTH // 2, num_layers=2, bidirectional=True)
    pair = Pair.of(theirs, ours, partial(stack, depth=2, ways=BOTH))
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    expected, _ = _theirs(theirs, their_rows)
    pair.agree(whole(lambda *given: ours(*given)[:2], rows, form), expected, rows, their_rows)
