"""The README and the pages behind it tell what is there: first commands, the tree, verbs, links, Python that runs."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from seqloom.cli import app
from seqloom.settings import SettingsError, loads
from tests.arrows import RANK, SOURCE
from tests.docs.pages import PAGES, ROOT, blocks, lost_links, programs, run
from tests.settings.example import Recipe

README = PAGES[ROOT / "README.md"]
BLOCKS = blocks(README)


class Entry(NamedTuple):
    """A line of the tree."""

    folder: Path
    rank: int | None
    to_come: bool


def entries(tree: str) -> list[Entry]:
    found = []
    rank = None
    for line in tree.splitlines():
        match = re.fullmatch(r"(  (\d| ) )?(\S+)/(?: +(\S.*))?", line)
        assert match, f"no line of a tree: {line!r}"
        room, number, name, purpose = match.groups()
        rank = int(number) if number and number.strip() else rank
        folder = SOURCE / name if room else ROOT / name
        assert purpose or folder == SOURCE, f"{name} has no purpose"
        found.append(Entry(folder, rank if room else None, (purpose or "").startswith("to come: ")))
    return found


@pytest.fixture(scope="module")
def tree() -> list[Entry]:
    (block,) = [block for block in BLOCKS if block.startswith("src/seqloom/\n")]
    return entries(block)


def folders(place: Path) -> set[Path]:
    """The folders in a place that hold something of the project's own, not only what tools leave behind."""
    left_behind = set((ROOT / ".gitignore").read_text(encoding="utf-8").split())
    return {
        folder
        for folder in place.iterdir()
        if not folder.name.startswith(".") and f"{folder.name}/" not in left_behind
        if any(file.is_file() and file.parent.name != "__pycache__" for file in folder.rglob("*"))
    }


def test_it_opens_with_the_two_commands() -> None:
    assert README.startswith("# seqloom\n\n```\nmake demo\nmake test\n```\n")


def test_the_tree_names_what_exists(tree: list[Entry]) -> None:
    assert {entry.folder for entry in tree if not entry.to_come} == folders(ROOT) - {ROOT / "src"} | folders(SOURCE) | {
        SOURCE
    }


def test_what_is_to_come_is_not_there(tree: list[Entry]) -> None:
    assert [entry.folder.name for entry in tree if entry.to_come and entry.folder.exists()] == []


def test_the_tree_gives_the_ranks_that_are_checked(tree: list[Entry]) -> None:
    assert {entry.folder.name: entry.rank for entry in tree if entry.rank is not None} == RANK


def commands(pattern: str) -> set[str]:
    """Of all pages but those that tell of decisions, which may name what was given up."""
    texts = [text for page, text in PAGES.items() if page.parent.name != "decisions"]
    said = [line for text in texts for line in [*blocks(text), *re.findall(r"`([^`\n]+)`", text)]]
    return {name for block in said for name in re.findall(pattern, block, re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_its_links_lead_somewhere(page: Path) -> None:
    assert lost_links(page) == []


def test_its_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert {"demo", "test"} <= commands(r"^make ([a-z-]+)") <= targets


def test_its_verbs_exist() -> None:
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert {"recipes"} <= commands(r"^(?:\.venv/bin/)?seqloom (\w+)") <= verbs


def test_its_message_is_what_is_said() -> None:
    text = "source = ''\n\n[model]\nwidth = 2\n\nmixer = { kind = 'attention', haeds = 2 }\n"
    with pytest.raises(SettingsError) as caught:
        loads(text, Recipe, name="recipes/x.toml")
    assert f"{caught.value}\n" in BLOCKS


def test_the_page_of_layers_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks, one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "python.md"
    names = run(page, compared=False)
    assert len(programs(PAGES[page])) >= 3
    assert names["scores"].shape == (2, 1, 1000)  # type: ignore[attr-defined]
