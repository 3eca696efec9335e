"""What a run decides before it begins, by measuring."""

import time
from pathlib import Path

import pytest
import torch

from seqloom.jobs.deciding import decide as deciding
from seqloom.jobs.deciding.asked import Command, asked
from seqloom.jobs.deciding.decide import decide
from seqloom.training.precision import Choice
from seqloom.training.schedules import Cosine, InverseSqrt
from seqloom.training.settings import TrainingSettings
from seqloom.training.step import Work
from tests.jobs.run import write_pairs, write_recipe


@pytest.mark.parametrize(
    ("half", "plain", "wanted"), [(0.2, 0.1, "float32"), (0.1, 0.105, "float32"), (0.1, 0.2, "bf16")]
)
def test_half_precision_on_a_cpu_only_where_this_model_is_faster_with_it(
    place: Path, half: float, plain: float, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose single layers are faster in bf16 may train a whole model more slowly with it."""
    write_pairs(place / "a.tsv")
    write_recipe(place / "r.toml")
    monkeypatch.setattr(deciding, "choose", lambda precision, device: Choice(torch.bfloat16, "bf16: by a layer"))

    def seconds(work: Work, order: object) -> float:
        return plain if work.precision is None else half

    monkeypatch.setattr(deciding, "step_seconds", seconds)
    monkeypatch.setattr(deciding, "SMALL", 0)
    command, notes = Command("r.toml", ("a.tsv",), changes=("training.steps=2", "training.device=cpu")), list[str]()
    decided = decide(asked(command), command.changes, notes.append, 0.0)
    assert decided.recipe.training.precision == wanted
    words = f"precision: {wanted}: a step took {half * 1e3:.0f} ms in bf16 and {plain * 1e3:.0f} ms in float32"
    assert words in notes


def test_small_models_are_not_measured(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two runs of one command might compute in two ways."""
    write_pairs(place / "a.tsv")
    write_recipe(place / "r.toml")
    monkeypatch.setattr(deciding, "choose", lambda precision, device: Choice(torch.bfloat16, "bf16: by a layer"))
    monkeypatch.setattr(deciding, "step_seconds", lambda work, order: pytest.fail("measured"))
    command, notes = Command("r.toml", ("a.tsv",), changes=("training.steps=2", "training.device=cpu")), list[str]()
    decided = decide(asked(command), command.changes, notes.append, 0.0)
    assert decided.recipe.training.precision == "float32"
    assert "precision: float32: the model is too small to gain by bf16" in notes


@pytest.mark.parametrize(("every", "steps"), [("auto", 450), (10, 300), (1, 75)])
def test_validations_that_are_asked_for_are_counted(every: int | str, steps: int) -> None:
    """A step of 0.2 s, a validation of 1 s, and one at the end: of 91 s."""
    training = TrainingSettings.model_validate({"validate_every": every, "minutes": 1.5})
    assert deciding._in_time(training, 100, 91.0, 0.2, 1.0) == steps


def test_a_schedule_without_an_end_gets_one_and_how_to_keep_it_is_told() -> None:
    notes, training = list[str](), TrainingSettings(schedule=InverseSqrt(warmup=4000))
    assert deciding._ending(training, 1000, notes.append) == Cosine(warmup=0.1)
    assert notes == [
        "the schedule inverse-sqrt has no end: cosine, so that the rate is down when the run ends "
        "(to have it all the same: --set training.schedule.kind=inverse-sqrt)",
        "a warm-up of 4,000 steps is too long for about 1,000: 10% of the run",
    ]


@pytest.mark.parametrize("change", ["training.schedule.kind=inverse-sqrt", " training.schedule.warmup = 4000"])
def test_a_schedule_that_is_set_stays_and_its_long_warm_up_is_told(place: Path, change: str) -> None:
    write_pairs(place / "a.tsv")
    (place / "r.toml").write_text(
        write_recipe(place / "r.toml").read_text() + 'schedule = { kind = "inverse-sqrt", warmup = 4000 }\n'
    )
    changes, notes = ("training.minutes=0.2", change, "training.device=cpu"), list[str]()
    decided = decide(asked(Command("r.toml", ("a.tsv",), changes=changes)), changes, notes.append, time.monotonic())
    assert decided.recipe.training.schedule == InverseSqrt(warmup=4000)
    assert [note for note in notes if note.endswith("it stays, as it was set")]
    assert not [note for note in notes if "has no end" in note]
