"""The page around the views: links, models, inputs, colours, keys, faults."""

import re

import pytest
from playwright.sync_api import expect

from tests.studio.browser import Studio, accessible, drawn, fits

VIEWS = ("write", "flow")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["laptop", "phone"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_read_by_everyone(studio: Studio, view: str, phone: bool, dark: bool) -> None:
    page = studio.open(view, model="sentences", input="good film", phone=phone, dark=dark)
    accessible(page)
    fits(page)


def test_a_link_restores_what_was_looked_at(studio: Studio) -> None:
    page = studio.open("flow", model="sentences", input="nice plot")
    page.locator('[data-box="encoder.blocks.0.mixer"]').click()
    page.locator('[data-box="encoder.blocks.0.mixer.weights"]').click()
    expect(page.locator(".panel .name")).to_have_text("A")
    again = studio.open("write")
    again.goto(page.url)
    again.reload()
    drawn(again)
    expect(again.locator("textarea[name=input]")).to_have_value("nice plot")
    expect(again.locator(".box.chosen")).to_have_attribute("data-box", "encoder.blocks.0.mixer.weights")
    expect(again.locator(".panel .name")).to_have_text("A")


def test_another_model_has_its_own_inputs_and_views(studio: Studio) -> None:
    page = studio.open("write", model="sentences", input="good film")
    page.get_by_label("Model").select_option("tags")
    drawn(page)
    expect(page.get_by_label("Words")).to_be_visible()
    assert "model=tags" in page.url
    assert "good" not in page.url
    page.go_back()
    drawn(page)
    expect(page.get_by_label("Source")).to_have_value("good film")


def test_what_is_typed_is_asked(studio: Studio) -> None:
    page = studio.open("write", model="sentences", input="good film")
    page.get_by_label("Source").fill("dull plot dull")
    page.keyboard.press("Enter")
    drawn(page)
    expect(page).to_have_url(re.compile(r"input=dull\+plot\+dull"))


def test_the_next_view_keeps_the_input(studio: Studio) -> None:
    page = studio.open("write", model="sentences", input="very nice book")
    page.get_by_role("link", name="Flow").click()
    drawn(page)
    expect(page.get_by_role("link", name="Flow")).to_have_attribute("aria-current", "page")
    expect(page.get_by_label("Source")).to_have_value("very nice book")


def test_colours_change_at_a_press_and_stay(studio: Studio) -> None:
    page = studio.open("write", model="sentences", input="good film")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Change to dark colours").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    drawn(page)
    assert page.evaluate(ground) == dark
    page.get_by_role("button", name="Change to light colours").click()
    assert page.evaluate(ground) == light


def test_all_is_reached_with_keys(studio: Studio) -> None:
    page = studio.open("flow", model="sentences", input="good film")
    page.locator('[data-box="encoder.blocks.0.mixer"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator(".panel h2")).to_have_text("self-attention")
    expect(page.locator(":focus")).to_have_attribute("data-box", "encoder.blocks.0.mixer")


def test_a_refusal_is_told_in_its_own_words(studio: Studio) -> None:
    studio.refused = True
    page = studio.open("write", model="sentences", input="  ")
    expect(page.get_by_role("alert")).to_contain_text("input is empty")
