"""Text that another tool has cut into pieces already: "ma@@ les" of subword-nmt, "▁ma les" of SentencePiece.

A model would learn the marks, and its scores would be of pieces.
"""

import re
from collections.abc import Sequence

_MARKS = {
    "@@": (re.compile(r"(?<!\S)\S{0,60}\w@@(?: \S+|$)"), "sed -E 's/@@( |$)//g'"),
    "▁": (re.compile(r"(?:^|(?<= ))▁\w\S*(?: [^\s▁]\S*)?"), "sed 's/ //g; s/▁/ /g; s/^ //'"),
}
"""What stands in such text: how it is told from other uses (a change of code has @@ by itself), and what removes it."""
FEW = 0.05  # of the texts: fewer are of somebody who writes so
SAMPLE = 1000

WHY = "give plain text, as seqloom cuts words itself"


def mark_of(text: str) -> str | None:
    """The mark that cut a text, if one did."""
    return next((mark for mark, (found, _) in _MARKS.items() if mark in text and found.search(text)), None)


def cut_already(texts: Sequence[str], whole_lines: bool = False) -> str | None:
    """What to say of texts of which some are cut: an example, and, where they are the lines of a file, how they are
    joined; of a table's line that would spoil the rest."""
    first = texts[:SAMPLE]
    cut = [(text, mark) for text in first if (mark := mark_of(text)) is not None]
    if len(cut) <= FEW * len(first):
        return None
    text, mark = cut[0]
    found = _MARKS[mark][0].search(text)
    assert found is not None
    return f"cut into pieces already ({found[0]!r}): {WHY}{f': {_MARKS[mark][1]}' if whole_lines else ''}"
