"""The whole model, drawn; each box with the model's own numbers."""

from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

import seqloom
from seqloom.jobs.look import flow
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live
from tests.studio.browser import Studio, downloaded, drawn, matrix, number
from tests.studio.own import own

SOURCE, TARGET = "abcd", "dcba"


def choose(page: Page, box: str) -> None:
    page.locator(f'[data-box="{box}"]').click()
    expect(page.locator(".panel")).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize("name", ["pairs", "text", "tags"])
def test_it_draws_the_model_that_there_is(studio: Studio, runs: Runs, name: str) -> None:
    page = studio.open("flow", model=name, input="good film")
    there = flow(seqloom.load(runs[name])).boxes
    shown = {box.get_attribute("data-box") for box in page.locator("[data-box]").all()}
    assert shown == {box.id for box in there if box.of is None}
    for of in sorted({box.of for box in there if box.of}):
        choose(page, of)
    shown = {box.get_attribute("data-box") for box in page.locator("[data-box]").all()}
    assert shown == {box.id for box in there}


def test_the_encoder_is_left_of_the_decoder_and_all_goes_upwards(studio: Studio) -> None:
    page = studio.open("flow", model="pairs", input=SOURCE)

    def at(box: str) -> tuple[float, float]:
        place = page.locator(f'[data-box="{box}"]').bounding_box()
        assert place is not None
        return place["x"], place["y"]

    assert at("encoder.blocks.0.mixer")[0] < at("decoder.blocks.0.mixer")[0]
    assert at("source.embedding")[1] > at("encoder.blocks.0.mixer")[1] > at("encoder.blocks.0.feed_forward")[1]
    assert at("decoder.blocks.0.mixer")[1] > at("decoder.blocks.0.cross")[1] > at("head")[1]
    memory = page.locator(".edge.memory")
    assert {edge.get_attribute("data-to") for edge in memory.all()} == {"decoder.blocks.0.cross"}


def test_its_numbers_are_the_models(studio: Studio, runs: Runs) -> None:
    """Vectors, attention weights, scores, probabilities."""
    there = own(runs["pairs"], SOURCE, TARGET, ("source.embedding",))
    page = studio.open("flow", model="pairs", input=SOURCE, target=TARGET)
    choose(page, "source.embedding")
    shown = torch.tensor(matrix(page.locator(".panel figure")))
    assert torch.equal(shown, there.made["source.embedding"])
    for layer in "encoder.blocks.0.mixer", "decoder.blocks.0.mixer", "decoder.blocks.0.cross":
        choose(page, layer)
        choose(page, f"{layer}.weights")
        figure = page.locator(".panel figure")
        for head, weights in enumerate(there.made[layer]):
            figure.get_by_role("button", name=f"head {head + 1}").click()
            torch.testing.assert_close(torch.tensor(matrix(figure)), weights)
    choose(page, "head")
    shown = torch.tensor(matrix(page.locator(".panel figure").last))
    torch.testing.assert_close(shown, there.scores_TV)
    choose(page, "head.probabilities")
    shown = torch.tensor(matrix(page.locator(".panel figure").last))
    torch.testing.assert_close(shown, there.scores_TV.softmax(-1))


def test_the_loss_is_that_of_the_answer_that_was_given(studio: Studio, runs: Runs) -> None:
    there = own(runs["pairs"], SOURCE, TARGET)
    each = torch.nn.functional.cross_entropy(there.scores_TV, there.goal, reduction="none")
    page = studio.open("flow", model="pairs", input=SOURCE, target=TARGET)
    expect(page.locator(".loss h2")).to_have_text(f"Loss {each.mean():.2f}")
    shown = [number(text) for text in page.locator(".loss-bars .mono").all_inner_texts()]
    assert shown == pytest.approx(each.tolist(), abs=0.006)
    choose(page, "head.loss")
    shown = [value for (value,) in matrix(page.locator(".panel figure").last)]
    assert shown == pytest.approx(each.tolist(), rel=1e-5)
    without = studio.open("flow", model="pairs", input=SOURCE)
    expect(without.locator(".loss h2")).to_have_count(0)


def test_step_by_step_goes_through_every_box_in_order(studio: Studio, runs: Runs) -> None:
    order = [box.id for box in flow(seqloom.load(runs["text"])).boxes]
    page = studio.open("flow", model="text", input="good")
    following = page.get_by_role("button", name="Next step")
    for place, box in enumerate(order):
        following.click()
        expect(page.locator(".box.chosen")).to_have_attribute("data-box", box)
        assert page.locator(".count").inner_text() == f"step {place + 1} of {len(order)}"
    expect(page.locator(".panel .sentence")).not_to_be_empty()
    expect(following).to_be_disabled()
    page.get_by_role("button", name="Previous step").click()
    expect(page.locator(".box.chosen")).to_have_attribute("data-box", order[-2])


def test_blocks_that_are_alike_are_one_until_they_are_unfolded(studio: Studio) -> None:
    page = studio.open("flow", model="deep", input=SOURCE, box="encoder.blocks.0.feed_forward")
    assert page.locator('[data-box^="encoder.blocks.1."]').count() == 0
    page.get_by_role("button", name="The block after encoder block 1").click()
    expect(page.locator(".box.chosen")).to_have_attribute("data-box", "encoder.blocks.1.feed_forward")
    expect(page.locator(".panel header .note")).to_have_text("encoder block 2")
    assert page.locator('[data-box^="encoder.blocks.0."]').count() == 0
    page.get_by_label("all blocks").check()
    expect(page.locator('[data-box^="encoder.blocks.0."]').first).to_be_visible()
    expect(page.locator('[data-box^="encoder.blocks.1."]').first).to_be_visible()
    page.reload()
    drawn(page)
    expect(page.get_by_label("all blocks")).to_be_checked()


def test_the_drawing_can_be_taken_along(studio: Studio, tmp_path: Path) -> None:
    page = studio.open("flow", model="pairs", input=SOURCE)
    kept = downloaded(page, page.get_by_role("button", name="flow as SVG"), tmp_path)
    text = kept.read_text(encoding="utf-8")
    assert "self-attention" in text
    assert "var(--" not in text  # it looks so without the page's own style sheet
    image = downloaded(page, page.get_by_role("button", name="flow as PNG"), tmp_path)
    assert image.read_bytes().startswith(b"\x89PNG")
    assert image.stat().st_size > 10_000


def test_on_a_phone_the_panel_lies_over_the_drawing(studio: Studio) -> None:
    page = studio.open("flow", model="pairs", input=SOURCE, phone=True)
    expect(page.locator(".panel")).to_be_hidden()
    choose(page, "encoder.blocks.0.feed_forward")
    expect(page.locator(".panel h2")).to_be_in_viewport()
    expect(page.locator(".box.chosen")).to_be_in_viewport()
    page.get_by_role("button", name="Close the panel").click()
    expect(page.locator(".panel")).to_be_hidden()


def test_a_box_shows_where_its_numbers_come_from_and_go(studio: Studio) -> None:
    page = studio.open("flow", model="pairs", input=SOURCE, box="encoder.blocks.0.mixer.scores")
    page.locator(".ways").get_by_role("button", name="keys").click()
    expect(page.locator(".box.chosen")).to_have_attribute("data-box", "encoder.blocks.0.mixer.k")


def test_the_equation_is_that_of_the_chosen_cell(studio: Studio, live: Live) -> None:
    box = "encoder.blocks.0.mixer.scores"
    page = studio.open("flow", model="pairs", input=SOURCE, box=box)
    equation = page.locator(".equation .numbers")
    first = equation.inner_text()
    figure = page.locator(".panel figure").last
    figure.get_by_role("button", name="head 2").click()
    figure.get_by_role("application").focus()
    for key in "ArrowDown", "ArrowDown", "Enter":
        page.keyboard.press(key)
    expect(equation).not_to_have_text(first, use_inner_text=True)
    asked = {"model": "pairs", "input": SOURCE, "box": box, "row": 2, "head": 1}
    there = live.post("/studio/api/box", asked).json()["equation"]["numbers"]
    assert equation.inner_text().split() == there.split()
