"""Source, separator and target as one text: what is read, what counts, and the loss, against the same by hand."""

from typing import Literal

import numpy as np
import pytest
import torch

from seqloom.models.decoder_only import DecoderOnly
from seqloom.tasks import Goals, Translate, build_task
from seqloom.tasks.joined import JoinedTask
from seqloom.text import END, SEPARATOR, TextSettings
from seqloom.training.validation import mean_loss
from tests.tasks.small import WORDS, by_hand, encoded, model_for, padded, rows_of, side, task_of

SHARED = TextSettings.model_validate({"source": {"kind": "words"}, "shared": True})
SOURCES = ["a b c", "d", "c c c c"]
TARGETS = ["x", "y z y", "z"]
Learn = Literal["target", "all"]


def joined(learn: Learn = "target", reverse: bool = False) -> JoinedTask:
    settings = Translate(learn=learn, reverse=reverse)
    task = build_task(settings, task_of(settings, "pairs", SHARED, SOURCES, TARGETS).codecs, "decoder-only")
    assert isinstance(task, JoinedTask)
    return task


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("learn", ["target", "all"])
def test_one_row_holds_both_sides(learn: Learn, reverse: bool) -> None:
    task = joined(learn, reverse)
    examples = encoded(task, SOURCES, TARGETS)
    batch = task.batch(examples)
    sources, targets = rows_of(examples.columns["source"]), rows_of(examples.columns["target"])
    read = [row[::-1] if reverse else row for row in sources]
    whole = [[*row, SEPARATOR, *target] for row, target in zip(read, targets, strict=True)]
    assert batch.source is None
    assert batch.target is not None
    assert side(batch.target.tokens_N, batch.target.layout.lengths_B) == whole
    after = [[*row[1:], END] for row in whole]
    wanted = after if learn == "all" else [[*target, END] for target in targets]
    assert batch.goal.tolist() == [token for row in wanted for token in row]
    assert batch.count == len(batch.goal)
    if learn == "target":
        assert batch.asked_M is not None
        flat = torch.tensor([token for row in after for token in row])
        assert flat[batch.asked_M].tolist() == batch.goal.tolist()


@pytest.mark.parametrize("learn", ["target", "all"])
def test_the_loss_is_that_of_padded_rows(learn: Learn) -> None:
    task = joined(learn)
    model = model_for(task, "decoder-only").eval()
    assert isinstance(model, DecoderOnly)
    examples = encoded(task, SOURCES, TARGETS)
    loss = task.loss(model, task.batch(examples), Goals(0.1))
    sources, targets = rows_of(examples.columns["source"]), rows_of(examples.columns["target"])
    given = [[*row, SEPARATOR, *target] for row, target in zip(sources, targets, strict=True)]
    goals = [
        [*([-1] * len(row) if learn == "target" else [*row[1:], SEPARATOR]), *target, END]
        for row, target in zip(sources, targets, strict=True)
    ]
    wanted = by_hand(list(model.scores(model(*padded(given)))), goals, 0.1)
    torch.testing.assert_close(loss, wanted)


def test_a_validation_asks_for_the_target() -> None:
    """Whatever is learnt: its loss is an encoder-decoder's."""
    examples = encoded(joined(), SOURCES, TARGETS)
    wanted, found = joined("target").batch(examples), joined("all").valid_batch(examples)
    assert found.goal.tolist() == wanted.goal.tolist()
    assert found.count == wanted.count < joined("all").batch(examples).count
    model = model_for(joined(), "decoder-only").eval()
    mean = mean_loss(model, joined("all"), [examples], torch.device("cpu"))
    assert mean == pytest.approx(joined().loss(model, wanted, Goals()).item() / wanted.count)


@pytest.mark.parametrize("learn", ["target", "all"])
def test_other_answers_count_by_their_weights(learn: Learn) -> None:
    """The source never does, nor the end mark of an answer that was cut."""
    task = joined(learn)
    model = model_for(task, "decoder-only").eval()
    assert isinstance(model, DecoderOnly)
    examples = encoded(task, SOURCES, TARGETS)
    answers = encoded(task, SOURCES, ["z z", "x", "y"]).columns["target"]
    weight_B, ended_B = np.array([0.5, -2.0, 3.0]), np.array([True, False, True])
    loss = task.loss(model, task.answered(examples, answers, ended_B, weight_B), Goals())
    wanted = torch.zeros((), dtype=torch.float64)
    for row, (weight, ended) in enumerate(zip(weight_B, ended_B, strict=True)):
        source, answer = examples.columns["source"][row].tolist(), answers[row].tolist()
        goal = [*[-1] * len(source), *answer, END if ended else -1]
        scores = model.scores(model(*padded([[*source, SEPARATOR, *answer]])))
        wanted = wanted + weight * by_hand(list(scores), [goal])
    torch.testing.assert_close(loss, wanted)


def test_two_vocabularies_are_refused() -> None:
    codecs = task_of(Translate(), "pairs", WORDS, SOURCES, TARGETS).codecs
    with pytest.raises(ValueError, match=r"one vocabulary: text\.shared"):
        build_task(Translate(), codecs, "decoder-only")
