"""The page around the views: links, models, inputs, colours, keys, faults."""

import re

import pytest
from playwright.sync_api import Browser, Dialog, Route, expect

from seqloom.jobs.lecture import pairs
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live
from tests.studio.browser import Studio, accessible, drawn, fits

VIEWS = ("write", "flow", "attention", "beam", "what-if", "training", "lecture")


@pytest.mark.parametrize(("phone", "dark"), [(False, False), (True, True)], ids=["laptop, light", "phone, dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_read_by_everyone(studio: Studio, view: str, phone: bool, dark: bool) -> None:
    page = studio.open(view, model="pairs", input="abcd", phone=phone, dark=dark)
    accessible(page)
    fits(page)


def test_a_link_restores_what_was_looked_at(studio: Studio) -> None:
    page = studio.open("flow", model="pairs", input="bead")
    page.locator('[data-box="encoder.blocks.0.mixer"]').click()
    page.locator('[data-box="encoder.blocks.0.mixer.weights"]').click()
    expect(page.locator(".panel .name")).to_have_text("A")
    again = studio.open(page.url.partition("#/")[2])
    expect(again.locator("textarea[name=input]")).to_have_value("bead")
    expect(again.locator(".box.chosen")).to_have_attribute("data-box", "encoder.blocks.0.mixer.weights")
    expect(again.locator(".panel .name")).to_have_text("A")


def test_the_link_is_copied_or_shown(studio: Studio) -> None:
    """Over plain HTTP from another machine there is no clipboard: then the link is shown, to be copied by hand."""
    page = studio.open("flow", model="pairs", input="bead")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy a link").click()
    expect(page.locator("#said")).to_have_text("The link is copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    shown: list[str] = []

    def answer(dialog: Dialog) -> None:
        shown.append(dialog.default_value)
        dialog.accept()

    page.on("dialog", answer)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Copy a link").click()
    assert shown == [page.url]


def test_another_model_has_its_own_inputs_and_views(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input="abcd")
    page.get_by_label("Model", exact=True).select_option("tags")
    drawn(page)
    expect(page.get_by_label("Words", exact=True)).to_be_visible()
    assert "model=tags" in page.url
    assert "abcd" not in page.url
    page.go_back()
    drawn(page)
    expect(page.get_by_label("Source", exact=True)).to_have_value("abcd")


def test_what_is_typed_is_asked(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input="abcd")
    page.get_by_label("Source", exact=True).fill("deaf")
    page.keyboard.press("Enter")
    drawn(page)
    expect(page).to_have_url(re.compile(r"input=deaf"))


def test_the_next_view_keeps_the_input(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input="cabbage")
    page.get_by_role("link", name="Flow").click()
    drawn(page)
    expect(page.get_by_role("link", name="Flow")).to_have_attribute("aria-current", "page")
    expect(page.get_by_label("Source", exact=True)).to_have_value("cabbage")


def test_colours_change_at_a_press_and_stay(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input="abcd")
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
    page = studio.open("flow", model="pairs", input="abcd")
    page.locator('[data-box="encoder.blocks.0.mixer"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator(".panel h2")).to_have_text("self-attention")
    expect(page.locator(":focus")).to_have_attribute("data-box", "encoder.blocks.0.mixer")
    expect(page.locator(".box[tabindex='0']")).to_have_count(1)  # Tab stops once; arrow keys go on
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    chosen = page.locator(".box.chosen")
    expect(chosen).to_be_focused()
    assert chosen.get_attribute("data-box") != "encoder.blocks.0.mixer"


def test_a_refusal_is_told_in_its_own_words(studio: Studio) -> None:
    studio.refused = True
    page = studio.open("write", model="pairs", input="  ")
    expect(page.get_by_role("alert")).to_contain_text("input is empty")


def without_examples(route: Route) -> None:
    answer = route.fetch()
    models = [{**model, "examples": []} for model in answer.json()["models"]]
    route.fulfill(response=answer, json={"models": models})


def test_without_an_input_it_asks_for_one(studio: Studio) -> None:
    page = studio.open("write", model="pairs")
    page.route("**/studio/api/models", without_examples)
    page.reload()
    expect(page.locator(".view")).to_contain_text("Type an input")
    page.get_by_role("link", name="Flow").click()
    page.locator('[data-box="encoder.blocks.0.mixer"]').click()
    expect(page.locator(".panel h2")).to_have_text("self-attention")
    expect(page.locator(".panel")).to_contain_text("Type an input")
    page.get_by_label("Source", exact=True).fill("abcd")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".panel figure").first).to_be_visible()


def test_a_text_can_begin_from_nothing(studio: Studio) -> None:
    """A model of language needs no input, and says something without one."""
    page = studio.open("write", model="text", settings='{"longest": 4, "shortest": 4}')
    page.route("**/studio/api/models", without_examples)
    page.reload()
    drawn(page)
    expect(page.locator(".answer-text")).not_to_be_empty()
    expect(page.locator(".remark")).to_have_text("The answer is cut at 4 tokens (generation.longest).")


@pytest.mark.parametrize("view", ["write", "flow", "what-if", "lecture"])
def test_words_that_the_model_does_not_know(studio: Studio, view: str) -> None:
    page = studio.open(view, model="lecture", input="black zebra sleeps")
    expect(page.locator(".remark")).to_have_text("The vocabulary has no 'zebra': the model reads <unk> instead.")


def test_a_phone_shows_which_view_it_is(studio: Studio) -> None:
    page = studio.open("training", model="pairs", phone=True)
    box = page.get_by_role("link", name="Training").bounding_box()
    assert box is not None
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390


def test_an_example_is_chosen(studio: Studio) -> None:
    page = studio.open("write", model="lecture")
    page.get_by_label("Example").select_option(index=3)
    drawn(page)
    chosen = page.get_by_label("Example").locator("option:checked").inner_text()
    expect(page.get_by_label("Source", exact=True)).to_have_value(chosen)
    expect(page.locator(".answer-text")).to_have_text(dict(pairs())[chosen])


def test_the_skip_link_loses_nothing(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input="abcd")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert "input=abcd" in page.url


def test_a_server_with_a_token_asks_for_it_once(browser: Browser, runs: Runs) -> None:
    with Live([runs["pairs"]], token="open sesame") as guarded:
        studio = Studio(browser, f"{guarded.url}/")
        studio.refused = True
        asked: list[str] = []

        def answer(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept("open sesame")

        page = studio.open("write", before=lambda page: page.on("dialog", answer), input="abcd")
        expect(page.locator(".answer-text")).not_to_be_empty()
        page.get_by_role("link", name="Flow").click()
        drawn(page)
        assert len(asked) == 1
        studio.close()
