"""Recurrences as boxes: the first state, a cell for each layer and direction, and attention where they have it."""
# T steps  H hidden width

from collections.abc import Iterator, Sequence
from functools import partial

from torch import Tensor

from seqloom.inspect.draw_attention import attention_steps
from seqloom.inspect.drawing import Drawing, Spot, count
from seqloom.inspect.seen import Seen
from seqloom.inspect.values import Axis, Value
from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.recurrence import RecurrenceMixer
from seqloom.layers.recurrent_cell import CellParts, RecurrentCell, RecurrentState

TITLES = {
    "i": "input gate",
    "f": "forget gate",
    "g": "what is proposed",
    "o": "output gate",
    "r": "reset gate",
    "z": "update gate",
    "n": "what is proposed",
}


def draw_recurrence(
    drawing: Drawing, id: str, mixer: RecurrenceMixer, read: Spot, axis: Axis, memory: Spot | None
) -> Spot:
    settings, directions = mixer.settings, mixer.settings.directions()
    first = [] if not mixer.needs_memory else [_first(drawing, id, memory, mixer)]
    below: list[Spot] = [read]
    columns: list[list[Spot]] = [[read], [read]]
    for layer, direction in enumerate(directions):
        made = []
        for side, name in enumerate(("ahead", "back")):
            cell = getattr(mixer if not layer else mixer.upper[layer - 1], name)
            if not isinstance(cell, RecurrentCell):
                continue
            turned = layer % 2 != side if direction == "interleaved" else bool(side)
            under = columns[side] if direction == "interleaved" else below
            name = f"{id}.{name}" if not layer else f"{id}.upper.{layer - 1}.{name}"
            spot = _cell(drawing, name, id, cell, layer, turned, [*under, *first], axis)
            columns[side] = [spot]
            made.append(spot)
        below = made
    shown = settings.model_dump(mode="json", exclude_none=True)

    def values(seen: Seen) -> Iterator[Value]:
        for spot in below:
            yield from spot.values(seen)
        yield Value("Y", "output", seen.made(id), axis)

    return drawing.add(id, "recurrence", _title(mixer), below, values, parameters=count(mixer), settings=shown)


def _title(mixer: RecurrenceMixer) -> str:
    kind = {"elman": "recurrence", "gru": "GRU", "lstm": "LSTM"}[mixer.settings.cell]
    both = {"both", "interleaved"} & set(mixer.settings.directions())
    return f"{kind} in both directions" if both else kind


def _cell(
    drawing: Drawing,
    id: str,
    of: str,
    cell: RecurrentCell,
    layer: int,
    turned: bool,
    reads: Sequence[Spot],
    axis: Axis,
) -> Spot:
    """turned: from the end to the beginning."""

    def values(seen: Seen) -> Iterator[Value]:
        x_BTD, _, state = seen.call(id).args[:3]
        yield from _cell_values(cell.parts(x_BTD, state), axis, turned)

    title = f"layer {layer + 1}, {'backward' if turned else 'forward'}"
    shown = {"cell": cell.cell, "hidden": cell.hidden, "backward": turned}
    return drawing.add(id, "cell", title, reads, values, parameters=count(cell), settings=shown, of=of)


def _cell_values(parts: CellParts, axis: Axis, turned: bool) -> Iterator[Value]:
    def one(x_BTH: Tensor) -> Tensor:
        x_TH = x_BTH.detach()[0]
        return x_TH.flip(0) if turned else x_TH

    for name, gate_BTH in parts.gates_BTH.items():
        yield Value(name, TITLES[name], one(gate_BTH), axis)
    if parts.cell_BTH is not None:
        yield Value("c", "cell state", one(parts.cell_BTH), axis)
    yield Value("h", "hidden state", one(parts.hidden_BTP), axis)


def _first(drawing: Drawing, id: str, memory: Spot | None, mixer: RecurrenceMixer | AttentiveRecurrenceMixer) -> Spot:
    """The state before the first step, made of the source."""

    def values(seen: Seen) -> Iterator[Value]:
        state = seen.call(id).args[2]
        layers: Sequence[RecurrentState] = state if isinstance(state, tuple) else state.layers
        for number, one in enumerate(layers, 1):
            if one.cell_BH is not None:
                yield Value(f"c0 {number}", f"first cell state of layer {number}", one.cell_BH.detach())
            yield Value(f"h0 {number}", f"first hidden state of layer {number}", one.hidden_BH.detach())

    firsts = mixer.firsts if isinstance(mixer, AttentiveRecurrenceMixer) else None
    parameters = count(firsts) if firsts is not None else sum(_of_first(mixer))
    shown = {"initial": mixer.settings.initial, "summary": mixer.settings.summary}
    return drawing.add(
        f"{id}.start",
        "first-state",
        "first state",
        [],
        values,
        parameters=parameters,
        settings=shown,
        of=id,
        memory=memory,
    )


def _of_first(mixer: RecurrenceMixer | AttentiveRecurrenceMixer) -> Iterator[int]:
    if isinstance(mixer, RecurrenceMixer):
        yield count(mixer.first)
        yield from (count(getattr(layer, "first", None)) for layer in mixer.upper)


def draw_attentive_recurrence(
    drawing: Drawing, id: str, mixer: AttentiveRecurrenceMixer, read: Spot, axis: Axis, memory: Spot
) -> Spot:
    """Bahdanau's: the last state asks, and what it finds goes into the cells. Luong's: the new state asks."""
    settings = mixer.settings
    starts = [] if settings.initial == "zeros" else [_first(drawing, id, memory, mixer)]
    luong, depth = settings.form == "luong", len(mixer.cells)
    cell = partial(_attentive_cell, drawing, id, mixer, axis=axis)
    attention = partial(attention_steps, drawing, f"{id}.attention", mixer.attention, memory=memory, of=id, axis=axis)
    if luong:
        reads = [read]
        for layer in range(depth):
            reads = [cell(layer, reads=[*reads, *starts])]
        found = attention(reads[0])
        below = [*reads, found]
    else:
        found = attention(starts[0] if starts else read)
        reads = [read]
        for layer in range(depth):
            told = [found] if settings.tells(layer) else []
            reads = [cell(layer, reads=[*reads, *told, *starts])]
        below = [*reads, found, read] if mixer.out is not None else reads

    def values(seen: Seen) -> Iterator[Value]:
        yield from found.values(seen)
        yield from reads[0].values(seen)
        yield Value("Y", "output", seen.made(id), axis)

    title = "recurrence with attention (Luong)" if luong else "recurrence with attention (Bahdanau)"
    shown = settings.model_dump(mode="json", exclude_none=True)
    return drawing.add(id, "attentive-recurrence", title, below, values, parameters=count(mixer), settings=shown)


def _all_parts(id: str, mixer: AttentiveRecurrenceMixer, seen: Seen) -> list[CellParts]:
    x_BTD, _, state = seen.call(id).args[:3]
    contexts_BTD = seen.all_made(f"{id}.attention")
    return seen.once(f"{id}.cells", lambda: mixer.cell_parts(x_BTD, state, contexts_BTD))


def _attentive_cell(
    drawing: Drawing, id: str, mixer: AttentiveRecurrenceMixer, layer: int, reads: Sequence[Spot], axis: Axis
) -> Spot:
    cell, name = mixer.cells[layer], f"{id}.cells.{layer}"
    assert isinstance(cell, RecurrentCell)

    def values(seen: Seen) -> Iterator[Value]:
        yield from _cell_values(_all_parts(id, mixer, seen)[layer], axis, False)

    shown, title = {"cell": cell.cell, "hidden": cell.hidden}, f"layer {layer + 1}"
    return drawing.add(name, "cell", title, reads, values, parameters=count(cell), settings=shown, of=id)
