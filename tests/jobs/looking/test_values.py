"""What stands beside rows and columns."""

import pytest
import torch

from seqloom.inspect.trace import Example
from seqloom.inspect.values import Value
from seqloom.jobs.looking.documents import AnswerDocument, Place
from seqloom.jobs.looking.places import reading_places
from seqloom.jobs.looking.subject import Subject
from seqloom.jobs.looking.values import COLUMNS, labels, value_document
from seqloom.layers.embedding import InputSettings, Patches, Vectors
from seqloom.layers.images import Images

SIZE = COLUMNS + 500


def _subject(goal: int = SIZE - 1) -> Subject:
    seen = (Place("a", 7), Place("b", 8))
    example = Example(torch.tensor([7, 8]), goal=torch.tensor([3, goal]))
    names = [f"w{number}" for number in range(SIZE)]
    return Subject(example, lambda _: AnswerDocument("", 0.0), lambda: names, seen, seen, seen)


def test_a_large_vocabulary_is_shown_where_it_is_likely() -> None:
    """And where the goal is; each column keeps its own name."""
    torch.manual_seed(0)
    matrix = torch.randn(2, SIZE)
    matrix[0, 5], matrix[1, SIZE - 1] = 50.0, -50.0
    shown = value_document(Value("z", "scores", matrix, "written", "vocabulary"), _subject())
    assert shown.rows == ("a", "b")
    assert shown.columns is not None
    assert {"w5", "w3", f"w{SIZE - 1}"} <= set(shown.columns)
    assert len(shown.columns) == shown.matrix.shape[1] < COLUMNS
    for place, name in enumerate(shown.columns):
        assert torch.equal(shown.matrix[:, place], matrix[:, int(name[1:])])


def test_a_small_one_is_shown_whole() -> None:
    matrix = torch.randn(2, 9)
    shown = value_document(Value("z", "scores", matrix, "written", "vocabulary"), _subject())
    assert torch.equal(shown.matrix, matrix)
    assert shown.columns is None, "names of another number of columns are none"


def test_labels_of_every_axis() -> None:
    subject = _subject()
    assert labels("source", 2, subject) == labels("target", 2, subject) == ("a", "b")
    assert labels("source", 4, subject) == ("a", "b", "∅", "∅"), "an unfolded source"
    assert labels("source", 1, subject) == ("step 1",)
    assert labels("groups", 2, subject) == ("group 1", "group 2")
    assert labels("experts", 1, subject) == ("expert 1",)
    assert labels(None, 3, subject) is labels("inputs", 3, subject) is None


@pytest.mark.parametrize(
    ("settings", "steps", "tokens", "texts"),
    [
        (Vectors(), 3, False, ["1", "2", "3"]),
        (Patches(length=4), 9, False, ["1–4", "5–8", "9–9"]),
        (Patches(length=4, stride=2), 5, False, ["1–4", "3–5", "5–5"]),
        (Images(patch=2, columns=4, channels=1), 16, False, ["1,1", "1,2", "2,1", "2,2"]),
        (Images(patch=2, columns=4, channels=3), 8, False, ["1,1", "1,2"]),
        (Images(patch=2, columns=4, channels=1), 17, True, ["1,1", "1,2", "2,1", "2,2"]),
    ],
)
def test_where_readings_come_from(settings: InputSettings, steps: int, tokens: bool, texts: list[str]) -> None:
    assert [place.text for place in reading_places(settings, steps, tokens)] == texts
