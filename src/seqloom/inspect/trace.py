"""One example through a model, and what every box made of it."""
# T positions  V vocabulary

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from seqloom.inspect.changed import changed
from seqloom.inspect.changes import Change
from seqloom.inspect.drawing import Flow
from seqloom.inspect.flow import draw
from seqloom.inspect.seen import Seen, watch_calls
from seqloom.inspect.values import Value
from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.layout import Layout, Padded
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly


@dataclass(frozen=True)
class Example:
    """One row, as a model takes it. read: tokens_T, or readings_TC. written: of an encoder-decoder, what its decoder
    reads. goal: what should be said, for the loss. layout: of what is read; None: a plain sequence. words: positions
    that begin a word, where not all do."""

    read: Tensor
    written: Tensor | None = None
    goal: Tensor | None = None
    segments: Tensor | None = None
    layout: Layout | None = None
    words: tuple[int, ...] | None = None

    def to(self, device: torch.device) -> "Example":
        written, goal, segments = (
            None if part is None else part.to(device) for part in (self.written, self.goal, self.segments)
        )
        return replace(self, read=self.read.to(device), written=written, goal=goal, segments=segments)


@dataclass(frozen=True)
class Trace:
    """What one pass left. scores: what the model returned, before any softmax."""

    flow: Flow
    scores: Tensor
    seen: Seen = field(repr=False)

    def values(self, box: str) -> Sequence[Value]:
        """What a box made; the last of them is what others read. KeyError: there is no such box."""
        return self.flow.values[box](self.seen)

    def parts(self, layer: str) -> AttentionParts:
        """Of an attention layer."""
        return self.seen.parts(layer)


@torch.no_grad()
def trace(model: Model, example: Example, changes: Sequence[Change] = ()) -> Trace:
    """Run one example, perhaps with changes. The model should be in eval mode."""
    example = example.to(next(model.parameters()).device)
    flow = draw(model)
    with changed(model, changes) as acting, watch_calls(model, acting.attended) as seen:
        scores = _run(model, example)
    seen.goal_T, seen.words = example.goal, example.words
    return Trace(flow, scores[0], seen)


@torch.no_grad()
def run(model: Model, example: Example, changes: Sequence[Change] = ()) -> Tensor:
    """The same without looking: what the model says, without an axis of rows."""
    with changed(model, changes):
        return _run(model, example.to(next(model.parameters()).device))[0]


def _run(model: Model, example: Example) -> Tensor:
    read, layout = example.read[None], example.layout or _whole(example.read)
    match model:
        case EncoderDecoder():
            assert example.written is not None
            output = model(read, layout, example.written[None], _whole(example.written))
        case EncoderOnly():
            segments = None if example.segments is None else example.segments[None]
            output = model(read, layout, segments)
            if model.follows is not None:
                model.follow_scores(output)  # for who looks on
        case _:
            output = model(read, layout)
    return model.scores(output)


def _whole(x: Tensor) -> Padded:
    return Padded.whole(1, len(x), x.device)
