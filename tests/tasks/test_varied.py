"""What training does to a series."""

import numpy as np
import pytest

from seqloom.data.readings import Readings, ReadingsSettings
from seqloom.tasks.settings import Vary
from seqloom.tasks.varied import varied

X = np.stack([np.arange(10.0), np.arange(10.0) ** 2], 1)


def _varied(vary: Vary, x: np.ndarray = X, columns: int | None = None, marks: bool = False) -> list[np.ndarray]:
    settings = ReadingsSettings(scale="none", missing="mark" if marks else "refuse")
    readings = Readings.train(settings, [x], columns=columns)
    rows = varied(readings.encode([x] * 20), vary, readings, range(20), 11)
    return [rows[row] for row in range(len(rows))]


def test_pieces_of_it() -> None:
    for x in _varied(Vary(crop=0.5)):
        assert 5 <= len(x) <= 10
        begin = int(x[0, 0])
        assert (x == X[begin : begin + len(x)]).all()


def test_faster_and_slower_from_its_first_step_to_its_last() -> None:
    made = _varied(Vary(warp=0.4))
    assert {len(x) for x in made} > {6, 11}  # and no more steps than may be
    for x in made:
        np.testing.assert_allclose(x[[0, -1]], X[[0, -1]], atol=1e-5)
        np.testing.assert_allclose(np.diff(x[:, 0]), 9 / (len(x) - 1), rtol=1e-4)


def test_each_channel_louder_by_its_own_factor() -> None:
    for x in _varied(Vary(scale=0.2)):
        factors = x[1:] / X[1:]
        np.testing.assert_allclose(factors, np.broadcast_to(factors[0], factors.shape), rtol=1e-4)
        assert factors[0, 0] != factors[0, 1]


def test_noise() -> None:
    off = np.concatenate(_varied(Vary(noise=0.3))) - np.tile(X, (20, 1))
    assert off.std() == pytest.approx(0.3, rel=0.15)


def test_marks_of_missing_readings_stay_marks() -> None:
    x = X.copy()
    x[3, 0] = np.nan
    for made in _varied(Vary(noise=0.5, scale=0.1, crop=0.6, warp=0.2), x, marks=True):
        assert made.shape[1] == 4
        assert set(np.unique(made[:, 2:])) <= {0.0, 1.0}


def test_pictures_move_and_keep_their_edge() -> None:
    picture = np.zeros((3, 4, 1))
    picture[1, 2] = 9
    made = {tuple(map(int, np.argwhere(x.reshape(3, 4) == 9)[0])) for x in _varied(Vary(shift=1), picture, 4)}
    assert made <= {(line, column) for line in (0, 1, 2) for column in (1, 2, 3)}
    assert len(made) > 3


def test_pictures_are_not_cut() -> None:
    with pytest.raises(ValueError, match="pictures are moved whole"):
        Vary(shift=1, crop=0.5)
