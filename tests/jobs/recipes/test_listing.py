"""Recipes with what they cost, counted beforehand."""

import json
import zlib
from pathlib import Path

import pytest

from seqloom.jobs.recipes import listing, shipped
from seqloom.jobs.recipes.cost import listed
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import Sizes, model_cost
from seqloom.settings import load, loads

FILES = shipped.names()


def test_what_is_kept_is_what_is_counted() -> None:
    """Else: python -m seqloom.jobs.recipes.listing"""
    kept = json.loads((shipped.folder() / listing.COUNTED).read_text(encoding="utf-8"))
    counted = {name: listed(load(file, Recipe)) for name, file in FILES.items()}
    assert kept.keys() == counted.keys()
    for name, one in kept.items():
        assert one.pop("checksum") == zlib.crc32(FILES[name].read_bytes()), name
        assert listing.Listed(**one) == counted[name], name


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
    assert found.cells()[1].startswith("~") is not sure


def test_a_language_model_has_a_full_window() -> None:
    text = "[task]\nkind = 'language'\ncontext = {}\n[model]\nfamily = 'decoder-only'"
    short, long = (listed(loads(text.format(context), Recipe)) for context in (64, 256))
    assert long.flops > short.flops
    assert long.parameters == short.parameters


def test_small_siblings_stand_behind_and_demos_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "folder", lambda: tmp_path)
    for name in ("b", "demo-a", "a-x", "a-small", "a"):
        (tmp_path / f"{name}.toml").write_text(
            "source = 's'\n[model]\nwidth = 8\nmixer = { kind = 'attention', heads = 2 }\n"
        )
    groups = listing.groups()
    assert [[row[0] for row in group] for group in groups] == [["a", "a-small", "a-x", "b"], ["demo-a"]]
    listing.write()
    (tmp_path / "b.toml").write_text("source = 'other'\n")  # not the one that was counted
    assert [row for group in listing.groups() for row in group][3][4] == "other"
    (tmp_path / listing.COUNTED).write_text("[]")
    assert [row[0] for row in listing.groups()[0]] == ["a", "a-small", "a-x", "b"]
