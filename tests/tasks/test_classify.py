"""Classes: one for the whole sequence."""

import pytest
import torch

from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Classify, Goals
from seqloom.tasks.classify import ClassifyTask
from seqloom.text import END
from seqloom.text.labels import UNSEEN
from tests.tasks.small import WORDS, by_hand, encoded, model_for, padded, rows_of, side, task_of

TEXTS = ["good film", "bad", "not so good a film"]
NAMES = ["yes", "no", "no"]


def test_an_end_mark_and_one_goal_a_row() -> None:
    task = task_of(Classify(), "classes", WORDS, TEXTS, NAMES)
    examples = encoded(task, TEXTS, [*NAMES[:2], "never seen"])
    batch = task.batch(examples)
    assert batch.source is not None
    sources = rows_of(examples.columns["source"])
    assert side(batch.source.tokens_N, batch.source.layout.lengths_B) == [[*row, END] for row in sources]
    assert batch.goal.tolist() == [1, 0, UNSEEN]
    assert batch.count == 2


@pytest.mark.parametrize("pool", ["mean", "max", "first", "last", "attention"])
def test_the_loss_is_that_of_padded_rows(pool: str) -> None:
    task = task_of(Classify(), "classes", WORDS, TEXTS, NAMES)
    model = model_for(task, "encoder-only", output={"kind": "classes", "pool": pool}).eval()
    assert isinstance(model, EncoderOnly)
    examples = encoded(task, TEXTS, NAMES)
    scores = model.scores(model(*padded([[*row, END] for row in rows_of(examples.columns["source"])])))
    wanted = by_hand([scores], [task.batch(examples).goal.tolist()], 0.1)
    torch.testing.assert_close(task.loss(model, task.batch(examples), Goals(0.1)), wanted)


def test_a_model_that_does_not_fit() -> None:
    assert "it needs an encoder-only model" in (ClassifyTask.refuses(ModelSettings(family="decoder-only")) or "")
    tags = ModelSettings.model_validate({"family": "encoder-only", "output": {"kind": "tags"}})
    assert "writes tags" in (ClassifyTask.refuses(tags) or "")


def test_spelled_words_are_one_step_each_with_the_end_mark() -> None:
    task = task_of(Classify(spelled=True), "classes", WORDS, TEXTS, NAMES)
    model = model_for(task, "encoder-only", {"kind": "classes"}, input={"kind": "spelled", "letters": 8}).eval()
    assert isinstance(model, EncoderOnly)
    batch = task.batch(encoded(task, TEXTS, NAMES))
    assert batch.source is not None
    assert batch.steps_vary
    assert model(batch.source.tokens_N, batch.source.layout).layout.lengths_B.tolist() == [3, 2, 6]
    assert task.loss(model, batch, Goals()).isfinite()


def test_a_word_that_training_never_saw_is_told_by_its_letters() -> None:
    task = task_of(Classify(spelled=True), "classes", WORDS, TEXTS, NAMES)
    model = model_for(task, "encoder-only", {"kind": "classes"}, input={"kind": "spelled", "letters": 8}).eval()
    batches = [task.batch(encoded(task, [text], ["no"])).source for text in ("a flim", "a flum")]
    one, other = (model.scores(model(side.tokens_N, side.layout)) for side in batches if side is not None)  # type: ignore[call-arg]
    assert not torch.allclose(one, other)
