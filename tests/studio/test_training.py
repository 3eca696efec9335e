"""Curves while a run trains, and its attention from checkpoint to checkpoint."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import Tensor

import seqloom
from seqloom.store import RunFolder
from tests.jobs.run import write_pairs, write_recipe
from tests.serving.live import Live
from tests.studio.browser import Studio, accessible, downloaded, drawn, fits, matrix

STEPS = 40


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    recipe, data = write_recipe(folder / "recipe.toml"), write_pairs(folder / "pairs.tsv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        seqloom.train(recipe, data=data, out=folder / "run", view="none")
    return folder / "run"


@pytest.fixture(scope="module")
def trained(browser: Browser, run: Path) -> Iterator[Studio]:
    with Live([run]) as live:
        yield Studio(browser, f"{live.url}/")


@pytest.fixture
def watched(trained: Studio) -> Iterator[Studio]:
    yield trained
    trained.close()
    trained.pages.clear()


def looks(run: Path) -> list[tuple[int, Tensor]]:
    return [(file.step, file.read()) for file in RunFolder(run).looks.files()]


def read(page: Page) -> Tensor:
    return torch.tensor(matrix(page.locator(".looks figure")))


def slide(page: Page, to: int) -> None:
    page.get_by_label("Checkpoint").evaluate(
        "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', {bubbles: true})); }", to
    )


def test_curves_are_what_was_measured(watched: Studio, run: Path, tmp_path: Path) -> None:
    page = watched.open("training")
    expect(page.locator(".status")).to_contain_text(f"ended at step {STEPS}")
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    charts = {chart.get_attribute("data-name") for chart in page.locator(".chart").all()}
    assert {"loss", "learning rate"} <= charts
    assert page.locator('.line[data-name="valid_loss"]').count() == 1
    file = downloaded(page, page.get_by_role("button", name="as CSV").first, tmp_path)
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    place = head.split(",").index("loss")
    shown = {int(row.split(",")[0]): float(row.split(",")[place]) for row in rows if row.split(",")[place]}
    assert shown == {line["step"]: line["loss"] for line in lines if "loss" in line}


def test_attention_from_checkpoint_to_checkpoint(watched: Studio, run: Path) -> None:
    """The newest first; a link restores another one."""
    own = looks(run)
    assert len(own) == 5
    page = watched.open("training")
    assert torch.equal(read(page), own[-1][1][0])
    slide(page, 1)
    expect(page.locator(".looks output").first).to_have_text(f"step {own[1][0]}")
    assert torch.equal(read(page), own[1][1][0])
    page.get_by_role("button", name="head 2").click()
    assert torch.equal(read(page), own[1][1][1])
    assert f"look={own[1][0]}" in page.url
    page.reload()
    drawn(page)
    assert torch.equal(read(page), own[1][1][1])


def test_it_plays(watched: Studio, run: Path) -> None:
    page = watched.open("training")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".looks output").first).to_have_text(f"step {looks(run)[0][0]}")
    expect(page.locator(".looks output").first).to_have_text(f"step {looks(run)[1][0]}")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_what_is_measured_meanwhile_is_drawn(watched: Studio, run: Path) -> None:
    """A run that trains is asked again and again."""
    page = watched.open("training")
    with RunFolder(run).locked():
        page.reload()
        drawn(page)
        expect(page.locator(".status")).to_contain_text("It is being trained")
        before = page.locator('.line[data-name="loss"]').last.get_attribute("d")
        with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": STEPS + 20, "loss": 0.25, "rate": 0.0}) + "\n")
        expect(page.locator(".status")).to_contain_text(f"step {STEPS + 20}")
        assert page.locator('.line[data-name="loss"]').last.get_attribute("d") != before


def test_everyone_can_read_it(watched: Studio) -> None:
    for phone, dark in (False, False), (True, True):
        page = watched.open("training", phone=phone, dark=dark)
        accessible(page)
        fits(page)
