"""Passages of running text."""

from seqloom.data.check.passages import LEAST, passages


def test_from_each_line_as_far_as_needed() -> None:
    lines = ["a" * 60, "", "b" * 60, "c" * 200, "d"]
    texts, lengths = passages(lines)
    assert texts == ["\n".join(lines[:3]), "\n".join(lines[1:4]), "\n".join(lines[2:4]), lines[3], "d"]
    assert (lengths >= LEAST).tolist() == [True, True, True, True, False]


def test_nothing() -> None:
    texts, lengths = passages([])
    assert (texts, len(lengths)) == ([], 0)
