"""What the laws are told of: a mixer or a whole model, each row of a batch with its own input and memory."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.mixer import Memory, Mixer
from seqloom.models.build import Model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder


@dataclass(frozen=True)
class Row:
    """One sequence, and what it may attend to."""

    x: Tensor
    memory: Tensor | None


@dataclass(frozen=True)
class Subject:
    """A law knows no more than this."""

    module: nn.Module
    causal: bool
    draw: Callable[[int], Tensor]  # a sequence of this length
    draw_memory: Callable[[int], Tensor] | None
    run: Callable[[Tensor, Layout, Any], tuple[Tensor, Any]]
    start: Callable[[Sequence[Row], int | None], Any]  # the state before the first step
    begin: Callable[[Sequence[Row]], Any]  # what whole sequences need: None, unless there is a memory

    def rows(self, lengths: Sequence[int], memory_lengths: Sequence[int]) -> list[Row]:
        memories = [None if self.draw_memory is None else self.draw_memory(n) for n in memory_lengths]
        return [Row(self.draw(n), memory) for n, memory in zip(lengths, memories, strict=True)]


def mixer_subject(mixer: Mixer, width: int, seed: int, dtype: torch.dtype) -> Subject:
    mixer = mixer.to(dtype).eval()
    generator = torch.Generator().manual_seed(seed)

    def draw(length: int) -> Tensor:
        return torch.randn(length, width, generator=generator, dtype=dtype)

    def start(rows: Sequence[Row], capacity: int | None) -> Any:
        return mixer.start(len(rows), memory_of(rows), capacity)

    return Subject(
        mixer,
        mixer.causal,
        draw,
        draw if mixer.needs_memory else None,
        lambda x, layout, state: mixer(x, layout, state),
        start,
        lambda rows: mixer.begin(len(rows), memory_of(rows)),
    )


def memory_of(rows: Sequence[Row]) -> Memory | None:
    if rows[0].memory is None:
        return None
    states = [row.memory for row in rows if row.memory is not None]
    return Memory(torch.cat(states), Packed.of([len(state) for state in states]))


def model_subject(model: Model, seed: int, dtype: torch.dtype) -> Subject:
    model = model.to(dtype).eval()
    generator = torch.Generator().manual_seed(seed)

    def draw(length: int) -> Tensor:
        return torch.randint(model.sizes.source, (length,), generator=generator)

    if isinstance(model, EncoderDecoder):
        return _encoder_decoder_subject(model, draw)

    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Any]:
        output = model(x, layout) if state is None else model(x, layout, state)
        return model.scores(output), output.state

    def start(rows: Sequence[Row], capacity: int | None) -> Any:
        assert isinstance(model, DecoderOnly)
        return model.start(len(rows), capacity)

    return Subject(model, isinstance(model, DecoderOnly), draw, None, run, start, lambda rows: None)


def _encoder_decoder_subject(model: EncoderDecoder, draw: Callable[[int], Tensor]) -> Subject:
    def encoded(rows: Sequence[Row]) -> Memory:
        memory = memory_of(rows)
        assert memory is not None
        return model.encode(memory.states, memory.layout)

    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Any]:
        if isinstance(state, list):  # the rows themselves: whole pairs at once, as in training
            memory = memory_of(state)
            assert memory is not None
            output = model(memory.states, memory.layout, x, layout)
        else:
            output = model.step(x, layout, state)
        return model.scores(output), output.state

    def start(rows: Sequence[Row], capacity: int | None) -> Any:
        return model.start(encoded(rows), capacity)

    return Subject(model, True, draw, draw, run, start, lambda rows: list(rows))


@dataclass(frozen=True)
class Form:
    """How rows are put into one batch. slack: padding or filler beyond what is needed."""

    kind: str  # packed, framed, right, left, both
    slack: int = 0

    def layout(self, lengths: Sequence[int]) -> Layout:
        longest = max(lengths, default=0)
        match self.kind:
            case "packed":
                return Packed.of(lengths)
            case "framed":
                return Packed.of(
                    lengths,
                    tokens=sum(lengths) + self.slack or 1,
                    rows=len(lengths),
                    longest=longest + self.slack or 1,
                )
            case "right":
                return Padded.of(lengths, longest + self.slack)
            case "left":
                width = longest + self.slack
                return Padded.of(lengths, width, [width - n for n in lengths])
            case _:
                width = longest + 2 * self.slack
                return Padded.of(lengths, width, [min(self.slack, width - n) for n in lengths])

    def join(self, rows: Sequence[Tensor], layout: Layout) -> Tensor:
        """Padding and filler hold what must not matter: large numbers, or a real token."""
        if isinstance(layout, Packed):
            joined = torch.cat(list(rows))
            fill = layout.row_N.shape[0] - len(joined)
            return torch.cat((joined, _junk(rows[0], fill)))
        assert isinstance(layout, Padded)
        starts = [0] * len(rows) if layout.starts_B is None else layout.starts_B.tolist()
        filled = [
            torch.cat((_junk(x, start), x, _junk(x, layout.width - start - len(x))))
            for x, start in zip(rows, starts, strict=True)
        ]
        return torch.stack(filled)

    def split(self, y: Tensor, layout: Layout, lengths: Sequence[int]) -> list[Tensor]:
        if isinstance(layout, Packed):
            return list(y[: sum(lengths)].split(list(lengths)))
        assert isinstance(layout, Padded)
        starts = [0] * len(lengths) if layout.starts_B is None else layout.starts_B.tolist()
        return [row[start : start + n] for row, start, n in zip(y, starts, lengths, strict=True)]


def _junk(like: Tensor, steps: int) -> Tensor:
    # no number at all; but weights' gradients are sums over what a layer was given, and would take it in
    value = 1 if like.dtype == torch.int64 else 1e3 if torch.is_grad_enabled() else math.nan
    return torch.full((steps, *like.shape[1:]), value, dtype=like.dtype)


def outputs(subject: Subject, rows: Sequence[Row], form: Form, state: Any = "begin") -> tuple[list[Tensor], Any]:
    """Each row's outputs, and the state behind them."""
    lengths = [len(row.x) for row in rows]
    layout = form.layout(lengths)
    state = subject.begin(rows) if isinstance(state, str) else state
    y, after = subject.run(form.join([row.x for row in rows], layout), layout, state)
    return form.split(y, layout, lengths), after
