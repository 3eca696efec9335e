"""Steps that carry a text's state on: batch after batch they learn from the text as it stands."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from seqloom.data.cache import Cache, CacheWriter
from seqloom.data.order import Order, Weighted
from seqloom.data.streams import Streams
from seqloom.models.build import Model
from seqloom.tasks import Batch, Goals, Language
from seqloom.tasks.language import LanguageTask
from seqloom.training import loop
from seqloom.training.step import Work
from seqloom.training.stream import stream
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of

LINES = ["to be or not to be", "that is the question", "whether tis nobler in the mind to suffer"] * 4
STREAMS = 3


@pytest.fixture
def task() -> LanguageTask:
    found = task_of(Language(context=5, carry=True), "text", CHARACTERS, LINES)
    assert isinstance(found, LanguageTask)
    return found


@pytest.fixture
def epoch(task: LanguageTask, tmp_path: Path) -> list[Batch]:
    """All batches of the first, as a run has them."""
    with CacheWriter(tmp_path / "text.arrow", {"target": np.int32}, {}) as writer:
        writer.add(encoded(task, LINES))
    order = Order([Weighted(Cache(tmp_path / "text.arrow"))], 5 * STREAMS, 1, streams=task.streams)
    endless: Iterator[tuple[tuple[int, int, int], float, Batch]] = stream(task, order, 1, None, 0, (0, 0, 0))
    return [batch for _, _, batch in takewhile(lambda numbered: numbered[0][0] == 0, endless)]


def _work(task: LanguageTask) -> Work:
    model: Model = model_for(
        task, "decoder-only", mixer={"kind": "recurrence", "cell": "lstm"}, positions={"kind": "none"}
    )
    return Work(task, model, Goals(), torch.device("cpu"), None, 1, note=lambda text: None)


def _sum(work: Work, batches: list[Batch]) -> float:
    return sum(work.gradients(step, [batch]).item() * batch.count for step, batch in enumerate(batches))


def _whole(task: LanguageTask, epoch: list[Batch]) -> Batch:
    """Each stream as one row."""
    first = epoch[0].examples
    rows = []
    for row in range(STREAMS):
        windows = [batch.examples.columns["target"][row].tolist() for batch in epoch]
        assert all(before[-1] == behind[0] for before, behind in pairwise(windows))
        rows.append([windows[0][0], *(token for window in windows for token in window[1:])])
    return task.batch(replace(first, columns={"target": type(first.columns["target"]).rows(rows)}))


def test_a_run_learns_from_the_text_as_it_stands(task: LanguageTask, epoch: list[Batch]) -> None:
    """The losses of an epoch's steps are those of its streams, each read at once."""
    assert len(epoch) > 5
    assert [batch.goes_on for batch in epoch] == [False] + [True] * (len(epoch) - 1)
    whole = _whole(task, epoch)
    assert whole.count == sum(batch.count for batch in epoch)
    at_once = _sum(_work(task), [whole])
    assert _sum(_work(task), epoch) == pytest.approx(at_once, rel=1e-6)
    assert _sum(_work(task), [replace(batch, goes_on=False) for batch in epoch]) != pytest.approx(at_once, rel=1e-5)


def test_several_batches_in_a_step_follow_each_other(task: LanguageTask, epoch: list[Batch]) -> None:
    one, other = _work(task), _work(task)
    pair = epoch[:2]
    apart = sum(one.gradients(1, [batch]).item() * batch.count for batch in pair)
    together = other.gradients(1, pair).item() * sum(batch.count for batch in pair)
    assert together == pytest.approx(apart, rel=1e-6)


def test_a_step_that_is_made_again_begins_where_it_began(task: LanguageTask, epoch: list[Batch]) -> None:
    """To find out what went wrong in it."""
    work = _work(task)
    work.gradients(1, epoch[:1])
    loss = work.gradients(2, epoch[1:2])
    grads = {name: weight.grad.clone() for name, weight in work.model.named_parameters() if weight.grad is not None}
    assert work.again(2, epoch[1:2]).equal(loss)
    assert all(weight.grad.equal(grads[name]) for name, weight in work.model.named_parameters() if name in grads)  # type: ignore[union-attr]
    assert not work.gradients(2, epoch[1:2]).equal(loss)


@pytest.mark.parametrize("streams", [None, Streams(5)])
def test_no_step_that_carries_a_state_is_recorded(streams: Streams | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU a recording would read the state of the batch that it was made of, each time."""
    monkeypatch.setattr(loop, "Recorder", lambda *given: "a recorder")
    setup = SimpleNamespace(device=torch.device("cuda"), objective=None, task=SimpleNamespace(streams=streams))
    training = SimpleNamespace(accumulate=1, clip=0.0, batch=15)
    teller = SimpleNamespace(note=print)
    made = SimpleNamespace(setup=setup, training=training, work=None, optimiser=None, ema=None, teller=teller)
    assert loop.Loop._recorder(made) == ("a recorder" if streams is None else None)  # type: ignore[arg-type]
