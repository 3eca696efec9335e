"""What is carried from window to window: read in parts, a text is as likely as read at once."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.layers.mixer import tensors_of
from seqloom.models.decoder_only import DecoderOnly
from seqloom.tasks import Goals, Language
from seqloom.tasks.batch import Batch
from seqloom.tasks.carried import Carried
from seqloom.tasks.language import LanguageTask
from seqloom.training.validation import mean_loss
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of

LINES = ["to be or not to be", "that is the question", "whether tis nobler in the mind to suffer"] * 3
CPU = torch.device("cpu")
MIXERS: dict[str, dict[str, Any]] = {
    "lstm": {"kind": "recurrence", "cell": "lstm", "depth": 2},
    "gru": {"kind": "recurrence", "cell": "gru"},
    "elman": {"kind": "recurrence", "cell": "elman"},
    "convolution": {"kind": "convolution", "kernel": 3, "dilation": 2},
    "bottleneck-convolution": {"kind": "bottleneck-convolution", "dilation": 2},
    "gated-linear": {"kind": "gated-linear", "heads": 2},
}
mixers = pytest.mark.parametrize("mixer", MIXERS)


def _task(context: int, carry: bool = True) -> LanguageTask:
    task = task_of(Language(context=context, carry=carry), "text", CHARACTERS, LINES)
    assert isinstance(task, LanguageTask)
    return task


def _model(task: LanguageTask, mixer: str) -> DecoderOnly:
    model = model_for(task, "decoder-only", mixer=MIXERS[mixer], positions={"kind": "none"})
    assert isinstance(model, DecoderOnly)
    return model


def _batches(task: LanguageTask, budget: int = 5) -> list[Batch]:
    assert task.streams is not None
    windows, groups = task.streams.cut(encoded(task, LINES), budget, None)
    return [task.batch(replace(windows.take(rows), goes_on=place > 0)) for place, rows in enumerate(groups)]


@mixers
def test_in_windows_as_at_once(mixer: str) -> None:
    """By the mean of the losses, which is another one where nothing is carried."""
    task, whole = _task(5), _task(1000)
    model = _model(task, mixer)
    at_once = mean_loss(model, whole, [_batches(whole)[0].examples], CPU)
    assert mean_loss(model, task, [batch.examples for batch in _batches(task)], CPU) == pytest.approx(at_once, abs=1e-9)
    anew = [replace(batch.examples, goes_on=False) for batch in _batches(task)]
    assert mean_loss(model, task, anew, CPU) != pytest.approx(at_once, abs=1e-4)


@mixers
def test_side_by_side_as_one_after_the_other(mixer: str) -> None:
    """Rows do not hear of each other: the first stream's losses are those that it has alone."""
    task = _task(5)
    model, several, alone = _model(task, mixer), Carried(), Carried()
    for batch in _batches(task, budget=20):
        assert len(batch.examples) == 4
        first = task.batch(replace(batch.examples.take(np.arange(1)), goes_on=batch.goes_on))
        given, own = (one.target for one in (batch, first))
        assert given is not None
        assert own is not None
        together = several.read(model, given.tokens_N, given.layout, batch.goes_on)
        apart = alone.read(model, own.tokens_N, own.layout, batch.goes_on)
        torch.testing.assert_close(together.hidden[: len(apart.hidden)], apart.hidden)


@mixers
def test_gradients_end_where_a_window_begins(mixer: str) -> None:
    task = _task(5)
    model, carried = _model(task, mixer), Carried()
    for batch in _batches(task)[:3]:
        task.loss(model, replace(batch, carried=carried), Goals()).backward()
        assert not any(part.requires_grad for part in tensors_of(carried.state))


def test_a_checkpoint_of_it() -> None:
    task = _task(5)
    model, one, other = _model(task, "lstm"), Carried(), Carried()
    first, second, *_ = _batches(task, budget=20)
    task.loss(model, replace(first, carried=one), Goals())
    other.load(model, one.tensors())
    losses = [task.loss(model, replace(second, carried=carried), Goals()).item() for carried in (one, other)]
    assert losses[0] == losses[1]
    assert losses[0] != task.loss(model, replace(second, carried=Carried()), Goals()).item()
    assert Carried().tensors() == {}
    Carried().load(model, {})


@pytest.mark.parametrize("change", [-1, 1])
def test_a_checkpoint_of_another_state_is_refused(change: int) -> None:
    """In a word that whoever goes on understands."""
    task = _task(5)
    model, one = _model(task, "lstm"), Carried()
    task.loss(model, replace(_batches(task)[0], carried=one), Goals())
    tensors = one.tensors()
    count = len(tensors)
    other = {str(place): tensors[str(min(place, count - 1))] for place in range(count + change)}
    with pytest.raises(ValueError, match=f"^{count + change} tensors, but the state has {count}$"):
        Carried().load(model, other)


def test_without_it_windows_begin_anew() -> None:
    task = _task(5, carry=False)
    assert task.streams is None
    assert task.reshape is not None
