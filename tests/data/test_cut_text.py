"""Text that is cut already is told from text that only looks so."""

import subprocess

import pytest

from seqloom.data.check.cut_text import cut_already, mark_of


@pytest.mark.parametrize(
    ("text", "plain", "example"),
    [
        ("two ma@@ les are out@@ side .", "two males are outside .", "ma@@ les"),
        ("bush@@ es", "bushes", "bush@@ es"),
        ("an at@@", "an at", "at@@"),
        ("▁two ▁ma les ▁are ▁out side .", "two males are outside.", "▁two"),
    ],
)
def test_it_is_told_with_what_joins_it(text: str, plain: str, example: str) -> None:
    told = cut_already([text] * 10, whole_lines=True)
    assert told is not None
    assert told.startswith(f"cut into pieces already ({example!r}")
    command = told.rpartition(": ")[2]
    done = subprocess.run(["bash", "-c", command], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == plain


@pytest.mark.parametrize("text", ["@@ -1,3 +1,4 @@", "a@@b.c", "write to me@@home", "@@ @@", "▁▂▃▄", "loss ▁▁▂", "a▁b"])
def test_other_uses_of_the_marks(text: str) -> None:
    assert mark_of(text) is None


def test_one_of_many_is_somebody_who_writes_so() -> None:
    assert cut_already(["plain text"] * 99 + ["ma@@ les"]) is None
    assert cut_already([]) is None


def test_in_a_table_no_command_is_told_that_would_spoil_the_rest() -> None:
    assert cut_already(["▁two ▁ma les"]) == (
        "cut into pieces already ('▁two'): give plain text, as seqloom cuts words itself"
    )


def test_a_long_line_without_spaces_is_looked_through_once() -> None:
    """A line of a million letters: looked at from each letter to the end, it would take hours."""
    assert mark_of("x" * 1_000_000 + "@@b") is None
    assert mark_of("x" * 1_000_000 + "@@ b") is None, "no word is so long"
