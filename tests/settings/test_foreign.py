"""What other toolkits call a setting: each is one here."""

import re

import pytest

from seqloom.settings.foreign import TRAINING, WRITING, Way, foreign
from tests.settings.paths import is_setting


@pytest.mark.parametrize("way", {**TRAINING, **{f"{name} ": way for name, way in WRITING.items()}}.values(), ids=str)
def test_every_setting_is_one(way: Way) -> None:
    assert way.setting or way.option or way.remark
    assert not way.setting or is_setting(way.setting)
    assert all(map(is_setting, re.findall(r"--set ([a-z_.]+)=", way.told("1"))))
    assert not is_setting("training.optimiser.lr")


def test_whose_name_it_is() -> None:
    batch, answers = TRAINING["batch-size"], WRITING["batch-size"]
    assert (foreign("Batch_Size", writing=False), foreign("batch-size", writing=True)) == (batch, answers)
    assert foreign("beam_size", writing=False) == WRITING["beam-size"]
    assert foreign("lr", writing=True) is None  # nobody trains then
    assert foreign("model-path", writing=False) is None  # a remark on the words of other commands


@pytest.mark.parametrize(
    ("way", "written"),
    [
        (Way("a.b"), "a.b?"),
        (Way("a.b", "…", remark="in c"), "a.b? (in c)"),
        (Way("a.b", "true"), "a.b = true?"),
        (Way("a.b", "1.0"), "a.b = 1.0?"),
        (Way("a.b", "bf16"), "a.b = 'bf16'?"),
    ],
)
def test_as_a_recipe_says_it(way: Way, written: str) -> None:
    assert way.written() == written
