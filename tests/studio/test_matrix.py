"""Heat maps: read with keys and mouse, enlarged, taken along."""

import csv
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.studio.browser import Studio, downloaded, matrix, number

BOX = "encoder.blocks.0.mixer.weights"


def opened(studio: Studio, box: str = BOX) -> tuple[Page, Locator]:
    page = studio.open("flow", model="pairs", input="abcd", box=box)
    return page, page.locator(".panel figure").last


def test_keys_read_every_cell(studio: Studio) -> None:
    page, figure = opened(studio)
    numbers = matrix(figure)
    figure.get_by_role("application").focus()
    readout = figure.locator(".readout")
    expect(readout).to_contain_text("row 1")
    assert number(readout.inner_text().rpartition(": ")[2]) == numbers[0][0]
    for key in "ArrowRight", "ArrowRight", "ArrowDown":
        page.keyboard.press(key)
    expect(readout).to_contain_text("row 2")
    expect(readout).to_contain_text("column 3")
    assert number(readout.inner_text().rpartition(": ")[2]) == numbers[1][2]
    page.keyboard.press("End")
    assert number(readout.inner_text().rpartition(": ")[2]) == numbers[1][-1]


def test_the_mouse_reads_the_same(studio: Studio) -> None:
    _, figure = opened(studio)
    numbers = matrix(figure)
    box = figure.locator(".map").bounding_box()
    assert box is not None
    figure.locator(".map").scroll_into_view_if_needed()
    figure.locator(".map").hover(position={"x": box["width"] - 20, "y": box["height"] - 12})
    readout = figure.locator(".readout")
    expect(readout).to_contain_text(f"row {len(numbers)}")
    assert number(readout.inner_text().rpartition(": ")[2]) in numbers[-1]


def test_heads_are_small_pictures_to_choose_from(studio: Studio) -> None:
    _, figure = opened(studio)
    first = matrix(figure)
    figure.get_by_role("button", name="head 2").click()
    expect(figure.get_by_role("button", name="head 2")).to_have_attribute("aria-pressed", "true")
    assert matrix(figure) != first


def test_cells_grow_until_they_hold_numbers_and_scroll(studio: Studio) -> None:
    page, figure = opened(studio, "head")
    room = figure.locator(".room")
    before = room.evaluate("(room) => room.clientWidth")
    for _ in range(4):
        figure.get_by_role("button", name="Larger cells").click()
    assert room.evaluate("(room) => room.clientWidth") > 1.2 * before
    figure.get_by_role("application").focus()
    page.keyboard.press("End")
    assert figure.locator(".map").evaluate("(map) => map.scrollLeft") > 0


def test_it_can_be_taken_along(studio: Studio, tmp_path: Path) -> None:
    page, figure = opened(studio)
    numbers = matrix(figure)
    kept = downloaded(page, figure.get_by_role("button", name="as CSV"), tmp_path)
    with kept.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [[float(cell) for cell in row[1:]] for row in rows] == numbers
    drawing = downloaded(page, figure.get_by_role("button", name="as SVG"), tmp_path).read_text(encoding="utf-8")
    assert drawing.count("<rect") == 1 + sum(map(len, numbers))
    image = downloaded(page, figure.get_by_role("button", name="as PNG"), tmp_path).read_bytes()
    assert image.startswith(b"\x89PNG")
