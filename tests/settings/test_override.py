"""`--set a.b=c`."""

from typing import Any

import pytest

from seqloom.settings import SettingsError
from seqloom.settings.lines import KeyPath
from seqloom.settings.override import apply


def data() -> dict[str, Any]:
    return {"model": {"width": 16, "mixer": [{"kind": "attention"}, {"kind": "convolution"}]}}


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("model.width=512", ("model", "width"), 512),
        (" model.width = 512 ", ("model", "width"), 512),
        ("model.rate=1e-4", ("model", "rate"), 1e-4),
        ("model.tie=true", ("model", "tie"), True),
        ("model.mixer=attention", ("model", "mixer"), "attention"),
        ("model.mixer='attention'", ("model", "mixer"), "attention"),
        ('model.mixer={kind="attention",heads=4}', ("model", "mixer"), {"kind": "attention", "heads": 4}),
        ("model.mixer.1.kernel=2", ("model", "mixer", 1, "kernel"), 2),
        ("model.mixer.0=3", ("model", "mixer", 0), 3),
        ("new.table.size=3", ("new", "table", "size"), 3),
        ('model."a.b"=3', ("model", "a.b"), 3),
        ("source=a = b", ("source",), "a = b"),
        ("source=", ("source",), ""),
        ("source=1\nx=2", ("source",), "1\nx=2"),
        ("source=1, 2", ("source",), "1, 2"),
    ],
)
def test_an_override_sets_one_value(override: str, path: KeyPath, value: object) -> None:
    changed = data()
    assert apply(override, changed) == path
    for step in path:
        changed = changed[step]  # type: ignore[index]
    assert changed == value


def test_the_rest_stays() -> None:
    changed = data()
    apply("model.mixer.1.kernel=2", changed)
    assert changed == {"model": {"width": 16, "mixer": [{"kind": "attention"}, {"kind": "convolution", "kernel": 2}]}}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("model", "should be name=value, as in --set model.width=512"),
        ("=3", "should be name=value, as in --set model.width=512"),
        ("model width=3", "should be name=value, as in --set model.width=512"),
        ("model..width=3", "should be name=value, as in --set model.width=512"),
        ("model.width.size=3", "model.width is 16, not a table"),
        ("model.mixer.2.heads=3", "model.mixer is a list of 2; items go by number, from 0"),
        ("model.mixer.2=3", "model.mixer is a list of 2; items go by number, from 0"),
        ("model.mixer.heads=3", "model.mixer is a list of 2; items go by number, from 0"),
        ("model.mixer={kind=attention}", "the value is not valid TOML; words in it need quotes"),
    ],
)
def test_an_override_that_cannot_be(override: str, expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        apply(override, data())
    assert str(caught.value) == f"--set {override}: {expected}"


def test_inside_a_table_that_is_not_written() -> None:
    """It begins as the default, so that its kind need not be said."""
    from seqloom.jobs.recipes.recipe import Recipe
    from seqloom.settings import loads

    assert loads("", Recipe, ["training.optimiser.rate=0.5"]).training.optimiser.model_dump()["rate"] == 0.5
    muon = loads("", Recipe, ["training.optimiser.kind=muon", "training.optimiser.others.rate=0.5"])
    assert muon.training.optimiser.model_dump()["others"]["rate"] == 0.5
    assert loads("", Recipe, ["model.mixer.heads=2"]).model.mixer.model_dump()["kind"] == "attention"


def test_another_kind_leaves_behind_what_it_does_not_have() -> None:
    from seqloom.jobs.recipes.recipe import Recipe
    from seqloom.settings import loads

    text = '[model]\nmixer = { kind = "attention", heads = 2 }\ncross = { kind = "attention", heads = 2 }\n'
    other = loads(text, Recipe, ["model.mixer.kind=convolution", "model.cross.kind=bottleneck"]).model
    assert (other.mixer.model_dump()["kind"], other.cross.model_dump()["kind"]) == ("convolution", "bottleneck")
    many = text.replace('{ kind = "attention", heads = 2 }\nc', '[{ kind = "attention", heads = 2 }]\nc')
    assert loads(many, Recipe, ["model.mixer.0.kind=convolution"]).model.mixer[0].model_dump()["kind"] == "convolution"
    with pytest.raises(SettingsError, match="no kind 'convulution'; did you mean 'convolution'"):
        loads(text, Recipe, ["model.mixer.kind=convulution"])
