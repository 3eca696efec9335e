"""What runs of these tests share."""

from pathlib import Path

import pytest

from tests.jobs.run import write_pairs, write_recipe


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with a cache of its own."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pairs(place: Path) -> Path:
    """Such a folder, with examples and a recipe for them."""
    write_pairs(place / "pairs.tsv")
    write_recipe(place / "r.toml")
    return place
