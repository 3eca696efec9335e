"""Answers that are no text, as pictures: classes, tags, forecasts, graphs; and what was read, where that is numbers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import seqloom
from tests.cli.run import run
from tests.jobs.asked_runs import Runs
from tests.jobs.lines.test_node_labels import SHORT, write_graph
from tests.jobs.looking.test_labels import SERIES
from tests.jobs.series import write_forecaster, write_series
from tests.serving.live import Live
from tests.studio.browser import Studio, accessible, downloaded, fits, number

PICTURE = np.random.default_rng(2).random((4, 6)).round(3)
MOTION = np.random.default_rng(3).normal(size=(9, 2)).round(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that read numbers and graphs: forecast, image, series, graph."""
    folder, draw = tmp_path_factory.mktemp("tasks"), np.random.default_rng(1)
    labels = np.array(["ab"[number % 2] for number in range(24)])
    np.savez(folder / "image.npz", x=draw.random((24, 4, 6, 1)), y=labels)
    np.savez(folder / "series.npz", x=draw.normal(size=(24, 9, 2)), y=labels)
    (folder / "image.toml").write_text(SERIES % '{ kind = "images", patch = 2, columns = 6, channels = 1 }')
    (folder / "series.toml").write_text(SERIES % '{ kind = "patches", length = 4 }')
    write_graph(folder)
    table = write_series(folder / "forecast.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        write_forecaster(folder / "forecast.toml")
        for name, data in ("forecast", table.name), ("image", "image.npz"), ("series", "series.npz"):
            seqloom.train(folder / f"{name}.toml", data=folder / data, out=folder / name, view="none")
        assert run("train", "gat", "--data", "nodes.tsv", "edges.tsv", "--out", "graph", *SHORT).code == 0
    return folder


@pytest.fixture(scope="module")
def served(browser: Browser, folder: Path, runs: Runs) -> Iterator[Studio]:
    names = [folder / name for name in ("forecast", "image", "series", "graph")]
    with Live([*names, runs["tags"], runs["classes"]]) as live:
        yield Studio(browser, f"{live.url}/")


@pytest.fixture
def tasks(served: Studio) -> Iterator[Studio]:
    yield served
    served.close()
    served.pages.clear()


def bars(page: Page) -> dict[str, float]:
    groups = page.locator(".class-bars g[data-label]").all()
    return {
        str(bar.get_attribute("data-label")): number(bar.locator("text").last.text_content() or "") for bar in groups
    }


def checked(page: Page) -> None:
    accessible(page)
    fits(page)


def test_classes_of_a_text(tasks: Studio, runs: Runs) -> None:
    own = seqloom.load(runs["classes"]).predict(["good film"], n_best=2)[0]
    page = tasks.open("write", model="classes", input="good film")
    shown = bars(page)
    assert next(iter(shown)) == own[0].text
    assert [shown[one.text] for one in own] == pytest.approx([100 * one.score for one in own], abs=0.06)
    assert sum(shown.values()) == pytest.approx(100, abs=0.5)
    checked(page)


def test_tags_with_what_else_it_could_be(tasks: Studio, runs: Runs) -> None:
    own = seqloom.load(runs["tags"]).predict(["good film"])[0]
    page = tasks.open("write", model="tags", input="good film", phone=True, dark=True)
    chips = page.locator(".tagged")
    assert [chip.get_attribute("data-tag") for chip in chips.all()] == own.text.split()
    shares = [number(one or "") for one in page.locator(".tagged .number").all_text_contents()]
    assert shares == pytest.approx([100 * float(np.exp(piece.log_prob)) for piece in own.pieces], abs=0.06)
    checked(page)
    page.get_by_text("As a table").click()
    expect(page.locator("details tbody tr")).to_have_count(2)


def test_pixels_and_the_patches_that_are_read(tasks: Studio, folder: Path) -> None:
    own = seqloom.load(folder / "image").predict(PICTURE)
    page = tasks.open("write", model="image", data=json.dumps(PICTURE.tolist()))
    assert next(iter(bars(page))) == own.text
    assert page.locator(".pixels rect").count() == 24
    assert (page.locator(".pixels .cuts").get_attribute("d") or "").count("V") == 2
    bright = np.unravel_index(PICTURE.argmax(), PICTURE.shape)
    fill = page.locator(f'[data-pixel="{bright[0]},{bright[1]}"]').get_attribute("fill")
    assert fill == "rgb(255,255,255)"
    checked(page)


def test_a_series_is_a_line_a_column(tasks: Studio, folder: Path) -> None:
    own = seqloom.load(folder / "series").predict(MOTION)
    page = tasks.open("write", model="series", data=json.dumps(MOTION.tolist()))
    assert next(iter(bars(page))) == own.text
    paths = [path.get_attribute("d") or "" for path in page.locator(".series .line").all()]
    assert [path.count("L") for path in paths] == [8, 8]
    checked(page)


def test_a_forecast_with_its_bands(tasks: Studio, folder: Path) -> None:
    text = (folder / "forecast.csv").read_text()
    page = tasks.open("write", model="forecast", input=text)
    model = seqloom.load(folder / "forecast")
    (own,) = model.forecast(folder / "forecast.csv")
    assert [chart.get_attribute("data-name") for chart in page.locator(".chart").all()] == list(own.columns)
    bands = page.locator(".chart").first.locator(".band")
    assert bands.count() == len(own.levels) // 2
    for column in range(len(own.columns)):
        path = page.locator(".chart").nth(column).locator(".line.ahead").get_attribute("d") or ""
        heights = [float(y) for _, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)][1:]
        assert len(heights) == len(own.times)
        # up the page is up in numbers, by the same measure everywhere
        assert np.corrcoef(heights, own.said_HCQ[:, column, 0])[0, 1] == pytest.approx(-1, abs=1e-3)
    checked(page)


def test_a_phone_sees_the_forecast_and_every_tag(tasks: Studio, folder: Path) -> None:
    """Pictures are as wide as their place."""
    page = tasks.open("write", model="forecast", input=(folder / "forecast.csv").read_text(), phone=True)
    expect(page.locator(".line.ahead").first).to_be_visible()
    assert right(page, ".chart .line.ahead") < 390
    for phone, wide in (True, 390), (False, 1280):
        page = tasks.open("write", model="tags", input="good film " * 40, phone=phone)
        page.wait_for_function("document.querySelectorAll('.tagged').length === 80")
        assert right(page, ".tagged .chip") < wide
        card = page.locator(".card.answer").bounding_box()
        assert card is not None
        assert right(page, ".tagged .chip") < card["x"] + card["width"]


def right(page: Page, what: str) -> float:
    """How far the furthest of them reaches."""
    found: float = page.evaluate(
        "(what) => Math.max(...[...document.querySelectorAll(what)].map((one) => one.getBoundingClientRect().right))",
        what,
    )
    return found


def test_a_graph_is_taken_along_with_its_names(tasks: Studio, tmp_path: Path) -> None:
    """Which have a rim of the page's colour: it must stay behind them."""
    page = tasks.open("write", model="graph", input="n3")
    text = downloaded(page, page.get_by_role("button", name="as SVG"), tmp_path).read_text(encoding="utf-8")
    rims = [part for part in re.findall(r"<text [^>]*>", text) if 'stroke-width="3' in part]
    assert rims
    assert all('paint-order="stroke' in part for part in rims)


def test_a_graph_and_the_attention_on_its_edges(tasks: Studio, folder: Path) -> None:
    own = seqloom.load(folder / "graph").predict("n3")
    page = tasks.open("write", model="graph", input="n3")
    answer = page.request.post(f"{tasks.url}studio/api/answer", data={"model": "graph", "input": "n3"}).json()["graph"]
    assert page.locator(".dot").count() == len(answer["nodes"])
    assert page.locator(".strand").count() == len(answer["edges"])
    page.locator('.dot[data-node="0"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator(".readout", has_text="n3: ")).to_contain_text(f"{own.text}, probability {own.score:.3f}")
    expect(page.locator(".dot.chosen")).to_be_focused()
    checked(page)


@pytest.mark.parametrize("name", ["forecast", "image", "series", "graph"])
def test_all_views_show_the_inside_of_it(tasks: Studio, folder: Path, name: str) -> None:
    given = {"forecast": {"input": (folder / "forecast.csv").read_text()}, "graph": {"input": "n3"}}
    values = {"image": PICTURE, "series": MOTION}.get(name)
    fields = given[name] if values is None else {"data": json.dumps(values.tolist())}
    for view in "attention", "what-if":
        page = tasks.open(view, model=name, **fields)
        assert page.locator(".fault:not([hidden])").count() == 0
        accessible(page)
    assert page.locator("button.switch").count() > 1


@pytest.mark.parametrize("name", ["forecast", "image", "series", "graph"])
def test_it_begins_with_an_example(tasks: Studio, name: str) -> None:
    page = tasks.open("write", model=name)
    assert page.locator(".fault:not([hidden])").count() == 0
    assert page.locator("figure.framed svg").count() > 0
