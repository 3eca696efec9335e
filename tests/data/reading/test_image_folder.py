"""A folder of images for each class."""

from pathlib import Path

import numpy as np
import pytest

from seqloom.data.reading import DataError, fingerprint, read, shape_of, size
from seqloom.data.settings import Corpus

Image = pytest.importorskip("PIL.Image")


def _save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def _corpus(tmp_path: Path) -> Corpus:
    return Corpus(files=(str(tmp_path / "digits"),))


def test_grey_and_coloured(tmp_path: Path) -> None:
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    _save(tmp_path / "digits" / "one" / "b.png", grey)
    _save(tmp_path / "digits" / "two" / "a.png", grey + 1)
    (tmp_path / "digits" / ".DS_Store").write_text("x")
    corpus = _corpus(tmp_path)
    (block,) = read(corpus, "series")
    assert block.columns[1] == ["one", "two"]
    assert (block.columns[0][1][..., 0] == grey + 1).all()
    assert shape_of(corpus) == "series"
    assert size(corpus) > 0
    before = fingerprint(corpus)
    _save(tmp_path / "digits" / "two" / "a.png", np.zeros((2, 3, 3), np.uint8))
    assert fingerprint(corpus) != before
    (block,) = read(corpus, "series")  # of which one has colours
    assert [x.shape for x in block.columns[0]] == [(2, 3, 3)] * 2
    assert (block.columns[0][0] == grey[..., None]).all()


def test_colours_of_the_last_block_are_those_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.data.reading.series_rows.NUMBERS", 4)
    _save(tmp_path / "digits" / "one" / "a.png", np.ones((2, 2), np.uint8))
    (tmp_path / "digits" / "one" / "b.png").write_text("no image")
    _save(tmp_path / "digits" / "two" / "c.png", np.zeros((2, 2, 3), np.uint8))
    blocks = list(read(_corpus(tmp_path), "series", "skip"))
    assert [x.shape for block in blocks for x in block.columns[0]] == [(2, 2, 3)] * 2
    assert len(blocks) > 1


def test_colours_stay(tmp_path: Path) -> None:
    picture = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    _save(tmp_path / "digits" / "one" / "a.png", picture)
    (block,) = read(_corpus(tmp_path), "series")
    assert (block.columns[0][0] == picture).all()


def test_faults(tmp_path: Path) -> None:
    folder = tmp_path / "digits"
    (folder / "one").mkdir(parents=True)
    with pytest.raises(DataError, match="no image in it; a folder for each class"):
        list(read(_corpus(tmp_path), "series"))
    (folder / "one" / "a.png").write_text("no image")
    with pytest.raises(DataError, match=r"a\.png: cannot be read"):
        list(read(_corpus(tmp_path), "series"))
    _save(folder / "one" / "a.png", np.zeros((2, 2), np.uint8))
    _save(folder / "b.png", np.zeros((2, 2), np.uint8))
    with pytest.raises(DataError, match=r"b\.png: an image outside of a class's folder"):
        list(read(_corpus(tmp_path), "series"))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            ["a.py", "b.py", "c.txt"],
            "no image in it, but 3 files (2 of *.py, 1 of others); name the files, and not the ",
        ),
        (["a.txt.gz"], "but 1 file (1 of *.txt.gz); name the files, and not the folder: digits/*.txt.gz"),
        (["a.py", "sub/b.py"], "name the files, and not the folder: $(find digits -name '*.py')"),
        (["a.py", "sub/b c.py"], "$(find digits -name '*.py'), in names without spaces"),
        (["README", "LICENSE"], "but 2 files (2 without an ending); name the files, and not the folder: digits/*"),
        (["a.pdf"], "but 1 file (1 of *.pdf); a folder for each class, with its images: digits/CLASS/1.png"),
    ],
)
def test_a_folder_of_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], told: str) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names:
        file = Path("digits") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
    with pytest.raises(DataError) as caught:
        list(read(Corpus(files=("digits",)), "series"))
    assert told in str(caught.value)


def test_a_folder_whose_name_has_a_space_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "my files").mkdir()
    (tmp_path / "my files" / "a.py").write_text("x = 1\n")
    with pytest.raises(DataError, match=r"'[^']*/my files'/\*\.py$"):
        list(read(Corpus(files=(str(tmp_path / "my files"),)), "series"))
