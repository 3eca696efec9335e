"""The built-in model: as small as it is said to be, and right."""

import json

import pytest
import torch

from seqloom.jobs.lecture import WEIGHTS, lecture, pairs
from seqloom.jobs.lecture import train as anew
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import dump, loads
from seqloom.text.specials import SPECIALS


def test_it_is_as_small_as_it_is_said_to_be() -> None:
    model = lecture()
    assert model.recipe.model.width == 6
    for side in (model.task.codecs.source, model.task.codecs.target):
        assert len(side) == 11  # type: ignore[arg-type]
    assert len(SPECIALS) + 6 == 11
    assert len(pairs()) == 8
    assert all(len(text.split()) == 3 for pair in pairs() for text in pair)


@pytest.mark.parametrize(("source", "target"), pairs())
def test_its_answers_are_right(source: str, target: str) -> None:
    answer = lecture().predict(source, attention=True)
    assert answer.text == target
    assert answer.probability > 0.5
    assert answer.attention_TS is not None
    assert answer.attention_TS[:3].argmax(1).tolist() == [1, 0, 2]  # the noun, the adjective, the verb


def test_every_weight_has_two_decimals() -> None:
    kept = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    assert sum(torch.tensor(numbers).numel() for numbers in kept.values()) == lecture().opened[0].parameters
    for numbers in kept.values():
        hundred = torch.tensor(numbers, dtype=torch.float64) * 100
        assert torch.allclose(hundred, hundred.round(), atol=1e-9)


def test_the_file_is_written_as_it_is_read() -> None:
    kept = {name: torch.tensor(numbers) * 100 for name, numbers in json.loads(WEIGHTS.read_text("utf-8")).items()}
    assert anew.text({name: tensor.round() for name, tensor in kept.items()}) == WEIGHTS.read_text("utf-8")


def test_its_recipe_is_a_recipe() -> None:
    recipe = lecture().recipe
    assert loads(dump(recipe), Recipe, name="again") == recipe
