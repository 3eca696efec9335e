"""Pairs: what is read, what is written, and the loss, against the same by hand."""

import pytest
import torch

from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Goals, Translate
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END
from tests.tasks.small import WORDS, by_hand, encoded, model_for, padded, rows_of, side, task_of

SOURCES = ["a b c", "d", "c c c c"]
TARGETS = ["x", "y z y", "z"]


@pytest.mark.parametrize("reverse", [False, True])
def test_begin_end_and_reversal(reverse: bool) -> None:
    task = task_of(Translate(reverse=reverse), "pairs", WORDS, SOURCES, TARGETS)
    examples = encoded(task, SOURCES, TARGETS)
    batch = task.batch(examples)
    sources, targets = rows_of(examples.columns["source"]), rows_of(examples.columns["target"])
    assert batch.source is not None
    assert batch.target is not None
    read = [row[::-1] if reverse else row for row in sources]
    assert side(batch.source.tokens_N, batch.source.layout.lengths_B) == [[*row, END] for row in read]
    assert side(batch.target.tokens_N, batch.target.layout.lengths_B) == [[BEGIN, *row] for row in targets]
    assert side(batch.goal, batch.target.layout.lengths_B) == [[*row, END] for row in targets]
    assert batch.count == 5 + 3
    assert batch.tokens == 8 + 3 + 5 + 3


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_padded_rows(smoothing: float) -> None:
    task = task_of(Translate(), "pairs", WORDS, SOURCES, TARGETS)
    model = model_for(task, "encoder-decoder").eval()
    assert isinstance(model, EncoderDecoder)
    examples = encoded(task, SOURCES, TARGETS)
    loss = task.loss(model, task.batch(examples), Goals(smoothing))
    sources, targets = rows_of(examples.columns["source"]), rows_of(examples.columns["target"])
    given = [[BEGIN, *row] for row in targets]
    output = model(*padded([[*row, END] for row in sources]), *padded(given))
    wanted = by_hand(list(model.scores(output)), [[*row, END] for row in targets], smoothing)
    torch.testing.assert_close(loss, wanted)
    got = torch.autograd.grad(loss, model.head.weight_VD, retain_graph=True)[0]  # type: ignore[union-attr,arg-type]
    torch.testing.assert_close(got, torch.autograd.grad(wanted, model.head.weight_VD)[0])  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"family": "encoder-only"}, "it needs an encoder-decoder, or a decoder-only model"),
        ({"family": "encoder-decoder", "output": {"kind": "numbers"}}, "the model writes numbers"),
    ],
)
def test_a_model_that_does_not_fit(model: dict[str, object], why: str) -> None:
    assert why in (TranslateTask.refuses(ModelSettings.model_validate(model)) or "")
    assert TranslateTask.refuses(ModelSettings(family="encoder-decoder")) is None
    assert TranslateTask.refuses(ModelSettings(family="decoder-only")) is None
