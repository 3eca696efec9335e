"""A PNG that others read: the colours that were meant, and words on the axes."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seqloom.jobs.looking import font
from seqloom.jobs.looking.font import Fonts, files
from seqloom.jobs.looking.png import BLUE, CELL, WHITE, heat_png
from seqloom.settings import UserError


def opened(data: bytes) -> np.ndarray:
    image = Image.open(io.BytesIO(data))
    image.load()
    assert image.mode == "RGB"
    assert image.info["dpi"][0] == pytest.approx(300, abs=1)
    return np.asarray(image)


def cells(pixels: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The middle of each cell: the corner is found by the frame, the first long line of one colour."""
    frame = (pixels == (110, 119, 129)).all(-1)
    top, left = (int(np.argmax(frame.sum(axis) >= CELL)) for axis in (1, 0))
    middle = CELL // 2 + 1
    return pixels[top + middle :: CELL, left + middle :: CELL][:rows, :columns]


def test_the_largest_is_blue_and_nothing_is_white() -> None:
    pixels = cells(
        opened(heat_png(torch.tensor([[0.0, 0.05, 0.1], [0.1, 0.0, 0.0]]), ["x", "y"], ["a", "b", "c"])), 2, 3
    )
    assert tuple(pixels[0, 0]) == tuple(pixels[1, 1]) == WHITE
    assert tuple(pixels[0, 2]) == tuple(pixels[1, 0]) == BLUE  # no weight is near 1: the largest is as dark as can be
    half = (np.array(WHITE) + np.array(BLUE)) / 2
    assert np.abs(pixels[0, 1] - half).max() <= 1


def test_weights_near_one_have_the_scale_of_all_pictures() -> None:
    pixels = cells(opened(heat_png(torch.tensor([[0.8, 0.2]]), ["x"], ["a", "b"])), 1, 2)
    wanted = [np.array(WHITE) + share * (np.array(BLUE) - np.array(WHITE)) for share in (0.8, 0.2)]
    assert np.abs(pixels[0] - wanted).max() <= 1


def test_words_stand_on_its_axes() -> None:
    """Another word makes another picture, beside its row or above its column alone."""
    weights = torch.full((2, 2), 0.25)
    same = ["ab", "ab"]
    words = (same, same), (["ab", "cd"], same), (same, ["cd", "ab"])
    plain, row, column = (opened(heat_png(weights, down, across)) for down, across in words)
    assert plain.shape == row.shape
    changed = np.argwhere((plain != row).any(-1))
    assert len(changed)
    assert np.ptp(changed[:, 0]) < CELL  # one line
    assert changed[:, 1].max() < plain.shape[1] // 2
    above = np.argwhere((plain != column).any(-1))
    assert above[:, 0].max() < plain.shape[0] // 2
    assert np.ptp(above[:, 1]) < CELL


def test_long_words_and_none_at_all() -> None:
    assert opened(heat_png(torch.ones(1, 1), ["x" * 500], ["y" * 500])).shape[1] < 1200
    opened(heat_png(torch.zeros(2, 2), ["", "a"], [" ", "\x01"]))


@pytest.mark.skipif(not any(file.stem == "DejaVuSans" for file in files()), reason="no DejaVu Sans on this machine")
def test_other_scripts_take_another_font() -> None:
    fonts = Fonts(22)
    assert fonts.of("кот").path.endswith("DejaVuSans.ttf")
    assert fonts.lost(["кот", "قطة", "␣the"]) == []
    opened(heat_png(torch.ones(1, 2), ["␣кот"], ["قطة", "</s>"]))


def test_letters_that_no_font_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font, "files", list)
    opened(heat_png(torch.ones(1, 1), ["␣the"], ["a"]))  # a space that is marked needs no font
    with pytest.raises(
        UserError, match=r"no font of this machine has '中': name one .*--font FILE.ttf, or write an SVG"
    ):
        heat_png(torch.ones(1, 1), ["中"], ["a"])


def test_no_font_at_all(tmp_path: Path) -> None:
    file = tmp_path / "a.ttf"
    file.write_bytes(b"no font")
    with pytest.raises(UserError, match=r"a\.ttf: is no font that can be read"):
        heat_png(torch.ones(1, 1), ["a"], ["a"], font=file)
