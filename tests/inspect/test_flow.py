"""Every recipe draws itself: boxes with names of their own, edges between them, a way from input to output."""

from pathlib import Path

import pytest
import torch

from seqloom.inspect.drawing import Flow
from seqloom.inspect.flow import draw
from seqloom.inspect.sentences import SENTENCES
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.build import Model, build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.settings import load
from tests.laws.model_cases import SETTINGS

FOLDER = Path(__file__).parents[2] / "recipes"
RECIPES = [file for file in sorted(FOLDER.glob("*.toml")) if not (FOLDER / f"{file.stem}-small.toml").exists()]


def _check(flow: Flow, model: Model) -> None:
    ids = [box.id for box in flow.boxes]
    assert len(set(ids)) == len(ids)
    assert {end for edge in flow.edges for end in edge[:2]} <= set(ids)
    assert [id for group in flow.groups for id in group.boxes] == ids
    assert {box.group for box in flow.boxes} == {group.id for group in flow.groups}
    assert all(box.of in ids for box in flow.boxes if box.of is not None)
    assert all(box.sentence and box.title for box in flow.boxes)
    modules = dict(model.named_modules())
    whole = [box for box in flow.boxes if box.of is None and box.id in modules]
    assert {"head", *(f"{name}.mixer" for name in _blocks(model))} <= {box.id for box in whole}
    for box in whole:
        assert box.parameters == sum(one.numel() for one in set(modules[box.id].parameters())), box.id


def _blocks(model: Model) -> list[str]:
    return [name for name, module in model.named_modules() if type(module).__name__ == "Block"]


def _reached(flow: Flow, begin: str) -> set[str]:
    after: dict[str, list[str]] = {}
    for start, end, _ in flow.edges:
        after.setdefault(start, []).append(end)
    found, open_ = {begin}, [begin]
    while open_:
        more = [end for end in after.get(open_.pop(), []) if end not in found]
        found.update(more)
        open_ += more
    return found


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_every_recipe(file: Path) -> None:
    settings = load(file, Recipe).model
    with torch.device("meta"):
        model = build_model(settings, Sizes(30, 30, steps=96))
    flow = draw(model)
    _check(flow, model)
    given = [box.id for box in flow.boxes if box.kind in ("tokens", "readings")]
    assert len(given) == (2 if settings.family == "encoder-decoder" else 1)
    for begin in given:
        assert "head" in _reached(flow, begin)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_kind_of_model(name: str) -> None:
    model = build_model(ModelSettings.model_validate(SETTINGS[name]), Sizes(11, 11))
    _check(draw(model), model)


def test_the_2017_figure() -> None:
    model = build_model(ModelSettings.model_validate(SETTINGS["transformer-2017"]), Sizes(11, 11))
    flow = draw(model)
    inside = [box.title for box in flow.boxes if box.group == "decoder.blocks.0" and box.of is None]
    assert inside == [
        "masked self-attention",
        "add",
        "layer norm",
        "attention over the source",
        "add",
        "layer norm",
        "feed-forward",
        "add",
        "layer norm",
    ]
    steps = [box.id.rpartition(".")[2] for box in flow.boxes if box.of == "decoder.blocks.0.mixer"]
    assert steps == ["q", "k", "v", "scores", "mask", "weights", "heads"]
    last = "encoder.blocks.1.around_feed_forward.norm_sum"
    assert {(a, b) for a, b, kind in flow.edges if kind == "memory"} == {
        (last, f"decoder.blocks.{layer}.cross.{part}") for layer in (0, 1) for part in "kv"
    }
    assert ("target.sum", "decoder.blocks.0.around_mixer.sum", "residual") in flow.edges


def test_a_sentence_says_no_symbol_twice() -> None:
    """Every kind has a sentence of its own."""
    assert len(set(SENTENCES.values())) == len(SENTENCES)
