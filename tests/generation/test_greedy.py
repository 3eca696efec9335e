"""Greedy writing, with steppers made for it and against whole passes."""

import torch
from torch import Tensor

from seqloom.generation import greedy
from seqloom.layers.layout import Packed
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.output import DecoderState
from seqloom.tasks import Translate
from seqloom.text import BEGIN, END
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of
from tests.training.small import WORDS


def test_rows_leave_when_they_end() -> None:
    """Row b counts up from 10 b, and ends after b + 1 tokens."""
    widths = []

    def step(last_B: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        widths.append(len(last_B))
        row_B, at_B = state.lengths_B // 100, state.lengths_B % 100
        following_B = torch.where(at_B > row_B, END, 10 * (row_B + 1) + at_B)
        return torch.nn.functional.one_hot(following_B, 60).float(), DecoderState(state.lengths_B + 1, state.layers)

    begin = DecoderState(torch.arange(4) * 100, ())
    assert greedy(step, begin, BEGIN, END, 50) == [[10], [20, 21], [30, 31, 32], [40, 41, 42, 43]]
    assert widths == [4, 4, 3, 2, 1]
    assert greedy(step, begin, BEGIN, END, 2) == [[10], [20, 21], [30, 31], [40, 41]]
    assert greedy(step, begin, BEGIN, END, 0) == [[], [], [], []]


def test_each_token_is_the_likeliest_of_a_whole_pass() -> None:
    from seqloom.jobs.answers import _stepper

    backwards = [word[::-1] for word in WORDS]
    task = task_of(Translate(), "pairs", CHARACTERS, WORDS, backwards)
    model = model_for(task, "encoder-decoder").eval()
    assert isinstance(model, EncoderDecoder)
    batch = task.batch(encoded(task, WORDS[:7], backwards[:7]))
    assert batch.source is not None
    with torch.no_grad():
        state = model.start(model.encode(batch.source.tokens_N, batch.source.layout))
        written = greedy(_stepper(model), state, BEGIN, END, 9)
        given = torch.tensor([token for row in written for token in (BEGIN, *row)])
        layout = Packed.of([len(row) + 1 for row in written])
        best = model.scores(model(batch.source.tokens_N, batch.source.layout, given, layout)).argmax(-1)
    at = 0
    for row in written:
        wanted = [*row, END] if len(row) < 9 else row
        assert best[at : at + len(wanted)].tolist() == wanted
        at += len(row) + 1
