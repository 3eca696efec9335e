"""A model that answers with the line backwards, for tests of lines in and lines out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Question
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.model import Model
from seqloom.jobs.predict import Asking, predict
from seqloom.settings import UserError

BATCH = 4


class Echo:
    """Answers with the line backwards, the last line first; it stops where it is told to."""

    opened = ()
    aligns = True
    reads_series = False
    task = SimpleNamespace(shape="classes")

    def __init__(self, stop: str | None = None) -> None:
        self.stop, self.windows = stop, list[range]()

    def look_over(self, questions: Sequence[Question]) -> None: ...

    def engine_notes(self) -> list[str]:
        return []

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        if question.prefix:
            raise UserError(f"prefix {question.prefix!r}: the model cannot write it")
        return Prepared(number, question, None)

    def answer(
        self, asked: Sequence[Prepared], settings: GenerationSettings, attention: bool, pieces: bool
    ) -> Iterator[tuple[int, list[Answer]]]:
        if not asked:  # all of them are broken
            return
        self.windows.append(range(asked[0].number, asked[-1].number + 1))
        for one in reversed(asked):
            if one.question.source == self.stop:
                raise KeyboardInterrupt
            text = str(one.question.source)[::-1]
            yield one.number, [Answer(text, -1.5, -1.5), Answer(text.upper(), -2.0, -2.0)][: settings.n_best]


def asking(file: Path | str, **more: Any) -> Asking:
    settings = GenerationSettings(batch=BATCH, n_best=more.pop("n_best", 1))
    return Asking(str(file), settings, more.pop("lines", AnswerLines()), **more)


def answered(content: bytes, tmp_path: Path, model: Echo | None = None, **more: Any) -> tuple[bytes, list[str]]:
    """What comes out for a file, and what is said of it."""
    (tmp_path / "in.txt").write_bytes(content)
    out, notes = tmp_path / "out.txt", list[str]()
    predict(cast(Model, model or Echo()), asking(tmp_path / "in.txt", out=out, force=True, **more), notes.append)
    return out.read_bytes(), notes
