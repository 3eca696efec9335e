"""An answer as it comes, and going on from another piece."""

import pytest
from playwright.sync_api import Page, expect

import seqloom
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live, paused
from tests.studio.browser import Studio, drawn, number

SOURCE = "abcd"


def pieces(page: Page) -> list[str]:
    return page.locator(".piece .said").all_inner_texts()


def options(page: Page) -> dict[str, float]:
    rows = page.locator(".others .option").all()
    return {row.locator(".token").inner_text(): number(row.locator(".mono").inner_text()) for row in rows}


def test_the_answer_is_the_models_own(studio: Studio, runs: Runs) -> None:
    answer = seqloom.load(runs["pairs"]).predict([SOURCE])[0]
    page = studio.open("write", model="pairs", input=SOURCE)
    expect(page.locator(".answer-text")).to_have_text(answer.text)
    assert "".join(pieces(page)).removesuffix("</s>") == answer.text


def test_each_piece_has_what_else_could_have_come(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input=SOURCE)
    shown = page.locator(".piece").all()
    assert len(shown) > 1
    for place, piece in enumerate(shown):
        piece.click()
        expect(page.locator(".others h2")).to_have_text(f"Step {place + 1}")
        there = options(page)
        chosen = piece.locator(".said").inner_text()
        assert there[chosen] == number(piece.locator(".share").inner_text())
        assert list(there.values()) == sorted(there.values(), reverse=True)
        assert 99 < sum(there.values()) <= 100.2 or len(there) >= 5


def test_another_piece_is_forced_and_the_model_goes_on(studio: Studio, live: Live) -> None:
    page = studio.open("write", model="pairs", input=SOURCE)
    before = pieces(page)
    page.locator(".piece").nth(1).click()
    other = page.locator(".others button.option").first
    token = other.locator(".token").inner_text()
    assert token != before[1]
    other.click()
    expect(page.locator(".piece.forced")).to_have_count(2)
    drawn(page)
    after = pieces(page)
    assert after[:2] == [before[0], token]
    ((said,),) = live.predict([{"source": SOURCE, "prefix": "".join(after[:2])}], model="pairs")
    expect(page.locator(".answer-text")).to_have_text(said["text"])
    page.reload()
    drawn(page)
    assert pieces(page) == after
    page.get_by_role("button", name="The model's own answer").click()
    expect(page.locator(".piece.forced")).to_have_count(0)
    drawn(page)
    assert pieces(page) == before


def test_pieces_come_one_by_one(studio: Studio, live: Live) -> None:
    page = studio.open("write", model="text", input="good film", settings='{"longest": 40}')
    with paused(live, "text", 1):
        page.get_by_label("Prompt", exact=True).fill("dull plot")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_have_attribute("aria-busy", "true")  # before, the old answer is there
        expect(page.locator(".piece").first).to_be_visible()
        assert page.locator("main").get_attribute("aria-busy") == "true"
    drawn(page)
    assert len(pieces(page)) > 1


def test_going_elsewhere_stops_it(studio: Studio, live: Live) -> None:
    page = studio.open("write", model="text", input="good film")
    with paused(live, "text", 1):
        page.get_by_label("Prompt", exact=True).fill("nice plot")
        page.keyboard.press("Enter")
        expect(page.locator(".piece").first).to_be_visible()
        page.get_by_label("Model", exact=True).select_option("pairs")
        drawn(page)
    expect(page.locator(".answer-text")).not_to_be_empty()


@pytest.mark.parametrize("name", ["tags", "classes"])
def test_other_answers_have_their_own_picture(studio: Studio, runs: Runs, name: str) -> None:
    page = studio.open("write", model=name, input="good film")
    label = seqloom.load(runs[name]).predict(["good film"])[0].text.split()[0]
    expect(page.locator(".whole")).to_contain_text(label)


def test_a_given_answer_is_read_piece_by_piece(studio: Studio) -> None:
    page = studio.open("write", model="pairs", input=SOURCE, target="dcbb")
    expect(page.locator(".answer-text")).to_have_text("dcbb")
    expect(page.locator(".whole")).to_contain_text("loss")
