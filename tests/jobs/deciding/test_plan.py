"""What is decided of sizes, batches and steps."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seqloom.data.cache import Examples
from seqloom.data.order import Order, Weighted
from seqloom.data.ragged import Ragged
from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.deciding import plan
from seqloom.jobs.deciding.plan import (
    Amount,
    about_steps,
    amount,
    budget_of,
    candidates,
    fitting,
    flops_per_token,
    largest,
    steps_of,
    timed_budget,
    trial_of,
)
from seqloom.jobs.deciding.sizes import SIZES, Size, model_of
from seqloom.layers.paths import only_plain
from seqloom.models import Sizes
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Classify, Goals, Language, Masked, Tag, Task, Translate, build_task
from seqloom.text.labels import NONE
from seqloom.training.optimisers import Muon
from seqloom.training.pace import ROWS, WIDTHS, Pace
from seqloom.training.settings import TrainingSettings
from seqloom.training.step import Work
from tests.tasks.small import CHARACTERS, WORDS, encoded, model_for, task_of
from tests.training.small import Small, small

CPU = torch.device("cpu")


def _amount(tokens: int, length: float = 20.0) -> Amount:
    return Amount(tokens, tokens, round(tokens / length), length, length)


def _size(tokens: int, seconds: float | None, peak: float = 1e11) -> Size:
    much = _amount(tokens)

    def made(size: Size) -> ModelSettings:
        return ModelSettings.model_validate(model_of(size, "pairs", 0.1, shared=True))

    return largest(candidates(SIZES, made, Sizes(4000, 4000), much, 20.0), much, seconds, peak)


def test_sizes_grow_with_data_and_time() -> None:
    by_data = [_size(tokens, None).width for tokens in (1000, 10**5, 10**6, 10**8)]
    assert by_data == sorted(by_data)
    assert by_data[0] == SIZES[0].width
    assert by_data[-1] == SIZES[-1].width
    by_time = [_size(10**7, seconds).width for seconds in (5, 120, 3600, 10**6)]
    assert by_time == sorted(by_time)
    assert by_time[0] < by_time[-1]


def _corpora(task: Any, columns: dict[str, int], rows: int, weight: float = 1.0) -> Corpora:
    known: Any = {"translate": "pairs", "language": "text", "tag": "tags", "classify": "classes"}
    from seqloom.tasks.language import LanguageTask

    made: Any = LanguageTask.__new__(LanguageTask) if task.kind == "language" else SimpleNamespace()
    made.settings = task
    if task.kind != "language":
        made.shape = known[task.kind]
    return _holding(made, columns, rows, weight)


def _holding(task: Task, columns: dict[str, int], rows: int, weight: float = 1.0) -> Corpora:
    class Small:
        totals = SimpleNamespace(tokens=columns)

        def __len__(self) -> int:
            return rows

        def read(self, chunks: Any) -> list[Any]:
            return [SimpleNamespace(columns={"target": Ragged.rows([[1, NONE, 2]])})]

    cache: Any = Small()
    return Corpora(task, (Weighted(cache, weight),), (), (), ("a",), ())


@pytest.mark.parametrize(
    ("task", "columns", "counted", "larger"),
    [
        (Translate(), {"source": 900, "target": 300}, 400, 1000),
        (Classify(), {"source": 900, "target": 100}, 100, 1000),
        (Tag(), {"source": 900, "target": 900}, 600, 900),  # of a word of several pieces one has a tag
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


@pytest.mark.parametrize("learn", ["target", "all"])
def test_flops_of_a_joined_text(learn: Literal["target", "all"]) -> None:
    """The output layer runs where something is asked only. Counted while a batch of equal rows runs."""
    words, settings = ["abcd", "bcad", "dabc"], Translate(learn=learn)
    codecs = task_of(settings, "pairs", CHARACTERS.model_copy(update={"shared": True}), words, words).codecs
    task = build_task(settings, codecs, "decoder-only")
    much = amount(_holding(task, {"source": 12, "target": 12}, 3))
    _check_flops(task, encoded(task, words, words), "decoder-only", much)


def test_flops_of_masked_text() -> None:
    lines = [" ".join("abcdefghijklmnopqrst" * 5)]
    task = task_of(Masked(context=110, follows=False, share=0.25), "text", WORDS, lines)
    examples = Examples(
        {"source": encoded(task, lines).columns["target"], "target": Ragged.rows([[1]])},
        np.zeros(1, int),
        np.ones(1, int),
    )
    # marks, which are never asked for, are not counted beforehand
    _check_flops(task, examples, "encoder-only", amount(_holding(task, {"target": 100}, 1)), near=0.06)


def _check_flops(task: Task, examples: Examples, family: str, much: Amount, near: float = 1e-9) -> None:
    model, batch = model_for(task, family).eval(), task.batch(examples)
    with only_plain(), FlopCounterMode(display=False) as counter, torch.no_grad():
        task.loss(model, batch, Goals())
    counted = 3 * counter.get_total_flops() / batch.count
    per_token = flops_per_token(model.settings, task.sizes(), much, much.tokens / much.examples)
    assert per_token == pytest.approx(counted, rel=near)


def test_epochs_are_epochs(tmp_path: Path) -> None:
    """About so many steps as that many times all examples take; the longer side fills the batches."""
    made = small(tmp_path)
    totals = made.cache.totals
    corpora = Corpora(made.task, (Weighted(made.cache),), (), (), ("a",), ())
    assert totals.tokens["source"] == totals.tokens["target"]
    steps = about_steps(TrainingSettings(epochs=4.0), amount(corpora), 60)
    real = 4 * sum(1 for _ in Order([Weighted(made.cache)], 60, 1).epoch(0))
    assert steps == pytest.approx(real, rel=0.2)


def test_steps() -> None:
    much = _amount(100_000)
    assert steps_of(TrainingSettings(steps=7), much, 1000) == 7
    assert steps_of(TrainingSettings(steps=0), much, 1000) == 0
    assert steps_of(TrainingSettings(epochs=2.0), much, 1000) is None
    assert steps_of(TrainingSettings(epochs=2.0, steps=150), much, 1000) == 150
    assert about_steps(TrainingSettings(epochs=2.0), much, 1000) == 200
    assert about_steps(TrainingSettings(epochs=2.0, accumulate=4), much, 1000) == 50
    assert about_steps(TrainingSettings(epochs=2.0, steps=150), much, 1000) == 150
    assert about_steps(TrainingSettings(steps=150), much, 1000) == 150
    assert steps_of(TrainingSettings(minutes=1.0), much, 1000) is None
    assert steps_of(TrainingSettings(minutes=1.0, steps=5), much, 1000) == 5
    assert steps_of(TrainingSettings(flops=1e9), much, 1000) is None
    assert steps_of(TrainingSettings(), much, 1000) == 6000
    assert steps_of(TrainingSettings(), _amount(100), 1000) == 200


def test_a_batch_that_suits_the_data() -> None:
    assert budget_of(_amount(100), CPU) == 512
    assert budget_of(_amount(20_000), CPU) == 1000
    assert budget_of(_amount(10**9), CPU) == 4096
    assert budget_of(_amount(10**9), torch.device("cuda")) == 25_000


def _work(made: Small) -> tuple[Work, Corpora]:
    work = Work(made.task, made.model(), Goals(), CPU, None, 0, note=lambda text: None)
    return work, Corpora(made.task, (Weighted(made.cache),), (), (), ("a",), ())


def test_a_batch_that_suits_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As large as leaves time for enough steps, where a step of n tokens takes n milliseconds."""
    work, corpora = _work(small(tmp_path))
    monkeypatch.setattr(plan, "step_seconds", lambda work, order, enough=1.0: order.budget / 1000)
    assert timed_budget(work, corpora, 1, seconds=1.0) == (512, 0.512)  # too little for enough steps in any case
    assert timed_budget(work, corpora, 1, seconds=1.1 * plan.STEPS) == (1024, 1.024)
    assert timed_budget(work, corpora, 1, seconds=3.9 * plan.STEPS) == (2048, 2.048)
    assert timed_budget(work, corpora, 1, seconds=10**6) == (4096, 4.096)


def test_a_batch_that_fits_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, corpora = _work(small(tmp_path))
    longest = max(corpora.train[0].cache.totals.longest.values())
    assert fitting(4000, work, corpora, 1) == (4000, None)
    per_token, fixed = plan.bytes_per_token(work, Order(corpora.train, plan.TRIAL, 1))
    assert 1000 < per_token < 10**6
    monkeypatch.setattr(plan, "free_bytes", lambda device: (fixed + 500 * per_token) / plan.SHARE)
    found, note = fitting(4000, work, corpora, 1)
    assert found in (499, 500)
    assert note == f"batches of {found} tokens instead of 4,000, so that they fit into the memory"
    monkeypatch.setattr(plan, "free_bytes", lambda device: 0.0)
    assert fitting(4000, work, corpora, 1)[0] == longest + 1  # the longest example is to fit in any case


def test_a_step_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, corpora = _work(small(tmp_path))
    assert 0 < plan.step_seconds(work, Order(corpora.train, 60, 1)) < 60
    assert plan.step_seconds(work, Order(corpora.train, 10**6, 1)) > 0  # one batch is all there is
    clock = iter([0.0, 3.0, 3.0, 3.5])  # the first time is slower, of one batch too
    monkeypatch.setattr(plan, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert plan.step_seconds(work, Order(corpora.train, 10**6, 1)) == 0.5


def test_an_update_is_timed(tmp_path: Path) -> None:
    work, corpora = _work(small(tmp_path))
    plan.step_seconds(work, Order(corpora.train, 60, 1))
    assert 0 < plan.update_seconds(work, Muon()) < 60


def _pace(**seconds: float) -> Pace:
    return Pace(
        tuple((1e9,) * len(WIDTHS) for _ in ROWS), {name.replace("_", " "): each for name, each in seconds.items()}
    )


def test_a_larger_batch_takes_longer_as_the_pace_says(tmp_path: Path) -> None:
    work, corpora = _work(small(tmp_path))
    model = work.model.settings
    assert plan.grown(1.0, 100, 400, model, corpora, None) == 4.0
    assert plan.grown(1.0, 100, 400, model, corpora, _pace(products=1.0)) == pytest.approx(4.0)
    assert plan.grown(1.0, 100, 400, model, corpora, _pace(parts=1.0)) == pytest.approx(1.0), "calls are as many"
    assert 1.0 < plan.grown(1.0, 100, 400, model, corpora, _pace(parts=1e-4, products=1.0)) < 4.0


def test_a_pace_that_is_known_decides_the_size() -> None:
    much = _amount(10**7)

    def made(size: Size) -> ModelSettings:
        return ModelSettings.model_validate(model_of(size, "pairs", 0.1, shared=True))

    found = candidates(SIZES, made, Sizes(4000, 4000), much, 20.0)
    slow, quick = (largest(found, much, 600, 1e11, dict.fromkeys(SIZES, each)) for each in (1.0, 1e-9))
    assert (slow, quick) == (SIZES[0], SIZES[-1])


def test_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, corpora = _work(small(tmp_path))
    before = torch.get_num_threads()
    with plan.threads(3):
        monkeypatch.setattr(plan, "step_seconds", lambda work, order, enough=1.0: 1.0 / torch.get_num_threads())
        assert plan.threads_of(work, corpora, 1) == 3
        monkeypatch.setattr(plan, "step_seconds", lambda work, order, enough=1.0: float(torch.get_num_threads()))
        assert plan.threads_of(work, corpora, 1) == 1
        monkeypatch.setattr(plan, "SMALL", 1)
        assert plan.threads_of(work, corpora, 1) == 3
    assert torch.get_num_threads() == before


def test_a_validation_is_timed_before_it_is_made() -> None:
    """Three thousand tokens in a hundred rows, all of which are written, or none."""

    class Rows:
        totals = SimpleNamespace(tokens={"source": 2000, "target": 3000})

        def __len__(self) -> int:
            return 100

    rows: Any = Rows()
    pairs = Corpora(SimpleNamespace(shape="pairs"), (), (rows,), (), (), ())  # type: ignore[arg-type]
    assert plan.validation_seconds(pairs, 0.001, 200) == pytest.approx(4.0)
    assert plan.validation_seconds(pairs, 0.001, 50) == pytest.approx(2.5)
    tags = Corpora(SimpleNamespace(shape="tags"), (), (rows,), (), (), ())  # type: ignore[arg-type]
    assert plan.validation_seconds(tags, 0.001, 200) == pytest.approx(1.0)


def test_a_trial_has_room_for_a_picture() -> None:
    """Its time is told for its tokens, and one picture would else stand for fewer than it has."""
    totals = SimpleNamespace(longest={"source": 128 * 128})
    data = SimpleNamespace(
        task=SimpleNamespace(shape="series"), train=[SimpleNamespace(cache=SimpleNamespace(totals=totals))]
    )
    assert trial_of(data, 32 * 128 * 128, torch.device("cpu")) == 128 * 128  # type: ignore[arg-type]
    totals.longest["source"] = 28
    assert trial_of(data, 32 * 28 * 28, torch.device("cpu")) == plan.TRIAL  # type: ignore[arg-type]
