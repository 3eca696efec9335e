"""The walkthroughs are programs: every block runs and can be wrong, and what a page shows is what it prints."""

from pathlib import Path

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
