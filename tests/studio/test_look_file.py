"""What `seqloom look` wrote, opened from the disk: every view, without a server."""

from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, expect

from seqloom.jobs.lecture import lecture
from tests.studio.browser import Studio, drawn, matrix

VIEWS = ("write", "flow", "attention", "beam", "what-if", "lecture")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lecture().look("black cat sleeps").save(tmp_path_factory.mktemp("look") / "look.html")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view(browser: Browser, file: Path, view: str) -> None:
    studio = Studio(browser, file.as_uri())
    page = studio.open(view)
    expect(page.locator("main")).not_to_contain_text("does not hold that")
    studio.close()


def test_it_opens_at_its_input(browser: Browser, file: Path) -> None:
    studio = Studio(browser, file.as_uri())
    page = browser.new_page()
    studio.pages.append(page)
    page.goto(studio.url)
    expect(drawn(page).locator("main")).to_contain_text("chat noir dort")
    studio.close()


def test_its_numbers_are_the_model_s(browser: Browser, file: Path) -> None:
    studio = Studio(browser, file.as_uri())
    page = studio.open("flow", input="black cat sleeps", box="encoder.blocks.0.mixer.weights")
    own = lecture().look("black cat sleeps").layers[0].weights[0].tolist()
    shown = matrix(page.locator("figure").filter(has_text="attention weights").first)
    assert [[pytest.approx(number, abs=1e-7) for number in row] for row in shown] == own
    studio.close()


def test_what_the_answer_hangs_on(browser: Browser, file: Path) -> None:
    studio = Studio(browser, file.as_uri())
    page = studio.open("attention", hangs="yes")
    own = lecture().look("black cat sleeps").looks[0].influence().values
    assert torch.equal(torch.tensor(matrix(page.locator(".hanging figure"))), own)
    studio.close()


def test_a_notebook_s_frame(browser: Browser, tmp_path: Path) -> None:
    """Where the page has an address without a place of its own: it goes from view to view all the same."""
    shown = lecture().look("black cat sleeps")._repr_html_()
    (tmp_path / "notebook.html").write_text(f'<!doctype html><meta charset="utf-8">{shown}', encoding="utf-8")
    studio = Studio(browser, (tmp_path / "notebook.html").as_uri())
    page = browser.new_page()
    studio.pages.append(page)
    page.on("pageerror", lambda error: studio.faults.append(str(error)))
    page.goto(studio.url)
    frame = page.frame_locator("iframe")
    expect(frame.locator("main")).to_contain_text("chat noir dort")
    frame.get_by_role("link", name="Attention").first.click()
    expect(frame.locator("main")).to_contain_text("Who looks at whom")
    studio.close()
