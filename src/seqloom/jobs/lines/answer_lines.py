"""Answers → lines: as text, in columns, or as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seqloom.jobs.answering.answer import Answer, Wanted
from seqloom.jobs.lines.asked_input import AskedLine
from seqloom.jobs.lines.json_line import json_line

OutputFormat = Literal["text", "tsv", "jsonl"]
_LINE_ENDS = str.maketrans({"\n": "\\n", "\r": "\\r"})
_SIGNS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"})


@dataclass(frozen=True)
class AnswerLines:
    """What is written of each answer.

    text   the answer; each further thing that is asked for makes a column more, with tabs between them
    tsv    the same, and always with the score
    jsonl  an object a line; nothing in a text is changed

    The columns: the input line's number (if it may have several answers), text, score, alignment. Where there is no
    answer, the score is empty, in JSON null. A line feed inside an answer would break the line, and is written as \\n;
    in columns also \\t for a tab and \\\\ for a backslash.
    """

    form: OutputFormat = "text"
    several: bool = False
    scores: bool = False
    alignment: bool = False
    labels: bool = False
    """The answers are labels: in JSON their score, a probability, is also called so."""

    @property
    def plain(self) -> bool:
        """Whether nothing but the best texts is written."""
        return self.form == "text" and not (self.several or self.scores or self.alignment)

    @property
    def wanted(self) -> Wanted:
        """What is written of answers."""
        if self.form == "text" and not self.scores:
            return "text"
        return "pieces" if self.scores and self.form == "jsonl" else "score"

    def lines(self, asked: AskedLine, answers: Sequence[Answer], error: str | None = None) -> str:
        """All lines for one line of input, with their ends. error: why there is no answer."""
        if self.form == "jsonl":
            return json_line(self._fields(asked, answers, error))
        return "".join("\t".join(self._columns(asked, answer, error)) + "\n" for answer in answers)

    def _columns(self, asked: AskedLine, answer: Answer, error: str | None) -> list[str]:
        scores = self.scores or self.form == "tsv"
        columns = [str(asked.number)] if self.several else []
        columns.append(answer.text.translate(_LINE_ENDS if self.plain else _SIGNS))
        columns += ["" if error else f"{answer.score:.6f}"] if scores else []
        columns += [pharaoh(answer)] if self.alignment else []
        return columns

    def _fields(self, asked: AskedLine, answers: Sequence[Answer], error: str | None) -> dict[str, Any]:
        fields = {} if asked.id is None else {"id": asked.id}
        each = [self.one(answer) for answer in answers]
        if error is not None:
            each = [one | dict.fromkeys(one.keys() & {"score", "probability", "log_prob"}) for one in each]
        fields |= each[0]
        if self.several:
            fields["n_best"] = each
        return fields if error is None else fields | {"error": error}

    def one(self, answer: Answer) -> dict[str, Any]:
        """What JSON says of an answer."""
        fields: dict[str, Any] = {"text": answer.text, "score": answer.score}
        if self.labels:
            fields["probability"] = answer.probability
        if not answer.ended:
            fields["ended"] = False
        if answer.cut:
            fields["cut"] = answer.cut
        if answer.unmet:
            fields["unmet"] = list(answer.unmet)
        if self.scores:
            fields["log_prob"] = answer.log_prob
            fields["pieces"] = [[piece.text, piece.log_prob] for piece in answer.pieces]
        if self.alignment:
            fields["alignment"] = [list(pair) for pair in answer.alignment or ()]
        return fields


def pharaoh(answer: Answer) -> str:
    """0-0 1-2: pairs of a word of the source and a word of the answer, counted from 0."""
    return " ".join(f"{source}-{target}" for source, target in answer.alignment or ())
