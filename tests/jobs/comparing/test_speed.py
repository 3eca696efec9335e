"""Speeds: one quantity for all systems, whatever their losses are means over."""

from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.comparing.result import Facts
from seqloom.jobs.comparing.speed import per_part
from seqloom.tasks.masked import MaskedTask
from seqloom.training.place import Place
from tests.jobs.asked_runs import RECIPES, Runs
from tests.jobs.run import write_recipe


@pytest.mark.parametrize("name", ["sentences", "joined", "joined target", "text", "masked", "classes"])
def test_an_epoch_has_as_many(runs: Runs, place: Path, name: str) -> None:
    text, data = RECIPES[name.partition(" ")[0]]
    file = write_recipe(place / "r.toml", text=text.replace("all", "target") if "target" in name else text)
    trained = seqloom.train(file, data=runs.files[data], out=place / "run", changes=["training.steps=0"], view="none")
    corpora, task = trained.corpora, trained.corpora.task
    counted, read, examples = 0, 0, 0
    for rows in corpora.order(300, 1).epoch(0):
        batch = task.batch(rows)
        counted, read, examples = counted + batch.count, read + batch.tokens, examples + len(rows)
    wanted = {
        "pairs": corpora.tokens("target") + corpora.rows,
        "text": read - (task.marks * examples if isinstance(task, MaskedTask) else 0),
        "classes": examples,
    }[task.shape]
    found = per_part(task, corpora)
    assert found is not None
    assert found * counted == pytest.approx(wanted, rel=0.15 if name == "masked" else 1e-6)  # rounded, row by row
    assert (per_part(task, None) is None) is (name == "joined")


def test_the_speed_of_a_training() -> None:
    place = Place(step=2, tokens=100, seconds=6.0, validating=1.0)
    assert Facts.of(7, place, 0.5).per_second == 10.0
    assert Facts.of(7, place, None).per_second is None
    assert Facts.of(7, None, 1.0).per_second is None
