"""What a run decides before it begins, by measuring."""

from pathlib import Path

import pytest
import torch

from seqloom.jobs.deciding import decide as deciding
from seqloom.jobs.deciding.asked import Command, asked
from seqloom.jobs.deciding.decide import decide
from seqloom.training.precision import Choice
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
