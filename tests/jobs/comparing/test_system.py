"""Systems: what is wrong with them, and whether anything is left for them to learn."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.jobs.comparing.system import System, is_trained, systems_of
from seqloom.jobs.deciding.asked import Budget, Command, asked
from seqloom.jobs.train import train
from seqloom.settings import SettingsError, UserError
from seqloom.store import RunFolder
from tests.jobs.run import PAIRS, write_recipe


def _system(*changes: str) -> System:
    command = Command("r.toml", ("pairs.tsv",), out=Path("run"), budget=Budget("epochs", 1.0), changes=changes)
    return System("r", Path("run"), asked(command).recipe, command)


@pytest.mark.usefixtures("pairs")
def test_whether_it_is_trained() -> None:
    system = _system()
    assert system.command is not None
    assert not is_trained(system)
    train(replace(system.command, budget=Budget("epochs", 0.5)), view="none")
    assert not is_trained(system)
    train(system.command, view="none")
    assert is_trained(system)
    assert is_trained(replace(system, command=None))
    assert not is_trained(_system("training.patience=3")), "it may have been ended by another"
    run = RunFolder(system.run)
    card = run.card.read_text()
    run.card.unlink()
    assert not is_trained(system), "it was killed before its end"
    run.card.write_text(card)
    assert is_trained(system)
    for state in run.state.glob("step-*/state.json"):
        state.write_text("{}")
    assert not is_trained(system)
    for state in run.state.glob("step-*/state.json"):
        state.write_text("{")
    assert not is_trained(system)


def test_mistakes_of_all_recipes_are_told_at_once(pairs: Path) -> None:
    write_recipe(pairs / "bad.toml", text=PAIRS.replace("width = 16", "wdth = 16").replace("steps", "stesp"))
    write_recipe(pairs / "odd.toml", text=PAIRS.replace("depth", "depht"))
    command = Command(data=("pairs.tsv",), budget=Budget("epochs", 1.0))
    bad = (
        "bad.toml:7: [model] has no setting 'wdth'; did you mean 'width'?\n"
        "bad.toml:16: [training] has no setting 'stesp'; did you mean 'steps'?"
    )
    with pytest.raises(UserError) as caught:
        systems_of(["bad.toml", "r.toml", "odd.toml", "gone"], command, Path("runs"))
    assert str(caught.value) == (
        f"{bad}\nodd.toml:8: [model] has no setting 'depht'; did you mean 'depth'?\n"
        "no recipe 'gone'; `seqloom recipes` lists them; a file's name ends in .toml"
    )
    with pytest.raises(SettingsError) as one:
        systems_of(["bad.toml", "r.toml"], command, Path("runs"))
    assert str(one.value) == bad
    recipes = [str(write_recipe(pairs / name)) for name in ("a.toml", "b.toml")]
    (pairs / "plain.txt").write_text("so good\n")
    with pytest.raises(UserError) as both:
        systems_of(recipes, replace(command, data=("plain.txt",), source="x"), Path("runs"))
    assert str(both.value) == "--source x: plain.txt: plain text has no columns"
