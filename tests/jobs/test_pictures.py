"""Folders of pictures from files to answers: messages name a picture by its file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import seqloom
from seqloom.cli import app
from seqloom.jobs.trained import Trained
from seqloom.settings import UserError

Image = pytest.importorskip("PIL.Image")

SMALL = [
    "model.input.columns=4", "model.input.patch=2", "model.width=16", "model.depth=1", "training.steps=2",
    "training.threads=1",
]  # fmt: skip
ODD = (
    "a picture of 5 columns, but a picture of 4 columns is expected; scale it, or train with "
    "--set readings.size=[ROWS,COLUMNS], which scales all"
)


def _save(path: Path, pixels: np.ndarray) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return str(path)


def _pictures(folder: Path, count: int = 12) -> Path:
    """Bright above, or bright below."""
    draw = np.random.default_rng(1)
    for number in range(count):
        x = draw.integers(0, 100, (4, 4))
        x[:2] += 100
        _save(folder / "above" / f"{number}.png", x)
        _save(folder / "below" / f"{number}.png", x[::-1])
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    data = _pictures(folder / "pics")
    seqloom.train("image-classifier", data=data, out=folder / "run", changes=SMALL, view="none")
    return folder / "run"


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a picture of another size, which comes first, and one that is broken."""
    monkeypatch.chdir(tmp_path)
    _pictures(Path("pics"))
    _save(Path("pics/above/-odd.png"), np.zeros((3, 5)))
    Path("pics/below/bad.png").write_text("no image")
    return Path("pics")


def _invoke(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def _train(folder: Path, bad: str = "stop") -> Trained:
    return seqloom.train("image-classifier", data=folder, out="run", changes=[*SMALL, f"data.bad={bad}"], view="none")


def test_training_names_the_picture(odd: Path) -> None:
    with pytest.raises(
        UserError, match=r"^pics/below/bad\.png: cannot be read \(.*\); mend the file, or remove it, or"
    ):
        _train(odd)
    (odd / "below" / "bad.png").unlink()
    with pytest.raises(UserError) as stopped:
        _train(odd)
    assert str(stopped.value).splitlines() == [
        f"pics/above/-odd.png: {ODD}, or pass --skip-bad",
        "(in Python, arguments: changes=, skip_bad=)",
    ]


def test_pictures_of_another_size_are_left_out_and_counted(odd: Path) -> None:
    trained = _train(odd, "skip")
    assert "pics: 1 left out: no image (pics/below/bad.png)" in trained.corpora.notes
    assert "pics: 1 left out: another size of picture (pics/above/-odd.png)" in trained.corpora.notes
    assert trained.corpora.examples + sum(map(len, trained.corpora.valid)) == 24


def test_the_same_pictures_in_another_folder_are_named_as_they_are_there(odd: Path) -> None:
    _train(odd, "skip")
    odd.rename("moved")
    trained = seqloom.train(
        "image-classifier", data="moved/", out="other", changes=[*SMALL, "data.bad=skip"], view="none"
    )
    assert "moved/: 1 left out: no image (moved/below/bad.png)" in trained.corpora.notes


def test_check_names_the_picture(odd: Path) -> None:
    _save(odd / "above" / "twice.png", np.asarray(Image.open(odd / "above" / "3.png")))
    (odd / "above" / "-odd.png").rename(odd / "below" / "odd.png")
    changes = [word for change in SMALL for word in ("--set", change)]
    said = _invoke("check", odd, "--recipe", "image-classifier", *changes).stdout
    assert "no image: 1\n    pics/below/bad.png\n" in said
    assert "another width than the first has: 1\n    pics/below/odd.png  3 × 5 pixels" in said
    assert (
        "→ scale all to one size: --set readings.size=[ROWS,COLUMNS], or have them left out by train --skip-bad\n"
        in said
    )
    assert "the same example again: 1\n    pics/above/twice.png, as pics/above/3.png  4 × 4 pixels" in said


def test_predict_names_the_picture(run: Path, odd: Path) -> None:
    asked = _invoke("predict", run, odd, "--skip-bad")
    assert asked.stdout.startswith("\n")
    assert asked.stdout.count("\n") == 26
    assert f"pics/above/-odd.png: {ODD}\n" in asked.stderr
    assert "pics/below/bad.png: cannot be read (" in asked.stderr
    stopped = _invoke("predict", run, odd)
    assert str(stopped.exception) == f"pics/above/-odd.png: {ODD} (--skip-bad leaves such answers empty)"


def test_predict_reads_pictures_one_by_one(run: Path, odd: Path) -> None:
    files = [odd / "below" / f"{number}.png" for number in range(5)]
    whole = _invoke("predict", run, odd / "below", "--skip-bad").stdout.split("\n")
    assert _invoke("predict", run, *files).stdout.split("\n")[:5] == whole[:2] + whole[4:7]  # 0, 1, 10, 11, 2, …
    asked = _invoke("predict", run, files[0], odd / "below" / "bad.png", "--skip-bad")
    assert asked.stdout.split("\n") == [whole[0], "", ""]
    assert "pics/below/bad.png: cannot be read (" in asked.stderr
    gone = _invoke("predict", run, files[0], "pics/none.png")
    assert str(gone.exception).startswith("pics/none.png: no such file; ")
    own = _invoke("predict", run, *files, "--out", files[3])
    assert str(own.exception) == "pics/below/3.png: is what is read; name another --out"


def test_several_files_of_another_kind(run: Path, tmp_path: Path) -> None:
    only = "only pictures are asked several at once, of a run that reads them; name one file"
    several = _invoke("predict", run, "a.npz", "b.npz", "c.npz")
    assert str(several.exception) == f"a.npz and 2 others: {only}"
    lines = _invoke("predict", run, "a b.txt", "b.txt")
    assert str(lines.exception) == f"a b.txt and b.txt: {only}, or join them: cat 'a b.txt' … | seqloom predict {run}"


def test_evaluate_leaves_out_and_counts(run: Path, odd: Path) -> None:
    (odd / "below" / "bad.png").unlink()
    stopped = _invoke("evaluate", run, "--data", odd)
    assert str(stopped.exception) == f"pics/above/-odd.png: {ODD}, or pass --skip-bad"
    scored = _invoke("evaluate", run, "--data", odd, "--skip-bad")
    assert "1 left out: another size of picture (pics/above/-odd.png)" in scored.stderr
    assert "24 examples" in scored.stdout
    _save(Path("other/above/1.png"), np.zeros((3, 5)))
    none = _invoke("evaluate", run, "--data", "other", "--skip-bad")
    left_out = "1 left out: another size of picture (other/above/1.png)"
    assert str(none.exception) == f"other: no example is left to score\n{left_out}"


def test_pixels_that_are_not_scaled_may_be_zero(tmp_path: Path) -> None:
    """Zero is the number of an unknown word, which readings are not."""
    folder = _pictures(tmp_path / "pics")
    _save(folder / "above" / "black.png", np.zeros((4, 4)))
    changes = [*SMALL, "readings.scale=none"]
    trained = seqloom.train("image-classifier", data=folder, out=tmp_path / "run", changes=changes, view="none")
    assert trained.corpora.task.codecs.source.settings.scale == "none"


def test_a_recipe_of_texts_names_the_one_that_reads_pictures(tmp_path: Path) -> None:
    folder = _pictures(tmp_path / "pics")
    for recipe, reads in ("text-classifier", "texts and their classes"), ("gpt-small", "text"):
        with pytest.raises(UserError, match=f"pics: holds pictures, but this task reads {reads}; take a recipe such"):
            seqloom.train(recipe, data=folder, out=tmp_path / "run", view="none")


def test_vit_reads_a_folder(tmp_path: Path) -> None:
    folder = _pictures(tmp_path / "pics")
    trained = seqloom.train("vit-small", data=folder, out=tmp_path / "run", changes=SMALL, view="none")
    assert trained.corpora.examples + sum(map(len, trained.corpora.valid)) == 24


def test_a_run_that_reads_text_is_asked_for_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("".join(f"word {number}\t{'ab'[number % 2]}\n" for number in range(40)))
    changes = ["training.steps=1", "training.threads=1"]
    seqloom.train("text-classifier", data="a.tsv", out="run", changes=changes, view="none")
    _pictures(Path("pics"), 1)
    np.savez("a.npz", images=np.zeros((2, 4, 4)), labels=["above", "below"])
    for name in "a.npz", "pics", "pics/above/0.png":
        told = f"{name}: holds pictures, but run reads text; ask a run that learnt from such files"
        assert str(_invoke("predict", "run", name).exception) == told


def test_pictures_of_another_scale_are_told(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with the first ones; 0 to 1 of a model that learnt from 0 to 199."""
    monkeypatch.chdir(tmp_path)
    folder = _pictures(Path("pics"), 3)
    files = [folder / kind / f"{number}.png" for kind in ("above", "below") for number in range(3)]
    pixels = np.stack([np.asarray(Image.open(file)) for file in files])
    np.savez("small.npz", images=pixels / pixels.max(), labels=["above", "below"] * 3)
    for verb in ("predict", run, "small.npz"), ("evaluate", run, "--data", "small.npz"):
        (told,) = [line for line in _invoke(*verb).stderr.splitlines() if "that of training" in line]
        assert told.startswith("small.npz: values from 0.0")
        assert " to 1 lie close together, and the run learnt from " in told
        assert told.endswith("; if their scale is another, bring them to that of training")
    assert "of training" not in _invoke("predict", run, folder).stderr


@pytest.fixture
def unlike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pictures of unlike sizes, bright above or below, every other one in colours; the first is grey."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(1)
    for number in range(24):
        rows, columns = draw.integers(9, 40, 2)
        x = draw.integers(0, 100, (rows, columns, 3) if number % 2 else (rows, columns))
        x[: rows // 2] += 100
        _save(Path(f"pics/above/{number:02}.png"), x)
        _save(Path(f"pics/below/{number:02}.png"), x[::-1])
    return Path("pics")


def test_pictures_of_unlike_sizes_are_scaled_and_grey_ones_are_read_in_colours(unlike: Path) -> None:
    found = _invoke("check", unlike)
    assert "\n0 faults" in found.stdout
    changes = ["training.steps=40", "training.threads=1", "data.held_out=0.25"]
    trained = seqloom.train(data=unlike, out="run", changes=changes, view="none")
    size = trained.recipe.readings.size
    assert size is not None
    assert all(16 <= side <= 32 and side % 8 == 0 for side in size)
    assert trained.recipe.data.longest == size[0] * size[1]
    assert trained.corpora.examples + sum(map(len, trained.corpora.valid)) == 48
    assert trained.scores["accuracy"] == 100
    grey = np.zeros((50, 11))
    grey[:25] = 120
    said = _invoke("predict", "run", _save(Path("new.png"), grey), unlike / "below" / "01.png")
    assert said.stdout.split() == ["above", "below"]
    scored = seqloom.evaluate("run", data=unlike)
    assert next(iter(scored.scores.values()))["accuracy"] == 100


def test_a_run_that_begins_from_another_scales_as_that_does(unlike: Path) -> None:
    changes = ["training.steps=1", "training.threads=1"]
    first = seqloom.train(data=unlike, out="run", changes=[*changes, "readings.size=[24,40]"], view="none").recipe
    then = seqloom.train(data=unlike, out="then", start="run", changes=changes, view="none").recipe
    assert then.readings == first.readings
    assert then.data.longest == 960


@pytest.mark.parametrize("asked", ["[20, 12]", "[20,12]"])
def test_the_size_that_is_asked_for(unlike: Path, asked: str) -> None:
    changes = ["training.steps=1", "training.threads=1", f"readings.size={asked}"]
    recipe = seqloom.train(data=unlike, out="run", changes=changes, view="none").recipe
    assert recipe.readings.size == (20, 12)
    assert (recipe.model.input.columns, recipe.model.input.channels, recipe.data.longest) == (12, 3, 240)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("[0,12]", r"\[readings\] size.0 should be a whole number \(at least 1\), not 0"),
        ("3", r"\[readings\] size should be a list, not 3"),
        ("[12]", r"\[readings\] size needs one more item: a whole number \(at least 1\)"),
        ("[1,2,3]", r"\[readings\] size"),
    ],
)
def test_a_size_that_cannot_be(unlike: Path, wrong: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        seqloom.train(data=unlike, out="run", changes=[f"readings.size={wrong}"], view="none")


def test_half_of_the_pictures_tell_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _pictures(Path("pics"))
    _save(Path("pics/above/-odd.png"), np.full((30, 50), 99))
    changes = ["training.steps=1", "training.threads=1"]
    assert seqloom.train(data="pics", out="run", changes=changes, view="none").recipe.readings.size == (4, 4)


def test_large_pictures_of_one_size_are_scaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are, 20,000 photographs of 1000 · 1000 pixels would take 240 GB, and each step minutes."""
    monkeypatch.chdir(tmp_path)
    for name, light in ("bright", 200), ("dark", 0):
        for number in range(10):
            _save(Path(f"pics/{name}/{number}.png"), np.full((200, 320), light + number))
    found = _invoke("check", "pics")
    assert (
        "pics: pictures that are large, or of unlike sizes; all are scaled to 80 × 128 pixels: another" in found.stdout
    )
    changes = ["training.steps=1", "training.threads=1", "readings.size=[200,320]", "model.input.patch=40"]
    assert seqloom.train(data="pics", out="run", changes=changes, view="none").recipe.data.longest == 200 * 320
