"""Which change of a command's files is another run."""

import re
from pathlib import Path
from typing import Any

import pytest

from seqloom.data.settings import corpora_of
from seqloom.jobs.corpora.build import fingerprints
from seqloom.jobs.learning.request import compare, remember, request_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import find
from seqloom.settings import UserError, load, loads
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


def _recipe(name: str) -> dict[str, Any]:
    return request_of(load(find(name), Recipe), {})


def test_another_recipe(run: RunFolder) -> None:
    remember(run, _recipe("rnn-lm-small"))
    with pytest.raises(UserError) as caught:
        compare(run, _recipe("lstm-lm-small"))
    first, *shown, more = str(caught.value).splitlines()
    assert first == (
        f"{run.path}: holds a run of another recipe (rnn-lm-small there); "
        "name another --out, or start anew with --force"
    )
    assert len(shown) == 5
    assert all(re.fullmatch(r"  [a-z_.]+: .+ there, .+ now", line) for line in shown)
    assert re.fullmatch(r"  and \d+ settings more", more)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("a paper", "another", "of another recipe (a paper there)"),
        ("", "another", "of another recipe"),
        ("a paper", "a paper", "with other settings"),
    ],
)
def test_a_recipe_of_ones_own(run: RunFolder, was: str, now: str, said: str) -> None:
    remember(run, request_of(Recipe(source=was), {}))
    other = Recipe(source=now, model=Recipe().model.model_copy(update={"width": 32}))
    with pytest.raises(UserError) as caught:
        compare(run, request_of(other, {}))
    assert str(caught.value) == (
        f"{run.path}: holds a run {said}; name another --out, or start anew with --force\n"
        f"  model.width: {Recipe().model.width} there, 32 now"
    )


def test_as_many_settings_as_are_shown(run: RunFolder) -> None:
    changes = ["model.width=32", "model.depth=5", "model.dropout=0.3", "training.batch=77", "training.seed=9"]
    remember(run, request_of(Recipe(), {}))
    with pytest.raises(UserError) as caught:
        compare(run, request_of(loads("", Recipe, changes), {}))
    assert [line.partition(":")[0].strip() for line in str(caught.value).splitlines()[1:]] == sorted(
        change.partition("=")[0] for change in changes
    )


def test_a_table_is_told_by_its_kind(run: RunFolder) -> None:
    remember(run, request_of(Recipe(), {}))
    with pytest.raises(UserError, match=r"\n  model\.decoder\.cross: unset there, \"attention\" now$"):
        compare(run, request_of(loads("", Recipe, ["model.decoder.cross.kind=attention"]), {}))
