"""What is decided of sizes, batches and steps."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.data.order import Order, Weighted
from seqloom.jobs import plan
from seqloom.jobs.corpora import Corpora
from seqloom.jobs.plan import Amount, amount, budget, candidates, fitting, largest, steps_of
from seqloom.jobs.sizes import SIZES, Size, model_of
from seqloom.models import Sizes
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Classify, Goals, Language, Tag, Translate
from seqloom.training.settings import TrainingSettings
from seqloom.training.step import Work
from tests.training.small import small

CPU = torch.device("cpu")


def _amount(tokens: int, length: float = 20.0) -> Amount:
    return Amount(tokens, tokens, round(tokens / length), length, length)


def _size(tokens: int, seconds: float | None, peak: float = 1e11) -> Size:
    much = _amount(tokens)

    def made(size: Size) -> ModelSettings:
        return ModelSettings.model_validate(model_of(size, "pairs", 0.1, shared=True))

    return largest(candidates(made, Sizes(4000, 4000), much, 20.0), much, seconds, peak)


def test_sizes_grow_with_data_and_time() -> None:
    by_data = [_size(tokens, None).width for tokens in (1000, 10**5, 10**6, 10**8)]
    assert by_data == sorted(by_data)
    assert by_data[0] == SIZES[0].width
    assert by_data[-1] == SIZES[-1].width
    by_time = [_size(10**7, seconds).width for seconds in (5, 120, 3600, 10**6)]
    assert by_time == sorted(by_time)
    assert by_time[0] < by_time[-1]


def _corpora(task: Any, columns: dict[str, int], rows: int, weight: float = 1.0) -> Corpora:
    class Small:
        totals = SimpleNamespace(tokens=columns)

        def __len__(self) -> int:
            return rows

    known: Any = {"translate": "pairs", "language": "text", "tag": "tags", "classify": "classes"}
    from seqloom.tasks.language import LanguageTask

    made: Any = LanguageTask.__new__(LanguageTask) if task.kind == "language" else SimpleNamespace()
    made.settings = task
    if task.kind != "language":
        made.shape = known[task.kind]
    cache: Any = Small()
    return Corpora(made, (Weighted(cache, weight),), (), (), ("a",), ())


@pytest.mark.parametrize(
    ("task", "columns", "counted", "larger"),
    [
        (Translate(), {"source": 900, "target": 300}, 400, 1000),
        (Classify(), {"source": 900, "target": 100}, 100, 1000),
        (Tag(), {"source": 900, "target": 900}, 900, 900),
        (Language(context=10), {"target": 900}, 900, 900),
        (Language(context=10, lines="documents"), {"target": 900}, 1000, 1000),
    ],
)
def test_how_much_there_is(task: Any, columns: dict[str, int], counted: int, larger: int) -> None:
    """Of 100 examples; with their marks for begin or end."""
    much = amount(_corpora(task, columns, 100))
    assert (much.tokens, much.larger) == (counted, larger)
    twice = amount(_corpora(task, columns, 100, weight=2.0))
    assert (twice.tokens, twice.larger) == (2 * counted, 2 * larger)


def test_epochs_are_epochs(tmp_path: Path) -> None:
    """So many steps as that many times all examples take; the longer side fills the batches."""
    made = small(tmp_path)
    totals = made.cache.totals
    corpora = Corpora(made.task, (Weighted(made.cache),), (), (), ("a",), ())
    assert totals.tokens["source"] == totals.tokens["target"]
    steps = steps_of(TrainingSettings(epochs=4.0), amount(corpora), 60)
    real = 4 * sum(1 for _ in Order([Weighted(made.cache)], 60, 1).epoch(0))
    assert steps == pytest.approx(real, rel=0.2)


def test_steps() -> None:
    much = _amount(100_000)
    assert steps_of(TrainingSettings(steps=7), much, 1000) == 7
    assert steps_of(TrainingSettings(steps=0), much, 1000) == 0
    assert steps_of(TrainingSettings(epochs=2.0), much, 1000) == 200
    assert steps_of(TrainingSettings(epochs=2.0, accumulate=4), much, 1000) == 50
    assert steps_of(TrainingSettings(epochs=2.0, steps=150), much, 1000) == 150
    assert steps_of(TrainingSettings(minutes=1.0), much, 1000) is None
    assert steps_of(TrainingSettings(minutes=1.0, steps=5), much, 1000) == 5
    assert steps_of(TrainingSettings(), much, 1000) == 6000
    assert steps_of(TrainingSettings(), _amount(100), 1000) == 200


def test_a_batch_that_suits_the_run() -> None:
    auto = TrainingSettings()
    assert budget(TrainingSettings(batch=77), _amount(10**6), CPU, None) == 77
    assert budget(auto, _amount(100), CPU, None) == 512
    assert budget(auto, _amount(20_000), CPU, None) == 1000
    assert budget(auto, _amount(10**9), CPU, None) == 4096
    assert budget(auto, _amount(10**9), torch.device("cuda"), None) == 25_000
    assert budget(auto, _amount(10**9), CPU, 1_500_000.0) == 1000


def test_a_batch_that_fits_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(tmp_path)
    work = Work(made.task, made.model(), Goals(), CPU, None, 0, note=lambda text: None)
    order = Order([Weighted(made.cache)], 60, 1)
    assert fitting(4000, work, order, 8) == (4000, None)
    per_token, fixed = plan.bytes_per_token(work, order)
    assert 1000 < per_token < 10**6
    monkeypatch.setattr(plan, "free_bytes", lambda device: (fixed + 500 * per_token) / plan.SHARE)
    found, note = fitting(4000, work, order, 8)
    assert found in (499, 500)
    assert note == f"batches of {found} tokens instead of 4,000, so that they fit into the memory"
    monkeypatch.setattr(plan, "free_bytes", lambda device: 0.0)
    assert fitting(4000, work, order, 8)[0] == 9  # the longest example is to fit in any case


def test_speed_is_measured(tmp_path: Path) -> None:
    made = small(tmp_path)
    work = Work(made.task, made.model(), Goals(), CPU, None, 0, note=lambda text: None)
    assert np.isfinite(plan.speed(work, Order([Weighted(made.cache)], 60, 1)))
    assert plan.speed(work, Order([Weighted(made.cache)], 10**6, 1)) > 1  # one batch is all there is
