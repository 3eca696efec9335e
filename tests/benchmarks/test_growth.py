"""How cost grows: what is measured, and how it is drawn."""

from xml.etree import ElementTree

import pytest
from growth import MIXERS, MODELS, mixer_work, slope

from growth_picture import picture
from seqloom.training.calibration import step_of


@pytest.mark.parametrize("name", MIXERS)
def test_every_mixer_runs_there_and_back(name: str) -> None:
    mixer_work(name, 32)()


@pytest.mark.parametrize(("name", "size"), [("batch", 2), ("width", 64), ("depth", 2)])
def test_every_axis_is_a_model(name: str, size: int) -> None:
    step_of(MODELS[name](size))()


def test_the_power_by_which_it_grows() -> None:
    assert slope([[1, 1.0], [2, 4.0], [4, 16.0]], 0) == pytest.approx(2.0)


def test_the_picture_has_a_line_and_a_name_for_each_in_both_panels() -> None:
    drawn = picture({"a & b": [[128, 0.1, 2**20], [256, 0.2, 2**21]], "c": [[128, 0.1, 2**20], [256, 0.4, 2**22]]})
    root = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    lines = [path for path in root.iter(f"{space}path") if path.get("class", "").startswith("line")]
    names = [text.text for text in root.iter(f"{space}text") if text.get("class", "").startswith("label")]
    assert len(lines) == 4
    assert sorted(names) == ["a & b", "a & b", "c", "c"]
