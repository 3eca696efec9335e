"""Pictures are as wide as they say, whatever script stands in them; the SVG is XML."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from rich.cells import cell_len

from seqloom.inspect import attention_svg, attention_text
from seqloom.inspect.picture import LEFT_TO_RIGHT

SVG = "{http://www.w3.org/2000/svg}"


def shades(line: str) -> str:
    return re.sub(r"[^░▒▓█]", "", line)


def test_a_line_a_row_a_shade_a_weight() -> None:
    weights = [[1.0, 0.0, 0.0], [0.3, 0.1, 0.6], [0.0, 0.05, 0.95]]
    assert attention_text(weights, ["x", "y", "∎"], ["a", "b", "c"]) == "\n".join(
        ["  a b c", "x ██", "y ▒▒░░▓▓", "∎   ░░██"]
    )
    assert attention_text(torch.tensor(weights), ["x", "y", "∎"], ["a", "b", "c"]) == attention_text(
        weights, ["x", "y", "∎"], ["a", "b", "c"]
    )


@pytest.mark.parametrize(
    "columns",
    [list("abcd"), list("2月日年"), list("한국a語"), ["AH", "K", "S", "T"], ["longer", "▁", "piece", "s"]],
)
def test_every_label_stands_over_its_column(columns: list[str]) -> None:
    eye = torch.eye(len(columns))
    head, *lines = attention_text(eye, columns, columns).split("\n")
    for label, line in zip(columns, lines, strict=True):
        before = line[: line.index("█")]
        assert head.index(label) == len(_first(head, cell_len(before))), "a label begins where its shade begins"


def _first(text: str, width: int) -> str:
    """The beginning of a text that takes so many columns."""
    return next(text[:end] for end in range(len(text) + 1) if cell_len(text[:end]) >= width)


def test_letters_read_from_the_right_keep_their_places() -> None:
    head, *lines = attention_text(torch.eye(3), list("גבא"), list("אבג")).split("\n")
    assert [sign for sign in head if sign.isalpha()] == list("אבג")
    assert all(f"{letter} {LEFT_TO_RIGHT}" in head for letter in "אב"), "a mark between any two of them"
    assert cell_len(head) <= 2 + 3 * 2
    assert len(lines) == 3


def test_marks_stand_on_a_circle_and_what_has_no_shape_is_seen() -> None:
    head = attention_text([[0.2] * 4], ["x"], ["\u093e", "\u0301", "\u200f", "\x07"]).split("\n")[0]
    assert "◌\u093e" in head
    assert "◌\u0301" in head
    assert "·" in head
    assert "\ufffd" in head
    assert "\x07" not in head


def test_what_is_too_wide_follows_below() -> None:
    columns = [chr(ord("a") + number) for number in range(20)]
    bands = attention_text(torch.full((2, 20), 0.5), ["x", "y"], columns, width=22).split("\n\n")
    assert [len(shades(band)) // 4 for band in bands] == [10, 10]
    assert all(cell_len(line) <= 22 for band in bands for line in band.split("\n"))
    assert "k" in bands[1].split("\n")[0]


def test_long_labels_are_cut() -> None:
    lines = attention_text([[1.0]], ["unbelievable"], ["incomprehensible"]).split("\n")
    assert max(map(cell_len, lines)) <= 13


def test_weights_and_labels_must_fit() -> None:
    with pytest.raises(ValueError, match="weights of 1 × 2 for 1 rows and 3 columns"):
        attention_text([[0.5, 0.5]], ["x"], ["a", "b", "c"])
    with pytest.raises(ValueError, match="weights of 1 × 2 for 2 rows and 2 columns"):
        attention_svg([[0.5, 0.5]], ["x", "y"], ["a", "b"])


def test_nothing_to_draw() -> None:
    assert attention_text([], [], []) == ""
    ET.fromstring(attention_svg([], [], []))


@pytest.mark.parametrize("columns", [list('a<&"'), list("אבג٣"), list("2月ा́"), ["piece", "\x00", "\ud800", "\u200f"]])
def test_svg_is_xml_with_every_label_and_square(columns: list[str]) -> None:
    rows = ["<", "∎"]
    text = attention_svg(torch.full((2, 4), 0.25), rows, columns, title="a < b & \x01")
    root = ET.fromstring(text.encode())
    squares = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "weight"]
    assert [rect.get("opacity") for rect in squares] == ["0.25"] * 8
    labels = [label.text for label in root.iter(f"{SVG}text") if label.get("class") == "label"]
    assert len(labels) == 6
    assert "<" in labels
    assert next(root.iter(f"{SVG}title")).text == "a < b & \ufffd"


def test_svg_holds_all_that_is_in_it() -> None:
    root = ET.fromstring(attention_svg(torch.ones(3, 30), list("abc"), list("x" * 30), title="t"))
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    for rect in root.iter(f"{SVG}rect"):
        right = float(rect.get("x", 0)) + float(rect.attrib["width"])
        below = float(rect.get("y", 0)) + float(rect.attrib["height"])
        assert right <= wide
        assert below <= high


def test_svg_leaves_out_what_cannot_be_seen() -> None:
    assert attention_svg([[0.001, 0.999]], ["x"], ["a", "b"]).count('class="weight"') == 1


def test_weights_that_are_spread_are_seen_too() -> None:
    text = attention_svg(torch.full((1, 50), 0.02), ["x"], list("a" * 50), about="rows ask")
    assert text.count('opacity="1.00"') == 50
    assert "rows ask; the darkest is 0.02" in text
