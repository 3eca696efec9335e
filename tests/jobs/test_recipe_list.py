"""Recipes with what they cost, counted beforehand."""

import json
import zlib
from pathlib import Path

import pytest

from seqloom.jobs import recipe_file, recipe_list
from seqloom.jobs.recipe import Recipe
from seqloom.jobs.recipe_cost import listed
from seqloom.models import Sizes, model_cost
from seqloom.settings import load, loads

FILES = recipe_file.names()


def test_what_is_kept_is_what_is_counted() -> None:
    """Else: python -m seqloom.jobs.recipe_list"""
    kept = json.loads((recipe_file.folder() / recipe_list.COUNTED).read_text(encoding="utf-8"))
    counted = {name: listed(load(file, Recipe)) for name, file in FILES.items()}
    assert kept.keys() == counted.keys()
    for name, one in kept.items():
        assert one.pop("checksum") == zlib.crc32(FILES[name].read_bytes()), name
        assert recipe_list.Listed(**one) == counted[name], name


def test_published_sizes_are_taken() -> None:
    recipe = load(FILES["transformer-base"], Recipe)
    assert listed(recipe).parameters == model_cost(recipe.model, Sizes(37000, 37000)).parameters
    assert listed(recipe).sure
    text = "[target]\nsource_size = 50\ntarget_size = 70\n"
    found = listed(loads(text, Recipe))
    assert found.parameters == model_cost(Recipe().model, Sizes(50, 70)).parameters


@pytest.mark.parametrize(
    ("text", "sizes", "sure"),
    [
        ("[text]\nsource = { kind = 'bpe', size = 90 }\ntarget = { kind = 'unigram', size = 80 }", (90, 80), True),
        ("[text]\nsource = { kind = 'words' }\ntarget = { kind = 'words', size = 60 }", (30_000, 60), False),
        ("[text]\nsource = { kind = 'characters' }", (100, 100), False),
        ("[task]\nkind = 'tag'\n[model]\nfamily = 'encoder-only'\noutput = { kind = 'tags' }", (8000, 10), False),
    ],
)
def test_other_sizes_are_of_the_recipe_or_usual(text: str, sizes: tuple[int, int], sure: bool) -> None:
    recipe = loads(text, Recipe)
    found = listed(recipe)
    assert (found.parameters, found.sure) == (model_cost(recipe.model, Sizes(*sizes)).parameters, sure)
    assert found.cells()[0].startswith("~") is not sure


def test_a_language_model_has_a_full_window() -> None:
    text = "[task]\nkind = 'language'\ncontext = {}\n[model]\nfamily = 'decoder-only'"
    short, long = (listed(loads(text.format(context), Recipe)) for context in (64, 256))
    assert long.flops > short.flops
    assert long.parameters == short.parameters


def test_small_siblings_stand_behind_and_demos_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe_file, "folder", lambda: tmp_path)
    for name in ("b", "demo-a", "a-x", "a-small", "a"):
        (tmp_path / f"{name}.toml").write_text(
            "source = 's'\n[model]\nwidth = 8\nmixer = { kind = 'attention', heads = 2 }\n"
        )
    groups = recipe_list.groups()
    assert [[row[0] for row in group] for group in groups] == [["a", "a-small", "a-x", "b"], ["demo-a"]]
    recipe_list.write()
    (tmp_path / "b.toml").write_text("source = 'other'\n")  # not the one that was counted
    assert [row for group in recipe_list.groups() for row in group][3][3] == "other"
    (tmp_path / recipe_list.COUNTED).write_text("[]")
    assert [row[0] for row in recipe_list.groups()[0]] == ["a", "a-small", "a-x", "b"]
