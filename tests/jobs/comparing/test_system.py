"""Systems: whether anything is left for them to learn."""

from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.jobs.comparing.system import System, is_trained
from seqloom.jobs.deciding.asked import Budget, Command, asked
from seqloom.jobs.train import train
from seqloom.store import RunFolder


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
