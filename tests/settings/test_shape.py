"""pydantic's locations, back to the user's paths."""

import pytest

from seqloom.settings.lines import KeyPath
from seqloom.settings.shape import discriminator, follow, kinds, literals, names
from tests.settings.example import Attention, Bias, Convolution, Recipe, Rotary

MODEL = ["width", "mixer", "memory", "dropout", "tie", "cross", "decoder", "names", "limits"]


@pytest.mark.parametrize(
    ("loc", "path"),
    [
        (("model", "mixer", "one", "attention", "heads"), ("model", "mixer", "heads")),
        (("model", "mixer", "many", 1, "attention", "heads"), ("model", "mixer", 1, "heads")),
        (("model", "mixer", "one", "attention", "relative", "bias", "reach"), ("model", "mixer", "relative", "reach")),
        (("model", "mixer", "one", "convolution", "convolution"), ("model", "mixer", "convolution")),
        (("model", "memory", "convolution", "kernel"), ("model", "memory", "kernel")),
        (("model", "memory", "attention", "window", "constrained-int"), ("model", "memory", "window")),
        (("model", "cross", "many", 1, "attention", "heads"), ("model", "cross", 1, "heads")),
        (("model", "names", 3), ("model", "names", 3)),
        (("model", "limits", "attention"), ("model", "limits", "attention")),
        (("model", "nothing"), ("model", "nothing")),
    ],
)
def test_labels_of_unions_are_no_steps(loc: KeyPath, path: KeyPath) -> None:
    assert follow(Recipe, loc)[0] == path


def test_what_is_expected_there() -> None:
    assert names(follow(Recipe, ("model",))[1]) == MODEL
    assert follow(Recipe, ("model", "mixer", "many", 0, "attention", "heads"))[1].type is int
    assert literals(follow(Recipe, ("model", "memory", "attention", "window"))[1]) == ["all"]


def test_kinds() -> None:
    memory = follow(Recipe, ("model", "memory"))[1]
    relative = follow(Recipe, ("model", "memory", "attention", "relative"))[1]
    assert (discriminator(memory), kinds(memory)) == ("kind", {"attention": Attention, "convolution": Convolution})
    assert (discriminator(relative), kinds(relative)) == ("kind", {"bias": Bias, "rotary": Rotary})
    assert kinds(follow(Recipe, ("model", "mixer"))[1]) == {}
