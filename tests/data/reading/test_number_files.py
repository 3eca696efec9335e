"""Pictures and series where a text is wanted."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.data.reading import DataError, Shape, read
from seqloom.data.reading.number_files import numbers_in
from seqloom.data.settings import Corpus


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("pictures.npz", images=np.zeros((2, 2, 2)), labels=["a", "b"])
    np.savez("series.npz", values=np.zeros((2, 2)), labels=["a", "b"])
    Path("broken.npz").write_text("no archive")
    for name in "pics/one/a.png", "pics/two/b.JPG", "pics/list.txt", "texts/a.txt", "texts/b.txt", "texts/cover.png":
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a\tb\n")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pictures.npz", "pictures"),
        ("series.npz", "series of numbers"),
        ("broken.npz", "series of numbers"),
        ("pics", "pictures"),
        ("pics/one/a.png", "pictures"),
        ("texts", None),
        ("texts/a.txt", None),
        ("-", None),
    ],
)
def test_what_a_file_holds(name: str, found: str | None) -> None:
    assert numbers_in(name) == found


@pytest.mark.parametrize(
    ("name", "shape", "told"),
    [
        (
            "pictures.npz",
            "classes",
            "holds pictures, but this task reads texts and their classes; take a recipe such as image-classifier, "
            "or set task.reads = 'series' and model.input.kind = 'images'",
        ),
        (
            "series.npz",
            "classes",
            "holds series of numbers, but this task reads texts and their classes; take a recipe such as "
            "motion-classifier, or set task.reads = 'series' and model.input.kind = 'vectors'",
        ),
        ("pics", "pairs", "holds pictures, but this task reads pairs; take a recipe such as image-classifier"),
        ("pics/one/a.png", "text", "holds pictures, but this task reads text; take a recipe such as image-classifier"),
    ],
)
def test_a_task_that_reads_texts(name: str, shape: Shape, told: str) -> None:
    with pytest.raises(DataError) as refused:
        list(read(Corpus(files=(name,)), shape))
    assert str(refused.value) == f"{name}: {told}"


def test_pixels_with_spaces_between_them_are_no_series() -> None:
    Path("a.tsv").write_text("1 2 3 4\tone\n")
    with pytest.raises(DataError) as refused:
        list(read(Corpus(files=("a.tsv",)), "series"))
    fix = "give each a column; pictures as text are read with --set task.reads=text"
    assert str(refused.value) == f"a.tsv:1: value 1 is '1 2 3 4', several numbers; {fix}, or pass --skip-bad"
