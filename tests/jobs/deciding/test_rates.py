"""The rate that is chosen where nobody names one."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.jobs.deciding.asked import Command, asked
from seqloom.jobs.deciding.decide import decide
from seqloom.jobs.deciding.rates import LEAST, MOST, optimiser_for, rate_for
from seqloom.jobs.train import train
from seqloom.training.optimisers import AdamW, Muon
from tests.jobs.run import write_pairs

BASE = Muon(rate=0.01, others=AdamW(rate=0.003, decay=0.0))

# width, batch, steps: between which rates the best of benchmarks/results/learning_rates.txt lies
MEASURED = [
    (128, 1024, 1200, 0.01, 0.04),
    (128, 4096, 300, 0.02, 0.04),
    (256, 1024, 1200, 0.005, 0.02),
    (256, 4096, 1200, 0.01, 0.04),
    (512, 4096, 600, 0.01, 0.04),
    (128, 1024, 3000, 0.005, 0.02),
]


@pytest.mark.parametrize(("width", "batch", "steps", "low", "high"), MEASURED)
def test_it_is_near_the_best_that_was_measured(width: int, batch: int, steps: int, low: float, high: float) -> None:
    assert low < rate_for(width, batch, steps) <= high


def test_its_directions_and_bounds() -> None:
    middle = rate_for(256, 2048, 2000)
    assert rate_for(256, 8192, 2000) > middle
    assert rate_for(512, 2048, 2000) < middle
    assert rate_for(256, 2048, 20_000) < middle
    assert rate_for(16, 10**6, 0) == MOST
    assert rate_for(4096, 512, 10**7) == LEAST


def _run(*changes: str, out: str = "run") -> Muon:
    command = Command(data=("pairs.tsv",), out=Path(out), changes=("training.batch=200", *changes))
    optimiser = train(command, view="none").recipe.training.optimiser
    assert isinstance(optimiser, Muon)
    return optimiser


def test_a_run_that_goes_on_keeps_its_rate(place: Path) -> None:
    """Though more steps would have been given another one."""
    write_pairs(place / "pairs.tsv")
    chosen = _run("training.steps=2", "model.width=32")
    assert chosen == optimiser_for(BASE, 32, 200, 2)
    assert optimiser_for(BASE, 32, 200, 400) != chosen
    assert _run("training.steps=3", "model.width=32") == chosen


def test_a_rate_that_was_asked_for_stays(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    assert _run("training.steps=1", "training.optimiser.rate=0.5").rate == 0.5
    again = _run("training.steps=2", "training.optimiser.rate=0.25")
    assert (again.rate, again.others.rate) == (0.25, 0.075)  # the rest follows it


def test_what_else_is_said_of_the_optimiser_does_not_stop_the_choice(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    chosen = _run("training.steps=2", "model.width=32", "training.optimiser.momentum=0.5")
    assert chosen == optimiser_for(BASE.model_copy(update={"momentum": 0.5}), 32, 200, 2)
    both = _run("training.steps=2", "training.optimiser.rate=0.5", "training.optimiser.others.rate=0.1", out="other")
    assert (both.rate, both.others.rate) == (0.5, 0.1)


@pytest.mark.parametrize(("steps", "tie", "dropout"), [(1, "none", 0.0), (400, "all", 0.2)])
def test_what_depends_on_how_often_the_data_is_seen(place: Path, steps: int, tie: str, dropout: float) -> None:
    write_pairs(place / "pairs.tsv")
    command = Command(data=("pairs.tsv",), changes=(f"training.steps={steps}", "training.batch=200", "model.width=16"))
    model = decide(asked(command), command.changes, lambda note: None, 0.0).recipe.model
    assert (model.tie, model.dropout) == (tie, dropout)
    changes = (*command.changes, "model.tie=inputs", "model.dropout=0.3")
    model = decide(asked(replace(command, changes=changes)), changes, lambda note: None, 0.0).recipe.model
    assert (model.tie, model.dropout) == ("inputs", 0.3)
