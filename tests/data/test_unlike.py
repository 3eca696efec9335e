"""Readings of another scale."""

import numpy as np
import pytest

from seqloom.data.readings import Floats, Readings, ReadingsSettings
from seqloom.data.unlike import unlike

DRAW = np.random.default_rng(1)
LEARNT = DRAW.integers(0, 16, (20, 8, 8, 1)).astype(float)


def _readings(series: Floats, scale: str = "standard") -> Readings:
    settings = ReadingsSettings.model_validate({"scale": scale})
    return Readings.train(settings, series, columns=8 if series.ndim == 4 else None)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (LEARNT[:2], None),
        (LEARNT[:1] * 2, None),
        (np.zeros((1, 8, 8, 1)), None),
        (LEARNT * 17, "values from 0 to 255, but the run learnt from 7.5 ± 4.58; bring them to the scale of training"),
        (
            LEARNT / 15,
            "values from 0 to 1 lie close together, and the run learnt from 7.5 ± 4.58; if their scale is another, "
            "bring them to that of training",
        ),
    ],
)
def test_pictures(asked: Floats, told: str | None) -> None:
    assert unlike(_readings(LEARNT), asked) == told


def test_the_channel_is_named_and_gaps_do_not_count() -> None:
    learnt = DRAW.normal(size=(5, 30, 2))
    asked = learnt * [1, 100]
    asked[0, 0] = np.nan
    said = unlike(_readings(learnt), asked)
    assert said is not None
    assert said.startswith("values of channel 2 from -")


@pytest.mark.parametrize("scale", ["series", "none"])
def test_nothing_is_known_without_a_scale(scale: str) -> None:
    assert unlike(_readings(LEARNT, scale), LEARNT * 17) is None


def test_other_forms_are_told_elsewhere() -> None:
    assert unlike(_readings(LEARNT), [np.full((3, 2), 1e6)]) is None
    assert unlike(_readings(LEARNT), []) is None
