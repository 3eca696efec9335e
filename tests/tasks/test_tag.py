"""Tags: one for each word, at its first piece."""

import torch

from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Frame, Goals, Tag
from seqloom.tasks.tag import TagTask
from seqloom.text import Labels
from tests.tasks.small import CHARACTERS, WORDS, by_hand, encoded, model_for, padded, rows_of, task_of

SENTENCES = [["the", "cat"], ["a"], ["sits", "on", "it"]]
TAGS = [["D", "N"], ["D"], ["V", "P", "N"]]


def test_a_tag_stands_at_the_first_piece_of_its_word() -> None:
    task = task_of(Tag(), "tags", CHARACTERS, SENTENCES, TAGS)
    examples = encoded(task, SENTENCES, TAGS)
    assert isinstance(task.codecs.target, Labels)
    d, n, v, p = task.codecs.target.encode(["D", "N", "V", "P"])
    assert rows_of(examples.columns["target"]) == [
        [d, -1, -1, -1, n, -1, -1],  # a space stands between two words
        [d],
        [v, -1, -1, -1, -1, p, -1, -1, n, -1],
    ]
    assert task.batch(examples).count == 6


def test_a_word_that_is_there_twice_in_a_row_has_two_tags() -> None:
    task = task_of(Tag(), "tags", CHARACTERS, [["ha", "ha"]], [["X", "Y"]])
    (row,) = rows_of(encoded(task, [["ha", "ha"]], [["X", "Y"]]).columns["target"])
    assert [place for place, tag in enumerate(row) if tag >= 0] == [0, 3]


def test_an_unknown_tag_does_not_count() -> None:
    task = task_of(Tag(), "tags", CHARACTERS, SENTENCES, TAGS)
    assert task.batch(encoded(task, [["the", "cat"]], [["D", "strange"]])).count == 1


def test_the_loss_is_that_of_padded_rows() -> None:
    task = task_of(Tag(), "tags", CHARACTERS, SENTENCES, TAGS)
    model = model_for(task, "encoder-only", "tags").eval()
    assert isinstance(model, EncoderOnly)
    examples = encoded(task, SENTENCES, TAGS)
    scores = model.scores(model(*padded(rows_of(examples.columns["source"]))))
    wanted = by_hand(list(scores), rows_of(examples.columns["target"]), 0.1)
    torch.testing.assert_close(task.loss(model, task.batch(examples), Goals(0.1)), wanted)


def test_a_model_that_does_not_fit() -> None:
    assert "it needs an encoder-only model" in (TagTask.refuses(ModelSettings(family="encoder-decoder")) or "")
    classes = ModelSettings.model_validate({"family": "encoder-only", "output": {"kind": "classes"}})
    assert "writes classes" in (TagTask.refuses(classes) or "")


def _spelled() -> tuple[TagTask, EncoderOnly]:
    task = task_of(Tag(spelled=True), "tags", WORDS, SENTENCES, TAGS)
    model = model_for(task, "encoder-only", "tags", input={"kind": "spelled", "letters": 8}).eval()
    assert isinstance(task, TagTask)
    assert isinstance(model, EncoderOnly)
    return task, model


def test_spelled_words_have_one_goal_each() -> None:
    task, model = _spelled()
    batch = task.batch(encoded(task, SENTENCES, TAGS))
    assert batch.source is not None
    assert len(batch.source.tokens_N) == 6 + sum(len(word) for words in SENTENCES for word in words)
    assert batch.goal.tolist() == task.labels.encode([tag for tags in TAGS for tag in tags])
    output = model(batch.source.tokens_N, batch.source.layout)
    assert output.layout.lengths_B.tolist() == [2, 1, 3]
    scores = [part[None] for part in model.scores(output)]
    wanted = by_hand(scores, [[goal] for goal in batch.goal.tolist()], 0.1)
    torch.testing.assert_close(task.loss(model, batch, Goals(0.1)), wanted)
    assert Frame.around(batch, 1000) is None  # how many words it holds, no shape says


def test_an_unknown_word_is_told_by_its_letters() -> None:
    task, model = _spelled()
    batch = [task.batch(encoded(task, [["the", word]], [["D", "N"]])) for word in ("dog", "dig", "dög")]
    dog, dig, odd = (model.scores(model(one.source.tokens_N, one.source.layout)) for one in batch if one.source)
    assert not torch.allclose(dog[1], dig[1])
    assert not torch.allclose(dog[1], odd[1])


def test_one_word_sentences_are_rows_of_a_step() -> None:
    task, model = _spelled()
    batch = task.batch(encoded(task, [["a"], ["it"], ["cat"]], [["D"], ["N"], ["N"]]))
    assert len(batch.goal) == 3
    assert Frame.around(batch, 1000) is None
    assert task.loss(model, batch, Goals()).isfinite()
