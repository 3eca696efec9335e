"""Parts switched off, words and weights changed: what the page says is what a model so changed says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from seqloom.jobs.lecture import lecture
from seqloom.jobs.model import Model
from tests.studio.browser import Studio, accessible, drawn, fits, number
from tests.studio.by_hand import Rules
from tests.studio.by_hand import probabilities as by_hand

SOURCE, SAID = "black cat sleeps", "chat noir dort"
CROSS = "decoder.blocks.0.cross"


@contextmanager
def without(name: str, columns: slice) -> Iterator[Model]:
    """The model with columns of a learnt matrix at zero: what would come through them does not."""
    model = lecture()
    weight: Tensor = model.networks[0].get_parameter(name).data
    kept = weight.clone()
    weight[:, columns] = 0
    try:
        yield model
    finally:
        weight.copy_(kept)


def opened(studio: Studio, *changes: object, **fields: str) -> Page:
    more = {"changes": json.dumps(changes)} if changes else {}
    return studio.open("what-if", model="lecture", input=SOURCE, **fields, **more)


def settled(page: Page) -> Page:
    expect(page.locator(".result")).to_have_attribute("aria-busy", "false")
    return page


def said(page: Page) -> str:
    return settled(page).locator(".said .answer-text").last.inner_text()


def probabilities(page: Page) -> list[float]:
    """Of the tokens of the old answer, with the changes."""
    rows = settled(page).locator(".steps tbody tr")
    return [number(row.locator("td").nth(1).inner_text()) for row in rows.all()]


def scored(model: Model, source: str) -> list[float]:
    return [float(torch.tensor(piece.log_prob).exp()) for piece in model.score([source], [SAID])[0].pieces]


def test_nothing_is_changed_at_first(studio: Studio) -> None:
    page = opened(studio)
    assert said(page) == SAID
    expect(page.locator(".changes")).to_contain_text("Nothing is changed yet")


@pytest.mark.parametrize("head", [0, 1])
def test_a_head_that_is_off(studio: Studio, head: int) -> None:
    page = opened(studio)
    page.get_by_role("button", name=f"attention over the source: head {head + 1} off").click()
    expect(page.locator(".changes .chip")).to_have_count(1)
    with without(f"{CROSS}.heads.out.weight", slice(3 * head, 3 * head + 3)) as model:
        own, expected = model.predict([SOURCE])[0].text, scored(model, SOURCE)
    assert probabilities(page) == pytest.approx(expected, abs=6e-4)
    assert said(page) == own
    page.get_by_role("button", name="Take back").click()
    expect(page.locator(".changes .chip")).to_have_count(0)
    assert "changes" not in page.url


def test_the_loss_of_a_given_answer(studio: Studio) -> None:
    page = opened(studio, {"kind": "head", "layer": CROSS, "head": 1}, target=SAID)
    row = settled(page).locator(".result table.numbers tr", has_text="loss")
    plain = lecture().score([SOURCE], [SAID])[0].log_prob
    with without(f"{CROSS}.heads.out.weight", slice(3, 6)) as model:
        changed = model.score([SOURCE], [SAID])[0].log_prob
    shown = [number(cell) for cell in row.locator("td").all_inner_texts()]
    assert shown == pytest.approx([-plain / 4, -changed / 4], abs=0.006)


def test_a_layer_that_is_off(studio: Studio) -> None:
    page = opened(studio)
    page.get_by_role("button", name="encoder block 1: self-attention off").click()
    expect(page.locator(".changes .chip")).to_have_count(1)
    with without("encoder.blocks.0.mixer.heads.out.weight", slice(None)) as model:
        own, expected = model.predict([SOURCE])[0].text, scored(model, SOURCE)
    assert probabilities(page) == pytest.approx(expected, abs=6e-4)
    assert said(page) == own


def test_another_word(studio: Studio) -> None:
    """What was changed is marked."""
    page = opened(studio)
    page.get_by_label("source 2").fill("dog")
    page.keyboard.press("Enter")
    expect(page.locator(".changes .chip")).to_have_text("source 2: “cat” → “dog” ×")
    assert said(page) == lecture().predict(["black dog sleeps"])[0].text == "chien noir dort"
    assert page.locator("mark").all_inner_texts() == ["chat", "chien"]
    assert probabilities(page) == pytest.approx(scored(lecture(), "black dog sleeps"), abs=6e-4)
    expect(page.locator(".verdict")).to_have_text("1 of its 4 tokens is new.")
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("textbox", name="source 2")).to_have_value("cat")


def test_the_lecture_by_hand_is_the_model() -> None:
    """So that what is compared with it below is compared with the equations themselves."""
    assert by_hand(SOURCE, SAID, Rules()) == pytest.approx(scored(lecture(), SOURCE), abs=1e-5)


def test_another_weight(studio: Studio) -> None:
    page = opened(studio)
    page.get_by_text("Edit an attention weight").click()
    page.locator(".controls .field select").select_option(label="decoder block 1: attention over the source")
    page.get_by_role("button", name="head 2", exact=True).click()
    page.locator(".controls .map").focus()
    for key in "ArrowDown", "ArrowRight", "ArrowRight", "Enter":
        page.keyboard.press(key)
    slider = page.locator(".weight input")
    slider.evaluate("(slider) => { slider.value = 0.9; slider.dispatchEvent(new Event('change')); }")
    expect(page.locator(".changes .chip")).to_have_count(1)
    own = by_hand(SOURCE, SAID, Rules(weights={(CROSS, 1, 1, 2): 0.9}))
    assert probabilities(page) == pytest.approx(own, abs=6e-4)
    assert own[1] < 0.2 < by_hand(SOURCE, SAID, Rules())[1]


@pytest.mark.parametrize(
    ("buttons", "rules"),
    [
        (["no positions in the encoder"], Rules(encoder_positions=False)),
        (["no positions in the decoder"], Rules(decoder_positions=False)),
        (["no mask"], Rules(mask=False)),
        (["no mask", "no positions in the encoder"], Rules(mask=False, encoder_positions=False)),
    ],
)
def test_positions_and_mask_can_be_taken_away(studio: Studio, buttons: list[str], rules: Rules) -> None:
    page = opened(studio)
    for button in buttons:
        page.get_by_role("button", name=button).click()
    expect(page.locator(".changes .chip")).to_have_count(len(buttons))
    assert probabilities(page) == pytest.approx(by_hand(SOURCE, SAID, rules), abs=6e-4)
    if len(buttons) > 1:
        page.get_by_role("button", name="Take all back").click()
        expect(page.locator(".changes .chip")).to_have_count(0)


def test_weights_are_fetched_when_they_are_edited(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.jobs.looking.attention.LIGHT", 10)
    page = studio.open("what-if", model="lecture", input="white dog eats")
    page.get_by_text("Edit an attention weight").click()
    expect(page.locator(".controls figure .shape")).to_have_text("2×4×4")


def test_a_link_restores_the_changes(studio: Studio) -> None:
    head, word = {"kind": "head", "layer": CROSS, "head": 1}, {"kind": "token", "side": "source", "place": 0}
    page = opened(studio, head, {**word, "text": "white"})
    expect(page.locator(".changes .chip")).to_have_count(2)
    expect(page.get_by_role("textbox", name="source 1")).to_have_value("white")
    expect(page.locator("button.switch[aria-pressed=true]")).to_have_attribute(
        "data-change", json.dumps(head).replace(" ", "")
    )
    before = said(page)
    page.reload()
    drawn(page)
    assert said(page) == before


def test_classes_and_tags_can_be_changed_too(studio: Studio) -> None:
    for name in "classes", "tags":
        page = studio.open("what-if", model=name, input="good film")
        page.get_by_role("button", name="encoder block 1: off").click()
        expect(page.locator(".changes .chip")).to_have_count(1)
        expect(settled(page).locator(".said")).to_have_count(2)


def test_everyone_can_read_it(studio: Studio) -> None:
    for phone, dark in (False, False), (True, True):
        page = studio.open("what-if", model="lecture", phone=phone, dark=dark, changes='[{"kind": "mask"}]')
        accessible(settled(page))
        fits(page)
