"""Lines out: columns and JSON."""

import json
from pathlib import Path

import pytest

from seqloom.jobs.answering.answer import EMPTY, Answer, Piece, Question
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.lines.asked_input import AskedLine
from tests.jobs.echo import answered

ANSWER = Answer("a\tb\\c\nd", -1.25, -2.5, (Piece("a", -2.0), Piece("b", -0.5)), alignment=((0, 0), (2, 1)))


LINE = AskedLine(3, Question("x"))


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (AnswerLines(), "a\tb\\c\\nd\n"),
        (AnswerLines(scores=True), "a\\tb\\\\c\\nd\t-1.250000\n"),
        (AnswerLines("tsv"), "a\\tb\\\\c\\nd\t-1.250000\n"),
        (AnswerLines("tsv", alignment=True), "a\\tb\\\\c\\nd\t-1.250000\t0-0 2-1\n"),
        (AnswerLines(several=True), "3\ta\\tb\\\\c\\nd\n3\t\n"),
        (AnswerLines("tsv", several=True), "3\ta\\tb\\\\c\\nd\t-1.250000\n3\t\t0.000000\n"),
    ],
)
def test_columns(form: AnswerLines, wanted: str) -> None:
    assert form.lines(LINE, [ANSWER, EMPTY] if form.several else [ANSWER]) == wanted


def test_json() -> None:
    form = AnswerLines("jsonl", several=True, scores=True, alignment=True)
    fields = json.loads(form.lines(LINE, [ANSWER, EMPTY]))
    assert fields["text"] == ANSWER.text
    assert fields["alignment"] == [[0, 0], [2, 1]]
    assert fields["pieces"] == [["a", -2.0], ["b", -0.5]]
    assert [one["text"] for one in fields["n_best"]] == [ANSWER.text, ""]
    cut = json.loads(AnswerLines("jsonl").lines(LINE, [Answer("a", ended=False, cut=3, unmet=("b",))]))
    assert cut == {"text": "a", "score": 0.0, "ended": False, "cut": 3, "unmet": ["b"]}


@pytest.mark.parametrize(("several", "number"), [(False, ""), (True, "3\t")])
def test_what_was_not_answered_has_no_score(several: bool, number: str) -> None:
    """The best that there is would be a lie."""
    columns = AnswerLines("tsv", several, alignment=True), AnswerLines("text", several, scores=True, alignment=True)
    for form in columns:
        assert form.lines(LINE, [EMPTY], "no UTF-8") == f"{number}\t\t\n"
    form = AnswerLines("jsonl", several, scores=True, labels=True)
    fields = json.loads(form.lines(LINE, [EMPTY], "no UTF-8"))
    nothing = {"text": "", "score": None, "probability": None, "log_prob": None, "pieces": []}
    assert fields == nothing | ({"n_best": [nothing]} if several else {}) | {"error": "no UTF-8"}


def test_several_answers_to_a_line(tmp_path: Path) -> None:
    out, _ = answered(b"ab\ncd\n", tmp_path, n_best=2, lines=AnswerLines(several=True))
    assert out == b"1\tba\n1\tBA\n2\tdc\n2\tDC\n"
