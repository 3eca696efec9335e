"""The walkthroughs are programs: every block runs and can be wrong, and what a page shows is what it prints."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, links, programs, run

FOLDER = ROOT / "docs" / "walkthroughs"
INDEX = FOLDER / "README.md"
WALKTHROUGHS = [page for page in PAGES if page.parent == FOLDER and page != INDEX]


@pytest.mark.slow
@pytest.mark.parametrize("page", WALKTHROUGHS, ids=lambda page: page.stem)
def test_it_prints_what_it_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page)


@pytest.mark.parametrize("page", WALKTHROUGHS, ids=lambda page: page.stem)
def test_each_of_its_blocks_can_be_wrong(page: Path) -> None:
    assert [program.line for program in programs(PAGES[page]) if not program.claims] == []
    assert programs(PAGES[page])


@pytest.mark.parametrize("page", WALKTHROUGHS, ids=lambda page: page.stem)
def test_it_has_no_block_that_is_not_run(page: Path) -> None:
    run_or_compared = blocks(PAGES[page], "python") + blocks(PAGES[page], "text")
    assert len(blocks(PAGES[page])) == len(run_or_compared)


@pytest.mark.parametrize("page", WALKTHROUGHS, ids=lambda page: page.stem)
def test_it_says_what_to_try_and_leads_to_code(page: Path) -> None:
    assert "\n## What to try next\n" in PAGES[page]
    assert any("/src/seqloom/" in link for _, link in links(PAGES[page]))


class Concept(NamedTuple):
    """A row of the index, whose cells are Markdown."""

    number: int
    name: str
    shown: str
    code: str
    at_work: str


CONCEPTS = [
    Concept(int(number), *(cell.strip() for cell in cells.split(" | ")))
    for number, cells in re.findall(r"^\| (\d+) \| (.*) \|$", PAGES[INDEX], re.MULTILINE)
]


def test_the_index_has_every_page() -> None:
    assert {link for _, link in links(PAGES[INDEX]) if "/" not in link and "#" not in link} == {
        page.name for page in WALKTHROUGHS
    }


def test_the_index_has_every_concept_once() -> None:
    assert [concept.number for concept in CONCEPTS] == list(range(1, 39))
    assert len({concept.name for concept in CONCEPTS}) == len(CONCEPTS)


@pytest.mark.parametrize("concept", CONCEPTS, ids=lambda concept: concept.name)
def test_a_concept_leads_to_a_section_to_code_and_to_work(concept: Concept) -> None:
    """That the links lead somewhere is tested for all pages (test_readme.py)."""
    shown = [link for _, link in links(concept.shown)]
    assert shown
    assert all("#" in link for link in shown), "a section, not a whole page"
    code = [link for _, link in links(concept.code)]
    assert code
    assert all(link.startswith("../../src/seqloom/") for link in code)
    assert links(concept.at_work) or "`seqloom " in concept.at_work or "studio: " in concept.at_work


def test_its_views_are_those_of_the_studio() -> None:
    views = re.findall(r"^\| ([A-Z][a-z ]+) \|", PAGES[ROOT / "docs" / "studio.md"], re.MULTILINE)
    said = [view for concept in CONCEPTS for view in _views(concept.at_work)]
    assert len(views) >= 7
    assert set(said) <= set(views)
    assert said


def _views(cell: str) -> list[str]:
    return [view for part in cell.split("; ") if part.startswith("studio: ") for view in part[8:].split(", ")]
