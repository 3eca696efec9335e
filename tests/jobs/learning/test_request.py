"""Which change of a command's files is another run."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.data.settings import corpora_of
from seqloom.jobs.corpora.build import fingerprints
from seqloom.jobs.learning.request import compare, remember, request_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import UserError
from seqloom.store import RunFolder


def _request(*files: str, **more: Any) -> dict[str, Any]:
    data = Recipe().data.model_copy(update={"corpora": corpora_of(files), **more})
    return request_of(Recipe(data=data), fingerprints(data))


@pytest.fixture
def run(place: Path) -> RunFolder:
    (place / "a.tsv").write_text("a\tb\n")
    (place / "run").mkdir()
    run = RunFolder(place / "run")
    remember(run, _request("a.tsv"))
    return run


def test_another_way_to_write_a_path(run: RunFolder, place: Path) -> None:
    compare(run, _request("./a.tsv"))
    compare(run, _request(str(place / "a.tsv")))


def test_a_file_that_was_moved(run: RunFolder, place: Path) -> None:
    (place / "a.tsv").rename(place / "b.tsv")
    compare(run, _request("b.tsv"))


def test_another_content(run: RunFolder, place: Path) -> None:
    (place / "b.tsv").write_text("c\td\n")
    with pytest.raises(UserError, match=r"data.corpora: .*a.tsv.* there, .*b.tsv.* now"):
        compare(run, _request("b.tsv"))
    with pytest.raises(UserError, match=r"data\.corpora"):
        compare(run, _request("a.tsv", "b.tsv"))
    (place / "a.tsv").write_text("c\td\n")
    with pytest.raises(UserError, match=r"its data changed since it began \(a.tsv\)"):
        compare(run, _request("a.tsv"))


def test_the_same_content_in_another_format(run: RunFolder, place: Path) -> None:
    (place / "a.tsv").rename(place / "a.csv")
    with pytest.raises(UserError, match=r"data\.corpora"):
        compare(run, _request("a.csv"))


def test_the_same_content_otherwise_read(run: RunFolder) -> None:
    other = corpora_of(["./a.tsv"])[0].model_copy(update={"header": False})
    with pytest.raises(UserError, match=r"data\.corpora"):
        compare(run, _request(corpora=(other,)))


def test_a_setting_that_came_later(run: RunFolder) -> None:
    """What a run of old did not know of is what it is by default."""
    before = _request("a.tsv")
    del before["recipe"]["training"]["clip"], before["recipe"]["task"]["reverse"]
    del before["recipe"]["model"]["mixer"]["bias"], before["recipe"]["model"]["output"]["bias"]
    remember(run, before)
    compare(run, _request("a.tsv"))
    other = _request("a.tsv")
    other["recipe"]["task"]["reverse"] = True
    with pytest.raises(UserError, match=r"task.reverse: unset there, true now"):
        compare(run, other)
