"""What defines each recipe is still in it; the tests beside this one show that it works."""

import pytest

from seqloom.jobs.recipes.shipped import names
from tests.recipes.shrunk import recipe
from tests.recipes.tricks.convolutions import CONVOLUTIONS
from tests.recipes.tricks.lookup import look_up
from tests.recipes.tricks.others import OTHERS
from tests.recipes.tricks.recurrent import RECURRENT
from tests.recipes.tricks.transformers import TRANSFORMERS

TRICKS = RECURRENT | CONVOLUTIONS | TRANSFORMERS | OTHERS

# they show the program at work and follow no paper: any of their settings may be changed for a better one
DEMOS = {"demo-dates", "demo-digits", "demo-numbers", "demo-phonemes"}


@pytest.mark.parametrize("name", TRICKS)
def test_tricks(name: str) -> None:
    made, lost = recipe(name), {}
    for path, wanted in TRICKS[name].items():
        found = look_up(made, path)
        each = [wanted] * len(found) if isinstance(found, list) and not isinstance(wanted, list) else wanted
        if found != each or found == []:
            lost[path] = found, wanted
    assert not lost


def test_every_recipe_has_its_tricks_written_down() -> None:
    assert set(names()) == TRICKS.keys() | DEMOS
