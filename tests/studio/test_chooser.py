"""Inputs of every kind: typed, or chosen among the model's examples."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

import seqloom
from tests.jobs.asked_runs import Runs
from tests.jobs.test_series import RECIPE, _examples, _jsonl
from tests.serving.live import Live
from tests.studio.browser import Studio, accessible, drawn


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A model that labels series of numbers."""
    folder = tmp_path_factory.mktemp("waves")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        recipe = folder / "waves.toml"
        recipe.write_text(RECIPE, encoding="utf-8")
        few = ["training.steps=4", "training.validate_every=4"]
        data = _jsonl(folder / "waves.jsonl", _examples(60))
        seqloom.train(recipe, data=data, out=folder / "waves", view="none", changes=few)
    with Live([folder / "waves"]) as live:
        yield live


@pytest.fixture
def series(browser: Browser, waves: Live) -> Iterator[Studio]:
    studio = Studio(browser, f"{waves.url}/")
    yield studio
    studio.close()


def test_an_example_of_numbers_is_named_by_its_number(series: Studio) -> None:
    page = series.open("write")
    accessible(page)
    page.get_by_label("Example").select_option(index=2)
    expect(page).to_have_url(re.compile("example=2"))
    drawn(page)
    typed = page.get_by_label("Readings").input_value()
    page.reload()
    drawn(page)
    expect(page.get_by_label("Readings")).to_have_value(typed)


def test_numbers_are_typed_as_one_writes_them(series: Studio) -> None:
    page = series.open("write")
    first = page.get_by_label("Readings").input_value()
    lines = [line.split() for line in first.splitlines()]
    page.get_by_label("Readings").fill("\n".join("; ".join(line) for line in lines[:-1]))
    page.get_by_role("button", name="Show").click()
    drawn(page)
    expect(page.get_by_label("Example").locator("option:checked")).to_have_text("your own")
    expect(page.locator(".answer")).to_be_visible()
    expect(page.get_by_label("Readings")).to_have_value("\n".join(" ".join(line) for line in lines[:-1]))


def test_what_is_no_number_is_refused_before_anybody_is_asked(series: Studio) -> None:
    page = series.open("write")
    page.get_by_label("Readings").fill("1 2 three")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".chooser").get_by_role("alert")).to_contain_text("Numbers are wanted")
    page.get_by_label("Readings").fill("[1, 2")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".chooser").get_by_role("alert")).to_contain_text("This is not JSON")


@pytest.mark.parametrize(("name", "label", "right"), [("tags", "right tags", "N N"), ("classes", "right class", "pos")])
def test_the_right_answer_of_any_kind_has_a_loss(studio: Studio, runs: Runs, name: str, label: str, right: str) -> None:
    page = studio.open("flow", model=name, input="good film")
    page.get_by_label(label).fill(right)
    page.keyboard.press("Enter")
    drawn(page)
    expect(page.locator(".loss h2")).to_contain_text("Loss")
    assert page.locator(".loss-bars li").count() == len(right.split())


def test_an_address_that_is_no_json_is_no_harm(studio: Studio) -> None:
    page = studio.open("write", model="pairs", data="{", changes="[", settings=json.dumps({}), input="abcd")
    expect(page.locator(".answer-text")).not_to_be_empty()
