"""The gradients of a step: the same, however its examples are cut into batches."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.order import Order, Weighted
from seqloom.models.build import Model
from seqloom.settings import FailedError
from seqloom.tasks import Batch, Goals
from seqloom.training.step import Work
from tests.training.small import Small, small


def _work(made: Small, model: Model, notes: list[str] | None = None) -> Work:
    note = (lambda text: None) if notes is None else notes.append
    return Work(made.task, model, Goals(0.1), torch.device("cpu"), None, 1, note)


def _batches(made: Small, parts: int, rows: int = 47) -> list[Batch]:
    (examples,) = made.cache.read([0])
    return [made.task.batch(examples.take(part)) for part in np.array_split(np.arange(rows), parts)]


def _gradients(work: Work, batches: list[Batch]) -> tuple[Tensor, dict[str, Tensor]]:
    loss = work.gradients(3, batches)
    return loss, {name: p.grad.clone() for name, p in work.model.named_parameters() if p.grad is not None}


def _same(one: tuple[Tensor, dict[str, Tensor]], other: tuple[Tensor, dict[str, Tensor]]) -> None:
    torch.testing.assert_close(one[0], other[0], rtol=0, atol=1e-6)
    assert one[1].keys() == other[1].keys()
    for name in one[1]:
        torch.testing.assert_close(one[1][name], other[1][name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("parts", [2, 5])
def test_accumulated_batches_are_one_large_batch(made: Small, parts: int) -> None:
    """Of unequal numbers of tokens, which a mean of means would get wrong."""
    work = _work(made, made.model())
    batches = _batches(made, parts)
    assert len({batch.count for batch in batches}) > 1
    whole = _gradients(work, _batches(made, 1))
    _same(_gradients(work, batches), whole)
    assert any(grad.abs().max() > 1e-3 for grad in whole[1].values())


def test_chance_is_a_function_of_seed_step_and_place(made: Small) -> None:
    work = _work(made, made.model(dropout=0.3))
    batches = _batches(made, 2)
    torch.manual_seed(5)
    one = work.gradients(3, batches)
    torch.manual_seed(99)
    assert work.gradients(3, batches) == one
    assert work.gradients(4, batches) != one


def _full(monkeypatch: pytest.MonkeyPatch, made: Small, room: int, error: Exception) -> None:
    real = made.task.loss

    def loss(model: Model, batch: Batch, goals: Goals) -> Tensor:
        if len(batch.examples) > room:
            raise error
        return real(model, batch, goals)

    monkeypatch.setattr(made.task, "loss", loss)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
    ],
    ids=["gpu", "cpu"],
)
def test_out_of_memory_splits_the_batch(made: Small, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    notes: list[str] = []
    work = _work(made, made.model(), notes)
    whole = _gradients(work, _batches(made, 1))
    _full(monkeypatch, made, 14, error)
    _same(_gradients(work, _batches(made, 1)), whole)
    assert notes == [f"step 3: out of memory; done again in {parts} parts" for parts in (2, 4)]


def test_out_of_memory_with_one_example(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _work(made, made.model())
    _full(monkeypatch, made, 0, torch.OutOfMemoryError("no"))
    with pytest.raises(FailedError, match="step 3: out of memory, even with one example at a time; allow shorter"):
        work.gradients(3, _batches(made, 1, rows=3))


def test_other_errors_are_not_hidden(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _work(made, made.model())
    _full(monkeypatch, made, 0, RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError, match="shapes differ"):
        work.gradients(3, _batches(made, 1))


def test_which_examples_give_no_number(made: Small) -> None:
    """Those that hold the token whose vector is no number."""
    model = made.model()
    (examples,) = made.cache.read([0])
    token = made.task.codecs.source.encode(["f"])[0][0]
    with torch.no_grad():
        model.get_parameter("source.embedding.weight_VD")[token] = float("inf")
    rows = [row for row in range(len(examples)) if token in examples.columns["source"][row]]
    assert 0 < len(rows) < len(examples)
    assert _work(made, model).not_finite(examples).tolist() == rows
    some = Examples.join([examples.take(np.arange(1))])
    assert _work(made, made.model()).not_finite(some).tolist() == []


def test_each_batch_of_a_step_has_a_chance_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropout that is the same in all accumulated batches would not be that of one large batch."""
    made = small(tmp_path)
    model, seeds, real = made.model(), list[int](), Work.seed_chance

    def seeded(self: Work, *at: int) -> None:
        real(self, *at)
        seeds.append(torch.initial_seed())

    monkeypatch.setattr(Work, "seed_chance", seeded)
    work = Work(made.task, model, Goals(), torch.device("cpu"), None, 5, note=lambda text: None)
    batches = [made.task.batch(examples) for examples in Order([Weighted(made.cache)], 60, 1).epoch(0)][:3]
    work.gradients(1, batches)
    work.gradients(2, batches)
    assert len(set(seeds)) == 6
    again = list(seeds)
    seeds.clear()
    work.gradients(1, batches)
    assert seeds == again[:3]


def test_chance_is_the_steps_own_on_any_device(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    work, seeds = replace(_work(made, made.model()), device=torch.device("mps")), list[int]()
    monkeypatch.setattr(torch.mps, "manual_seed", seeds.append)
    for step in (1, 2, 1):
        work.seed_chance(step)
    assert seeds[0] == seeds[2] != seeds[1]
