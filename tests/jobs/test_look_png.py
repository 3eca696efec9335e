"""A PNG that others read, with the colours that were meant."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from seqloom.jobs.look_png import BLUE, FRAME, WHITE, heat_png, png


def opened(data: bytes) -> np.ndarray:
    image = Image.open(io.BytesIO(data))
    image.load()
    assert image.mode == "RGB"
    return np.asarray(image)


@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (30, 3)])
def test_others_read_what_was_written(shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (*shape, 3)).astype(np.uint8)
    assert np.array_equal(opened(png(pixels)), pixels)


def test_the_largest_is_blue_and_nothing_is_white() -> None:
    pixels = opened(heat_png(torch.tensor([[0.0, 0.25, 0.5]]), cell=4))
    assert pixels.shape == (6, 14, 3)
    assert tuple(pixels[0, 0]) == FRAME
    assert tuple(pixels[1, 1]) == WHITE
    assert tuple(pixels[4, 12]) == BLUE
    half = (np.array(WHITE) + np.array(BLUE)) / 2
    assert np.abs(pixels[2, 6] - half).max() <= 1


def test_all_of_it_nothing() -> None:
    assert tuple(opened(heat_png(torch.zeros(2, 2)))[5, 5]) == WHITE
