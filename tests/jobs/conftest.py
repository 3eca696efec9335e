"""What runs of these tests share."""

from pathlib import Path

import pytest

from seqloom.jobs.comparing import work
from seqloom.jobs.comparing.worker import Work, done
from seqloom.settings import FailedError, UserError
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


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """What was to be done of comparisons; done in this process, as starting another takes seconds."""
    works = list[Work]()

    def here(work: Work) -> None:
        works.append(work)
        try:
            done(work)
        except UserError as error:
            raise FailedError(str(error)) from None

    monkeypatch.setattr(work, "work_apart", here)
    return works
