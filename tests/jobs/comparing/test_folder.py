"""The folder of a comparison: whose it is, and whether it holds the same one."""

from pathlib import Path

import pytest

from seqloom.jobs.comparing.folder import ComparedFolder
from seqloom.settings import UserError

REQUEST = {"budget": {"minutes": 1.0}, "data": {"a.tsv": "one", "b.tsv": "two"}, "settings": []}
ANEW = "out: holds another comparison; name another --out, or start anew with --force\n"


@pytest.fixture
def folder(place: Path) -> ComparedFolder:
    (place / "out").mkdir()
    return ComparedFolder(Path("out"))


@pytest.mark.parametrize("name", ["table.txt", "results.json", "picture.svg", "runs", "answers", "notes.txt"])
def test_what_no_comparison_made_is_kept(folder: ComparedFolder, name: str) -> None:
    folder.refuse_other()
    (folder.path / name).write_text("mine")
    with pytest.raises(UserError) as caught:
        folder.refuse_other()
    assert str(caught.value) == f"out: holds other things than a comparison ({name}); choose another --out"
    assert [file.name for file in folder.path.iterdir()] == [name]
    (folder.path / name).unlink()
    folder.begin(REQUEST, force=False)
    (folder.path / name).write_text("mine")
    folder.refuse_other()


@pytest.mark.parametrize("content", ["{}", "mine", "[]", '{"data": 3}'])
def test_a_file_of_that_name_is_no_comparison(folder: ComparedFolder, content: str) -> None:
    folder.request.write_text(content)
    with pytest.raises(UserError, match=r"than a comparison \(comparison\.json\); choose another --out"):
        folder.refuse_other()


def test_one_that_was_killed_early_is_gone_on_with(folder: ComparedFolder) -> None:
    for name in ".lock", "comparison.json.partial":
        (folder.path / name).touch()
    folder.refuse_other()
    ComparedFolder(Path("nothing")).refuse_other()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"a.tsv": "one", "b.tsv": "three"}, "  b.tsv has changed since"),
        ({"a.tsv": "four", "b.tsv": "three"}, "  a.tsv has changed since\n  b.tsv has changed since"),
        ({"a.tsv": "one"}, "  data: b.tsv there, nothing else now"),
        ({"a.tsv": "one", "b.tsv": "two", "c.tsv": "x"}, "  data: nothing else there, c.tsv now"),
        ({"a.tsv": "one", "c.tsv": "x"}, "  data: b.tsv there, c.tsv now"),
        ({"c.tsv": "two", "d/a.tsv": "one"}, None),
    ],
)
def test_other_data(folder: ComparedFolder, data: dict[str, str], said: str | None) -> None:
    folder.begin(REQUEST, force=False)
    if said is None:
        folder.begin({**REQUEST, "data": data}, force=False)
        return
    with pytest.raises(UserError) as caught:
        folder.begin({**REQUEST, "data": data}, force=False)
    assert str(caught.value) == ANEW + said


def test_a_comparison_of_old_kept_no_names(folder: ComparedFolder) -> None:
    folder.request.write_text('{"budget": {"minutes": 1.0}, "data": ["one", "two"], "settings": []}')
    folder.begin(REQUEST, force=False)
    with pytest.raises(UserError, match="budget"):
        folder.begin({**REQUEST, "budget": {"minutes": 2.0}}, force=False)
