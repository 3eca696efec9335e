"""What the laws are told of: a mixer or a whole model, each row of a batch with its own input and memory."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.layers.embedding import InputSettings, Spelled, Tokens
from seqloom.layers.images import Images
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.mixer import Memory, Mixer
from seqloom.models.build import Model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.head_settings import ClassesOutput, HorizonOutput
from seqloom.models.output import Output


@dataclass(frozen=True)
class Row:
    """One sequence, and what it may attend to."""

    x: Tensor
    memory: Tensor | None


@dataclass(frozen=True)
class Subject:
    """A law knows no more than this.

    What comes out need not be as long as what went in: one output a patch, one a sequence. `run` therefore says how
    its outputs lie. Where there is a future or a state, each step has an output of its own: decoders read no patches.
    """

    module: nn.Module
    causal: bool
    draw: Callable[[int], Tensor]  # a sequence of this length
    draw_memory: Callable[[int], Tensor] | None
    run: Callable[[Tensor, Layout, Any], tuple[Tensor, Layout, Any]]
    start: Callable[[Sequence[Row], int | None], Any]  # the state before the first step
    begin: Callable[[Sequence[Row], "Form"], Any]  # what whole sequences need: None, unless there is a memory

    def rows(self, lengths: Sequence[int], memory_lengths: Sequence[int]) -> list[Row]:
        memories = [None if self.draw_memory is None else self.draw_memory(n) for n in memory_lengths]
        return [Row(self.draw(n), memory) for n, memory in zip(lengths, memories, strict=True)]


def mixer_subject(mixer: Mixer, width: int, seed: int, dtype: torch.dtype) -> Subject:
    mixer = mixer.to(dtype).eval()
    generator = torch.Generator().manual_seed(seed)

    def draw(length: int) -> Tensor:
        return torch.randn(length, width, generator=generator, dtype=dtype)

    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Layout, Any]:
        y, after = mixer(x, layout, state)
        return y, layout, after

    def start(rows: Sequence[Row], capacity: int | None) -> Any:
        return mixer.start(len(rows), memory_of(rows), capacity)

    return Subject(
        mixer,
        mixer.causal,
        draw,
        draw if mixer.needs_memory else None,
        run,
        start,
        lambda rows, form: mixer.begin(len(rows), memory_of(rows)),
    )


def memory_of(rows: Sequence[Row]) -> Memory | None:
    return None if rows[0].memory is None else source_of(rows, Form("packed"))


def source_of(rows: Sequence[Row], form: "Form") -> Memory:
    sources = [row.memory for row in rows if row.memory is not None]
    layout = form.layout([len(source) for source in sources])
    return Memory(form.join(sources, layout), layout)


def drawn(
    settings: InputSettings, size: int, length: int, generator: torch.Generator, dtype: torch.dtype = torch.float32
) -> Tensor:
    """A sequence that such an input reads: tokens, or readings."""
    if isinstance(settings, Spelled):  # a word, and then words and bytes as they come
        first = torch.randint(size, (min(1, length),), generator=generator)
        return torch.cat((first, torch.randint(2 * size, (max(0, length - 1),), generator=generator)))
    if isinstance(settings, Tokens | Images):
        return torch.randint(size, (length,), generator=generator)
    return torch.randn(length, size, generator=generator, dtype=dtype)


def model_subject(model: Model, seed: int, dtype: torch.dtype) -> Subject:
    model = model.to(dtype).eval()
    generator = torch.Generator().manual_seed(seed)

    def draw(length: int) -> Tensor:
        return drawn(model.settings.input, model.sizes.source, length, generator, dtype)

    def draw_target(length: int) -> Tensor:
        return drawn(model.settings.decoder_input, model.sizes.target, length, generator, dtype)

    if isinstance(model, EncoderDecoder):
        return _encoder_decoder_subject(model, draw_target, draw)

    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Layout, Any]:
        output = model(x, layout) if state is None else model(x, layout, state)
        return *_scored(model, output), output.state

    def start(rows: Sequence[Row], capacity: int | None) -> Any:
        assert isinstance(model, DecoderOnly)
        return model.start(len(rows), capacity)

    return Subject(model, isinstance(model, DecoderOnly), draw, None, run, start, lambda rows, form: None)


def _scored(model: Model, output: Output) -> tuple[Tensor, Layout]:
    scores = model.scores(output)
    if isinstance(model.settings.output, ClassesOutput | HorizonOutput):  # one output a row
        return scores[:, None], Padded.whole(len(scores), 1)
    return scores, output.layout


def _encoder_decoder_subject(
    model: EncoderDecoder, draw: Callable[[int], Tensor], draw_source: Callable[[int], Tensor]
) -> Subject:
    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Layout, Any]:
        if isinstance(state, Memory):  # the source itself: whole pairs at once, as in training
            output = model(state.states, state.layout, x, layout)
        else:
            output = model.step(x, layout, state)
        return *_scored(model, output), output.state

    def start(rows: Sequence[Row], capacity: int | None) -> Any:
        source = source_of(rows, Form("packed"))
        return model.start(model.encode(source.states, source.layout), capacity)

    return Subject(model, True, draw, draw_source, run, start, source_of)


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
    """Each row's outputs, and the state behind them. A source that is read along is laid out as the rows are."""
    layout = form.layout([len(row.x) for row in rows])
    state = subject.begin(rows, form) if isinstance(state, str) else state
    y, layout, after = subject.run(form.join([row.x for row in rows], layout), layout, state)
    return form.split(y, layout, layout.lengths_B.tolist()), after
