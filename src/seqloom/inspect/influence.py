"""What an answer hangs on: each place of what is read is left out in turn.

Works for every model, whatever its layers: nothing is asked of attention. Zeiler & Fergus 2014 left out parts of
pictures so, Li, Monroe & Jurafsky 2016 words.
"""
# R rows, a place left out in each  S places that are read  T positions that are scored  V vocabulary

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.inspect.changed import changed
from seqloom.inspect.changes import Change
from seqloom.inspect.trace import Example
from seqloom.layers.chain import log_marginals
from seqloom.layers.layout import Padded
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.heads import chain_of
from seqloom.settings import UserError

TOKENS = 2048  # of all rows that are run at once


def influence(
    model: Model, example: Example, rows: Sequence[int], goals: Sequence[int], changes: Sequence[Change] = ()
) -> Iterator[Tensor | None]:
    """log p of each goal, less what it is without each place: [rows, places], last; None between the parts of the work.

    rows: positions that are scored; of a model with one answer for all, 0; of a chain of tags, all words. A place that
    is left out has an embedding of zeros; its position stays.
    """
    if example.layout is not None:
        raise UserError("influence: a graph has no words that could be left out; its attention is that of its edges")
    example = example.to(next(model.parameters()).device)
    with torch.no_grad(), changed(model, changes), _leaving(model, [None]) as seen:
        _log_probs(model, example, 1, rows, goals)
    places = seen[0]
    many = max(1, TOKENS // (places + len(rows)))
    columns = []
    for begin in range(0, places, many):
        # the whole is read in the same batch: sums of another order would not cancel
        left = [None, *range(begin, min(begin + many, places))]
        with torch.no_grad(), changed(model, changes), _leaving(model, left):
            found_RT = _log_probs(model, example, len(left), rows, goals)
        columns.append(found_RT[0] - found_RT[1:])
        yield None
    yield torch.cat(columns).T.contiguous().cpu()


def _log_probs(model: Model, example: Example, many: int, rows: Sequence[int], goals: Sequence[int]) -> Tensor:
    """[many, rows]: the same example in each row of the batch."""
    read = example.read.expand(many, *example.read.shape)
    layout = Padded.whole(many, len(example.read), read.device)
    match model:
        case EncoderDecoder():
            assert example.written is not None
            written = example.written.expand(many, -1)
            output = model(read, layout, written, Padded.whole(many, written.shape[1], read.device))
        case EncoderOnly():
            segments = None if example.segments is None else example.segments.expand(many, -1)
            output = model(read, layout, segments)
        case _:
            output = model(read, layout)
    scores = model.scores(output).double()
    scores_RTV = scores if scores.dim() == 3 else scores[:, None]
    chosen_RTV, chain = scores_RTV[:, list(rows)].log_softmax(-1), chain_of(model.head)
    if chain is not None:
        chosen_RTV = log_marginals(chosen_RTV, torch.full((many,), len(rows), device=read.device), chain.links)
    return chosen_RTV.gather(-1, torch.tensor(list(goals), device=read.device).expand(many, -1)[..., None])[..., 0]


@contextmanager
def _leaving(model: Model, left: Sequence[int | None]) -> Iterator[list[int]]:
    """While it is open, row r of a batch that this thread sends through the model is read without place left[r].

    The list holds how many places there are, once something was read.
    """
    reads = model.source if isinstance(model, EncoderDecoder) else model.input
    owner, seen = threading.get_ident(), list[int]()

    def blank(module: nn.Module, args: Any, result: Any) -> Any:
        if threading.get_ident() != owner:
            return None
        x_RSD, layout = result
        seen.append(x_RSD.shape[1])
        x_RSD = x_RSD.clone()
        for row, place in enumerate(left):
            if place is not None:
                x_RSD[row, place] = 0
        return x_RSD, layout

    hook = reads.embedding.register_forward_hook(blank)
    try:
        yield seen
    finally:
        hook.remove()
