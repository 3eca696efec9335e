"""A run that is asked for again when it is done."""

from pathlib import Path

import pytest

from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.learning.done_already import done_already
from seqloom.jobs.train import train
from seqloom.store import RunFolder
from seqloom.training.place import Place
from seqloom.training.settings import TrainingSettings


def _said(capfd: pytest.CaptureFixture[str], *changes: str) -> list[str]:
    train(Command("r.toml", ("pairs.tsv",), out=Path("run"), changes=changes), view="lines")
    lines = capfd.readouterr().err.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("run folder: "))
    return lines[begin + 1 :]


def test_the_same_command_again(pairs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = _said(capfd, "training.steps=3")
    assert first[-1].startswith("ended at step 3 of 3")
    for steps in 3, 2:
        again = _said(capfd, f"training.steps={steps}")
        assert again[0] == (
            "run: is done already, after step 3: all steps are done; to go on, ask for more "
            f"(training.steps above {steps}), or begin anew with --force"
        )
        assert again[1:] == [first[-1].split("   ")[2]]
    assert _said(capfd, "training.steps=4")[0] == "goes on after step 3"


@pytest.mark.parametrize(
    ("training", "more"),
    [
        (TrainingSettings(minutes=1.5), "--minutes above 1.5"),
        (TrainingSettings(minutes=2, steps=1_000_000), "--minutes above 2 or training.steps above 1000000"),
        (TrainingSettings(epochs=3), "training.epochs above 3"),
        (TrainingSettings(flops=1e15), "training.flops above 1e+15"),
        (TrainingSettings(steps=100, patience=4), "training.patience above 4"),
        (TrainingSettings(steps=100, patience=5), "training.steps above 100"),
    ],
)
def test_how_to_go_on(training: TrainingSettings, more: str) -> None:
    place = Place(step=7, since_best=4)
    assert done_already(RunFolder(Path("a")), place, "so it is", training) == (
        f"a: is done already, after step 7: so it is; to go on, ask for more ({more}), or begin anew with --force"
    )
    assert done_already(RunFolder(Path("a")), place, None, training) == ""
