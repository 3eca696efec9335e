"""Pixels that training never saw: whole numbers are known all the same, others are refused."""

from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.jobs.corpora.pictures import pixels, refuse_unknown
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.images import Images
from seqloom.models.settings import ModelSettings
from seqloom.settings import SettingsError, UserError, loads
from seqloom.text import UNKNOWN

RECIPE = """
[task]
kind = "classify"
[text]
source = { kind = "words" }
[model]
family = "encoder-only"
width = 8
depth = 1
mixer = { kind = "attention", heads = 1 }
input = { kind = "images", patch = 1, columns = 2, channels = 1, brightest = 16.0 }
output = { kind = "classes" }
[training]
steps = 60
optimiser = { kind = "adamw", rate = 0.03 }
"""


def _write(file: Path, *rows: str) -> str:
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(file)


def _trained(folder: Path, **more: str) -> Path:
    data = _write(folder / "a.tsv", *["0 1\tdark", "1 0\tdark", "16 15\tlight", "15 16\tlight"] * 3)
    recipe = _write(folder / "r.toml", RECIPE)
    files = {"data": data, "valid": data} | more
    seqloom.train(recipe, **files, out=folder / "run", view="none")  # type: ignore[arg-type]
    return folder / "run"


def test_all_numbers_up_to_the_brightest_are_known(tmp_path: Path) -> None:
    model = seqloom.load(_trained(tmp_path))
    assert [str(answer) for answer in model.predict(["14 14", "2 2"])] == ["light", "dark"]
    for wrong in ("14 17", "14 14.5", "14 dog"):
        with pytest.raises(UserError, match=r"pixel 2, '.*', is no number that the model knows; .* from 0 to 16"):
            model.predict([wrong])


@pytest.mark.parametrize("which", ["valid", "test"])
def test_other_numbers_in_files_are_named(tmp_path: Path, which: str) -> None:
    other = _write(tmp_path / "b.tsv", "0 0\tdark", "16 99\tlight")
    with pytest.raises(UserError, match=r"b\.tsv:2: pixel 2 is no number that the model knows"):
        _trained(tmp_path, **{which: other})


@pytest.mark.parametrize(
    "text", ["kind = 'bpe'", "kind = 'words', size = 100", "kind = 'words', least = 2", "kind = 'characters'"]
)
def test_vocabularies_that_lose_numbers(text: str) -> None:
    with pytest.raises(SettingsError, match="of which none may be unknown"):
        loads(RECIPE.replace('kind = "words"', text), Recipe, (), "r.toml")


def test_what_is_no_picture_is_left_alone() -> None:
    text, picture = ModelSettings(), ModelSettings.model_construct(input=Images(brightest=3.0))
    assert pixels(text) == ""
    assert pixels(picture) == "0 1 2 3"
    refuse_unknown(text, [UNKNOWN], "dog")
    with pytest.raises(UserError, match="pixel 1, 'dog',"):
        refuse_unknown(picture, [UNKNOWN], "dog")


IMAGES = (
    RECIPE.replace('kind = "classify"', 'kind = "classify"\nreads = "series"')
    .replace('source = { kind = "words" }', "")
    .replace(", brightest = 16.0", "")
)


def _images(path: Path, count: int, columns: int = 2, channels: int = 1) -> Path:
    draw = np.random.default_rng(count)
    labels = np.arange(count) % 2
    shape = (count, 2, columns, channels) if channels > 1 else (count, 2, columns)
    bright = labels.reshape(-1, *[1] * (len(shape) - 1)) * 200
    np.savez(
        path, images=(draw.integers(0, 50, shape) + bright).astype(np.uint8), labels=np.array(["dark", "light"])[labels]
    )
    return path


@pytest.mark.parametrize("kind", ["patches", "pixels"])
def test_images_as_patches_and_as_pixels(tmp_path: Path, kind: str) -> None:
    recipe = IMAGES if kind == "patches" else IMAGES.replace(_INPUT, 'input = { kind = "vectors" }')
    data, valid = _images(tmp_path / "a.npz", 24), _images(tmp_path / "v.npz", 8)
    trained = seqloom.train(
        _write(tmp_path / "r.toml", recipe), data=data, valid=valid, out=tmp_path / "run", view="none"
    )
    assert trained.scores["loss"] < 0.5
    model = seqloom.load(tmp_path / "run")
    assert str(model.predict(np.full((2, 2), 240))) == "light"
    assert [str(one) for one in model.predict([np.full((2, 2, 1), 10), np.full((2, 2), 230)])] == ["dark", "light"]
    with pytest.raises(UserError, match="a picture of 3 columns, but a picture of 2 columns is expected"):
        model.predict(np.zeros((2, 3)))


_INPUT = next(line for line in IMAGES.splitlines() if line.startswith("input"))


@pytest.mark.parametrize(
    ("columns", "channels", "expected"),
    [
        (4, 1, "model.input.columns = 2, but the pictures have 4"),
        (2, 3, "model.input.channels = 1, but .* have 3; --set"),
    ],
)
def test_pictures_that_the_model_does_not_expect(tmp_path: Path, columns: int, channels: int, expected: str) -> None:
    data = _images(tmp_path / "a.npz", 24, columns, channels)
    with pytest.raises(UserError, match=expected):
        seqloom.train(_write(tmp_path / "r.toml", IMAGES), data=data, out=tmp_path / "run", view="none")
