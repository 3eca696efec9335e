"""The search for the answer: its tree, why the winner won, and other length penalties."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from seqloom.generation.length import penalty
from seqloom.generation.settings import MeanLength, NoLength, WuLength
from seqloom.jobs.lecture import lecture
from tests.serving.live import Live
from tests.studio.browser import Studio, accessible, downloaded, drawn, fits, number

SOURCE = "black cat sleeps"
SETTINGS = {"longest": 8, "beam": 4}


def opened(studio: Studio, **fields: Any) -> Page:
    return studio.open("beam", model="lecture", input=SOURCE, settings=json.dumps(SETTINGS), **fields)


def searched(live: Live) -> Any:
    answer = live.post("/studio/api/beam", {"model": "lecture", "input": SOURCE, "settings": SETTINGS})
    assert answer.status_code == 200, answer.text
    return answer.json()


def rows(page: Page) -> list[list[str]]:
    return [row.locator("td").all_inner_texts() for row in page.locator(".answers tbody tr").all()]


def slide(page: Page, alpha: float) -> None:
    page.get_by_label("alpha").evaluate(
        "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', {bubbles: true})); }", alpha
    )


def test_the_best_answers_are_those_of_predict(studio: Studio) -> None:
    own = lecture().predict([SOURCE], n_best=2, beam=4)[0]
    page = opened(studio)
    found = rows(page)
    assert found[0][1] == own[0].text
    assert number(found[0][5]) == pytest.approx(own[0].score, abs=1e-4)
    assert number(found[0][2]) == pytest.approx(own[0].log_prob, abs=0.006)
    expect(page.locator(".why")).to_contain_text(f"“{own[0].text}” wins")
    expect(page.locator(".why bdi").first).to_have_text(own[0].text)  # of whatever script, it turns nothing around


def test_the_tree_is_all_that_was_considered(studio: Studio, live: Live) -> None:
    tree = searched(live)
    page = opened(studio)
    assert page.locator(".node").count() == len(tree["nodes"]) + 1
    faint = [node for node in tree["nodes"] if not node["kept"] and not node["finished"]]
    assert page.locator(".node.dropped").count() == len(faint) > 0
    page.get_by_label("what was given up").uncheck()
    assert page.locator(".node.dropped").count() == 0
    assert "pruned=0" in page.url
    node = page.locator(".node.way[role=button]").last
    node.click()
    expect(page.locator(".view > .readout")).to_contain_text(" = ")


@pytest.mark.parametrize(
    ("button", "settings"),
    [
        ("Wu et al.", WuLength(alpha=0)),
        ("Wu et al.", WuLength(alpha=2.5)),
        ("mean", MeanLength(alpha=1)),
        ("none", NoLength()),
    ],
)
def test_another_penalty_ranks_anew(studio: Studio, live: Live, button: str, settings: Any) -> None:
    """As generation/length.py would, at once."""
    finished = [one for one in searched(live)["finished"] if one["ended"]]
    page = opened(studio)
    page.get_by_role("button", name=button).click()
    if not isinstance(settings, NoLength):
        slide(page, settings.alpha)
    scores = [one["total"] / float(penalty(settings, float(one["length"]))) for one in finished]
    best = sorted(zip(scores, [one["text"] for one in finished], strict=True), key=lambda one: -one[0])
    shown = rows(page)
    assert [number(row[5]) for row in shown[: len(best)]] == pytest.approx([score for score, _ in best], abs=1e-4)
    assert shown[0][1] == (best[0][1] or "∅")
    assert page.locator(".node.way.ended").count() == 1


def test_a_link_restores_the_penalty_and_searches_with_it(studio: Studio) -> None:
    page = opened(studio)
    expect(page.get_by_role("button", name="Search again")).to_be_hidden()
    page.get_by_role("button", name="mean").click()
    slide(page, 1.5)
    again = studio.open("write", model="lecture")
    again.goto(page.url)
    drawn(again)
    expect(again.get_by_label("alpha")).to_have_value("1.5")
    assert rows(again) == rows(page)
    again.get_by_role("button", name="Search again").click()
    expect(again.get_by_role("button", name="Search again")).to_be_hidden()
    expect(again.get_by_label("alpha")).to_have_value("1.5")


def test_arrow_keys_go_through_the_tree(studio: Studio) -> None:
    """Tab stops once, at the winner."""
    page = opened(studio)
    stops = page.locator(".node[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    token = page.locator(":focus").get_attribute("aria-label")
    assert token is not None
    assert "an answer ends here" in token
    page.keyboard.press("ArrowLeft")
    expect(page.locator(":focus")).to_have_class("node way")
    page.keyboard.press("Enter")
    expect(page.locator(".view > .readout")).to_contain_text("chat noir dort: ")
    expect(stops).to_have_count(1)


LAID_OUT = """async (nodes) => {
    const { placeTree } = await import("/studio/pictures/tree_layout.js");
    const { places, rows } = placeTree(nodes);
    return [Object.fromEntries(places), rows];
}"""


def test_the_tree_is_as_tall_as_its_fullest_step(studio: Studio) -> None:
    """However long it grows; no two nodes stand on one another, and no two edges cross."""
    page = studio.open("beam", model="text", input="good", settings='{"longest": 60, "shortest": 60, "beam": 4}')
    tree = page.request.post(
        f"{studio.url}studio/api/beam",
        data={"model": "text", "input": "good", "settings": {"longest": 60, "shortest": 60, "beam": 4}},
    ).json()["nodes"]
    places, rows = page.evaluate(LAID_OUT, tree)
    steps: dict[int, list[Any]] = {}
    for node in tree:
        steps.setdefault(node["step"], []).append(node)
    assert len(steps) > 50
    assert rows == max(len(nodes) for nodes in steps.values())
    for nodes in steps.values():
        stand = sorted((places[str(node["id"])]["y"], places.get(str(node["parent"]), {"y": 0})["y"]) for node in nodes)
        assert all(after[0] - before[0] >= 1 and after[1] >= before[1] for before, after in pairwise(stand))
        assert 0 <= stand[0][0] <= stand[-1][0] <= rows - 1
    assert page.locator(".beam-tree").bounding_box()["height"] < 40 * rows + 60  # type: ignore[index]


def test_a_wider_beam_considers_more(studio: Studio) -> None:
    page = opened(studio)
    before = page.locator(".node").count()
    page.get_by_label("Beam", exact=True).select_option("8")
    expect(page.get_by_label("Beam", exact=True)).to_have_value("8")
    drawn(page)
    assert page.locator(".node").count() > before


def test_a_language_model_searches_too(studio: Studio) -> None:
    page = studio.open("beam", model="text", input="good", settings='{"longest": 6}')
    assert page.locator(".node").count() > 6


def test_the_tree_can_be_taken_along(studio: Studio, tmp_path: Path) -> None:
    page = opened(studio)
    file = downloaded(page, page.get_by_role("button", name="as PNG").first, tmp_path)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_everyone_can_read_it(studio: Studio) -> None:
    for phone, dark in (False, False), (True, True):
        page = opened(studio, phone=phone, dark=dark)
        accessible(page)
        fits(page)
