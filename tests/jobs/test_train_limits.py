"""How long a run goes on: minutes, steps, epochs, FLOPs."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seqloom.jobs.deciding import decide
from seqloom.jobs.deciding.asked import Budget, Command, asked
from seqloom.jobs.deciding.plan import amount
from seqloom.jobs.train import train
from seqloom.models import model_cost
from seqloom.settings import FailedError, UserError
from seqloom.training import peak_memory
from seqloom.training.limits import Limits
from seqloom.training.loop import Loop
from seqloom.training.place import Place
from tests.jobs.run import PAIRS, write_pairs, write_recipe
from tests.jobs.whole_run import QUICK, run_again, run_of

NO_STEP = (
    r"^no step was made, as what comes before took all of the time \(--minutes 1\); "
    "the same command goes on with what is prepared, or give more$"
)


def test_minutes(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    began = time.monotonic()
    trained = run_of("pairs.tsv", minutes=0.1)
    took = time.monotonic() - began
    assert took < 6 + 4
    rates = [line["rate"] for line in trained.run.read_metrics() if "rate" in line]
    assert len(rates) > 3
    assert trained.place.ended == "the time is over"
    assert rates[-1] < max(rates) / 2  # it was annealed


def test_minutes_count_from_when_the_command_began(pairs: Path) -> None:
    began = time.monotonic() - 100
    command = Command("r.toml", ("pairs.tsv",), out=Path("run"), minutes=1.0, changes=("training.steps=100000",))
    assert train(command, view="none", began=began).place.ended == "the time is over"
    assert time.monotonic() - began < 110


def test_memory_of_what_was_tried_out_before_is_forgotten(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten, seen, steps = pairs / "forgotten", list[bool](), Loop.train
    monkeypatch.setattr(peak_memory, "FORGET", forgotten)

    def from_the_first_step_on(loop: Loop) -> Place:
        seen.append(forgotten.exists())
        return steps(loop)

    monkeypatch.setattr(Loop, "train", from_the_first_step_on)
    run_again(set={"training.steps": 3})
    assert seen == [True]


def test_a_run_that_had_no_time_for_a_step_begins_with_the_same_command(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No first weights are left that would answer, and the run is not done."""
    with monkeypatch.context() as patch:
        patch.setattr(Limits, "done", lambda *_: 1.0)
        with pytest.raises(FailedError, match=NO_STEP):
            run_again(minutes=1.0, set={"training.steps": 3})
    assert not (pairs / "run" / "model.safetensors").exists()
    trained = run_again(minutes=1.0, set={"training.steps": 3})
    assert (trained.place.step, trained.place.ended) == (3, "all steps are done")


def test_no_steps(pairs: Path) -> None:
    trained = run_again(set={"training.steps": 0})
    assert trained.place.step == 0
    assert (pairs / "run" / "model.safetensors").exists()


def test_epochs(pairs: Path) -> None:
    trained = run_of(
        "pairs.tsv", recipe=str(write_recipe(pairs / "e.toml", text=PAIRS.replace("steps = 40", "epochs = 2.0")))
    )
    place, data = trained.place, trained.corpora
    assert isinstance(trained.recipe.training.batch, int)
    order = data.order(trained.recipe.training.batch, trained.recipe.training.seed)
    assert place.step == sum(1 for epoch in range(2) for _ in order.epoch(epoch))
    assert (place.epochs, place.ended) == (2.0, "all epochs are done")


def test_minutes_for_a_recipe_that_was_made_for_days(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    recipe = write_recipe(place / "r.toml", 'schedule = { kind = "inverse-sqrt", warmup = 4000 }\n')
    changes = ("training.steps=3",)
    trained = train(
        Command(recipe=str(recipe), data=("pairs.tsv",), minutes=0.2, out=Path("run"), changes=changes), view="none"
    )
    assert trained.recipe.training.schedule.kind == "cosine"


def test_flops_are_counted(place: Path) -> None:
    """By the model's cost for each token that counts; R-Drop runs the model twice."""
    write_pairs(place / "pairs.tsv")
    command = Command(recipe=str(write_recipe(place / "r.toml")), data=("pairs.tsv",), out=Path("run"), changes=QUICK)
    once = train(command, view="none")
    much = amount(once.corpora)
    cost = model_cost(once.recipe.model, once.corpora.task.sizes(), much.length, much.source_length)
    assert once.place.flops == pytest.approx(once.place.tokens * 3 * cost.flops)
    twice = train(replace(command, out=Path("twice"), changes=(*QUICK, "training.r_drop=1.0")), view="none")
    assert twice.place.flops == pytest.approx(2 * once.place.flops)


def test_a_step_that_does_not_fit_into_the_minutes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before it is tried: by a small batch."""
    write_pairs(place / "pairs.tsv")
    budgets: list[int] = []

    def slow(work: Any, order: Any) -> float:
        budgets.append(order.budget)
        return 2.0

    monkeypatch.setattr(decide, "step_seconds", slow)
    recipe = str(write_recipe(place / "r.toml"))
    command = Command(recipe=recipe, data=("pairs.tsv",), minutes=0.3, changes=("training.batch=25600",))
    with pytest.raises(
        UserError, match=r"a step of 25,600 tokens takes about 50 s and the validation 0 s, too long for 18 s;"
    ):
        train(command, view="none")
    assert max(budgets) <= 1024


def test_flops_end_a_run_and_fit_its_schedule(pairs: Path) -> None:
    """To within a step; a warm-up that is longer than the run becomes a tenth of it."""
    text = 'schedule = { kind = "inverse-sqrt", warmup = 4000 }\n'
    recipe = str(write_recipe(pairs / "s.toml", text))
    trained = run_of("pairs.tsv", recipe=recipe, budget=Budget("flops", 2e8))
    place = trained.place
    assert place.ended == "all FLOPs are spent"
    assert 2e8 <= place.flops < 2e8 * (1 + 2 / place.step)
    assert trained.recipe.training.steps is None  # the recipe's own 40 do not hold
    assert trained.recipe.training.schedule.kind == "cosine"
    assert trained.recipe.training.schedule.warmup == 0.1
    assert f"| training FLOPs | {place.flops:.2e} |" in trained.run.card.read_text()
    assert "| memory | " in trained.run.card.read_text()
    assert run_of("pairs.tsv", recipe=recipe, budget=Budget("flops", 2e8)).place.step == place.step


def test_a_schedule_that_is_set_is_obeyed(pairs: Path) -> None:
    schedule = {"training.schedule": "{kind='inverse-sqrt', warmup=4000}"}
    trained = run_again(set=schedule, budget=Budget("flops", 2e8)).recipe.training
    assert (trained.schedule.kind, trained.schedule.warmup) == ("inverse-sqrt", 4000)


@pytest.mark.parametrize("end", ["training.steps=3", "training.epochs=1"])
def test_an_end_that_is_set_replaces_those_of_the_recipe(place: Path, end: str) -> None:
    """Its minutes too: a run of so many steps, with so many validations, is the same on any day."""
    write_pairs(place / "pairs.tsv")
    text = 'minutes = 5\nschedule = { kind = "inverse-sqrt", warmup = 4000 }\n'
    recipe = str(write_recipe(place / "r.toml", text, PAIRS.replace("validate_every = 8", "validate_every = 1")))
    command = Command(recipe=recipe, data=("pairs.tsv",), out=Path("run"), changes=(end,))
    trained = train(command, view="none")
    training = trained.recipe.training
    assert (training.minutes, training.schedule.kind) == (None, "inverse-sqrt")
    assert trained.place.validations == trained.place.step
    both = replace(command, out=Path("both"), changes=(end, "training.minutes=4"))
    assert asked(both).recipe.training.minutes == 4
    assert asked(replace(both, minutes=3.0)).recipe.training.minutes == 3
    assert asked(replace(command, changes=(), minutes=3.0)).recipe.training.steps == 40  # minutes are a limit besides
    assert asked(replace(command, changes=("training.minutes=3",))).recipe.training.steps == 40


@pytest.mark.parametrize(("budget", "steps"), [(Budget("epochs", 2.0), 16), (Budget("minutes", 0.05), None)])
def test_a_budget_stands_over_the_recipe(pairs: Path, budget: Budget, steps: int | None) -> None:
    place = run_again(budget=budget).place
    assert place.step == steps if steps else place.ended == "the time is over"
