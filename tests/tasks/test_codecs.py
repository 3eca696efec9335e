"""Vocabularies and labels of a task: which there are, and that they come back from a folder."""

from pathlib import Path

import pytest

from seqloom.data.reading import Shape
from seqloom.tasks import Codecs, learn
from seqloom.text import Labels, TextSettings, Vocabulary
from tests.tasks.small import WORDS, block

SHARED = TextSettings.model_validate({"source": {"kind": "words"}, "shared": True})
COLUMNS: dict[Shape, tuple[list[object], ...]] = {
    "pairs": (["a b"], ["c"]),
    "text": (["a b"],),
    "tags": ([["a", "b"]], [["X", "Y"]]),
    "classes": (["a b"], ["good"]),
}


def _learnt(text: TextSettings, shape: Shape) -> Codecs:
    return learn(text, shape, lambda: iter([block(*COLUMNS[shape])]))


def _known(vocabulary: Vocabulary) -> set[str]:
    return set(vocabulary.pieces(range(5, len(vocabulary))))


def test_which_there_are() -> None:
    apart, shared = _learnt(WORDS, "pairs"), _learnt(SHARED, "pairs")
    assert isinstance(apart.target, Vocabulary)
    assert (_known(apart.source), _known(apart.target)) == ({"a", "b"}, {"c"})
    assert shared.source is shared.target
    assert _known(shared.source) == {"a", "b", "c"}
    text = _learnt(WORDS, "text")
    assert text.source is text.target
    assert _learnt(WORDS, "tags").target == Labels(["X", "Y"])
    assert _learnt(WORDS, "classes").target == Labels(["good"])


@pytest.mark.parametrize("shape", COLUMNS)
@pytest.mark.parametrize("text", [WORDS, SHARED], ids=["apart", "shared"])
def test_they_come_back(tmp_path: Path, shape: Shape, text: TextSettings) -> None:
    codecs = _learnt(text, shape)
    codecs.save(tmp_path / "new" / "vocabulary")
    again = Codecs.load(tmp_path / "new" / "vocabulary")
    assert again == codecs
    assert again.fingerprint == codecs.fingerprint
    assert (again.source is again.target) == (codecs.source is codecs.target)
