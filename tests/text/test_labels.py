"""Labels and their numbers."""

from pathlib import Path

import pytest

from seqloom.settings import UserError
from seqloom.text import Labels

LABELS = Labels.train(["b", "c", "c", "a", "b", "ü"])


def test_by_frequency_then_by_name() -> None:
    assert LABELS.names == ("b", "c", "a", "ü")
    assert len(LABELS) == 4
    assert LABELS.encode(["ü", "b"]) == [3, 0]
    assert LABELS.decode([3, 0]) == ["ü", "b"]


def test_a_strange_label() -> None:
    assert LABELS.encode(["b", "x"], unknown="unseen") == [0, -2]
    with pytest.raises(UserError, match="no such label: 'x'; the labels are b, c, a, ü"):
        LABELS.encode(["b", "x"])


def test_no_labels() -> None:
    with pytest.raises(UserError, match="there are no labels to learn"):
        Labels.train([])


def test_saved_and_loaded(tmp_path: Path) -> None:
    LABELS.save(tmp_path / "deep" / "labels.json")
    again = Labels.load(tmp_path / "deep" / "labels.json")
    assert again == LABELS
    assert again.fingerprint == LABELS.fingerprint != Labels(["b"]).fingerprint


@pytest.mark.parametrize(
    "text", ["", "[]", '{"labels": []}', '{"labels": [1]}', '{"labels": ["a", "a"]}', '{"labels": "ab"}']
)
def test_a_broken_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.json").write_text(text)
    with pytest.raises(UserError, match=r"labels\.json: not a list of labels .*; put back"):
        Labels.load(tmp_path / "labels.json")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file; it should hold a list of labels"):
        Labels.load(tmp_path / "labels.json")
