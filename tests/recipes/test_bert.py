"""BERT: gaps are filled from both sides, and the first token says whether the second segment follows."""

import pytest
import torch

from seqloom.jobs.learning.scores import masked_accuracy
from seqloom.models import EncoderOnly, build_model
from seqloom.tasks import Goals
from seqloom.tasks.masked import MaskedTask, read
from seqloom.tasks.recut import seeds_of
from seqloom.text import SEPARATOR, TextSettings
from tests.recipes.liu import trained
from tests.recipes.shrunk import obeys_the_laws, parameters, recipe
from tests.tasks.small import encoded, task_of

CPU = torch.device("cpu")
TINY = ["model.width=32", "model.depth=2", "model.dropout=0", "task.context=24", "model.positions.length=24"]
# each document is about its own things, in its own order
LINES = [line for d in "abcdefgh" for line in (*(f"{d}{n} {d}{n + 1} {d}{n + 2} {d}{n + 3}" for n in range(4)), "")]
WORDS = TextSettings.model_validate({"source": {"kind": "words"}})


def test_parameters() -> None:
    published = recipe("bert").target.parameters
    assert published is not None
    assert parameters("bert") == pytest.approx(published, rel=0.02)
    assert parameters("bert") == 110_106_428  # with both heads, as Hugging Face's BertForPreTraining


def made(*changes: str) -> tuple[MaskedTask, EncoderOnly]:
    settings = recipe("bert-small", *TINY, *changes)
    task = task_of(settings.task, "text", WORDS, LINES)
    torch.manual_seed(1)
    model = build_model(settings.model, task.sizes())
    assert isinstance(task, MaskedTask)
    assert isinstance(model, EncoderOnly)
    return task, model


def test_few_sentences_are_learnt_by_heart() -> None:
    """The tokens of the gaps, and what follows: of the same pairs and masks, exactly."""
    task, model = made()
    examples = task.segments(encoded(task, LINES), None)
    varied = task.vary(examples, seeds_of(examples, 1, 0), None)
    trained(task, model, [task.batch(varied)], 100, 0.005, Goals())
    found = masked_accuracy(task, model, [varied], CPU)
    assert found["accuracy"] >= 99
    assert found["follows"] >= 99


def test_other_masks_are_filled_too() -> None:
    """Masks that are drawn anew teach all tokens; those of one epoch alone do not."""
    task, model = made("task.follows=false", "model.output.follows=false")
    examples = task.segments(encoded(task, LINES), None)
    epochs = [task.batch(task.vary(examples, seeds_of(examples, 1, epoch), None)) for epoch in range(100)]
    trained(task, model, epochs, 200, 0.005, Goals())
    _, other = made("task.follows=false", "model.output.follows=false")
    trained(task, other, epochs[:1], 200, 0.005, Goals())
    unseen = task.vary(examples, seeds_of(examples, 2, 0), None)
    dynamic, fixed = (masked_accuracy(task, each, [unseen], CPU)["accuracy"] for each in (model, other))
    assert dynamic > fixed + 20


def test_both_sides_of_a_gap_are_seen() -> None:
    task, model = made()
    model.eval()
    batch = task.batch(task.segments(encoded(task, LINES), None))
    assert batch.source is not None
    tokens_N, length = batch.source.tokens_N, int(batch.source.layout.lengths_B[0])
    with torch.no_grad():
        before = model.scores(read(model, batch))[1]
        place = length - 2
        tokens_N[place] = 5 + (tokens_N[place] - 4) % (len(task.vocabulary) - 5)
        after = model.scores(read(model, batch))[1]
    assert not torch.allclose(before, after)


def test_segments_are_told_apart() -> None:
    """The same tokens in the other segment give other scores: without segment vectors they would not."""
    task, model = made()
    model.eval()
    batch = task.batch(task.segments(encoded(task, LINES), None))
    source = batch.source
    assert source is not None
    with torch.no_grad():
        told = model(source.tokens_N, source.layout, source.segments_N).hidden
        same = model(source.tokens_N, source.layout, None).hidden
    assert not torch.allclose(told, same)
    assert int((source.tokens_N == SEPARATOR).sum()) == 2 * source.layout.rows


def test_laws() -> None:
    obeys_the_laws(recipe("bert-small", *TINY))
