"""Line in, line out: answers to a file or a stream of any length, in its order, in flat memory."""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from seqloom import __version__
from seqloom.data.file_format import format_by_name
from seqloom.data.reading.image_folder import all_pictures
from seqloom.data.reading.number_files import numbers_in
from seqloom.data.reading.source_column import Wanted
from seqloom.data.reading.stored_file import shown_all
from seqloom.data.readings import Readings
from seqloom.data.unlike import unlike
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import EMPTY, Answer
from seqloom.jobs.answering.writing import Prepared
from seqloom.jobs.lines.answer_counts import Counts
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.lines.asked_hints import Hints, command_of, learnt_from_columns
from seqloom.jobs.lines.asked_input import AskedInput, AskedLine
from seqloom.jobs.lines.asked_lines import AskedLines, InputFormat, size_of
from seqloom.jobs.lines.asked_rows import AskedRows, reads_json, row_format
from seqloom.jobs.lines.asked_series import AskedSeries
from seqloom.jobs.lines.output_file import Output, OutputFile, Screen, finished
from seqloom.jobs.lines.output_note import BATCH, OutputNote
from seqloom.jobs.looking.notes import unread_words
from seqloom.jobs.model import Model
from seqloom.jobs.progress import LineReport, line_bar
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.store import RunFolder
from seqloom.store.atomic import readable
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.tag import TagTask
from seqloom.text import UNKNOWN

BATCHES = 16
"""That are read ahead at most, so that lines of like length are written together; the first ones are fewer."""
TOLD = 5  # lines without an answer that are told one by one
LONG = 4096  # tokens of a line, behind which its reader is told before

Note = Callable[[str], None]


@dataclass(frozen=True)
class Asking:
    """What `seqloom predict` was asked for. file: "-" is standard input. out: None is standard output."""

    file: str
    settings: GenerationSettings
    lines: AnswerLines
    input: InputFormat | None = None
    """None: as the file's name says; text where it does not say it."""
    out: Path | None = None
    force: bool = False
    skip_bad: bool = False
    talk: bool = False
    """Somebody types the lines: a line that cannot be answered is told, and the next one awaited."""
    live: bool = False
    """Somebody looks on: an answer that is written alone is shown as it grows."""
    more: Sequence[str] = ()
    """Further files, of pictures."""
    column: int | str | None = None
    """Of lines of text, the one between tabs that is asked, from 1; None: all of the line. Of a table also its name;
    None: the one that the model learnt from, or a usual name."""


def predict(model: Model, asking: Asking, note: Note) -> int:
    """How many lines were answered, before too. note: hears what should be known, at the end or at once.

    A line that cannot be answered raises a UserError when all lines before it are written.
    """
    _refuse(model, asking)
    asked = {} if asking.out is None else _depends_on(model, asking)
    done = None if asking.out is None or asking.force else finished(asking.out, asked)
    if done is not None:
        return _already(model, asking, done, note)
    with _lines(model, asking, note) as lines, _output(asking, asked, lines) as output:
        counts = Counts(**output.counts) if isinstance(output, OutputFile) else Counts()
        before = lines.taken
        if before:
            note(f"goes on behind line {before:,}")
        size = None if asking.more else size_of(asking.file)
        with line_bar(Path(lines.name).name, size, _shown(asking), lines.bytes) as report:
            job = _Job(model, asking, output, counts, note, lines.name, report, before)
            command = command_of(model.opened, asking.file)
            hints = Hints(lines, note, _wanted(model, asking), command, learnt_from_columns(model.opened))
            for window in _windows(lines, asking.settings.together):
                hints.tell()
                job.answer(window)
            job.tell_rest()
        for text in (*model.engine_notes(), *counts.notes()):
            note(text)
        return lines.taken


def _wanted(model: Model, asking: Asking) -> Wanted:
    learnt = [corpus for one in model.opened for corpus in one.recipe.data.corpora]
    return Wanted(None if asking.column is None else str(asking.column), learnt, model.task.shape)


def _lines(model: Model, asking: Asking, note: Note) -> AskedInput:
    if model.reads_series:
        return AskedSeries((asking.file, *asking.more), asking.input, model.recipe.data.corpora)
    column = asking.column
    found = numbers_in(asking.file) if asking.input is None else None
    if found is not None:
        what = f"{asking.file}: holds {found}, but {model.opened[0].run.path} reads text"
        raise UserError(f"{what}; ask a run that learnt from such files")
    form = row_format(asking.file, asking.input, column, isinstance(model.task, TagTask))
    if form is not None:
        return AskedRows(asking.file, form, _wanted(model, asking), note)
    wanted = _wanted(model, asking)
    if reads_json(asking.file, asking.input):
        return AskedLines(asking.file, "jsonl", wanted=wanted)
    assert not isinstance(column, str)  # row_format refuses it
    return AskedLines(asking.file, "text", column, replace(wanted, column=None))


def _already(model: Model, asking: Asking, done: OutputNote, note: Note) -> int:
    """Nothing is left to do, if the input is what it was."""
    with _lines(model, asking, note) as lines:
        lines.skip(done.lines)
        if lines.taken < done.lines or lines.digest != done.input or lines.take(1):
            raise UserError(
                f"{lines.name}: is not what {asking.out} answers, which is "
                f"{counted(done.lines, 'other line', 'other lines')}; name another --out, or write over it with --force"
            )
    note(f"already done: {counted(done.lines, 'line')}")
    for text in Counts(**done.counts).notes():
        note(text)
    return done.lines


def refuse_several(model: Model, files: Sequence[str]) -> None:
    """Several files, unless they are pictures for a run that reads such."""
    if len(files) > 1 and not (model.reads_series and all_pictures(files)):
        plain = all(format_by_name(file) == "text" for file in files)
        joined = f", or join them: cat {shlex.quote(files[0])} … | seqloom predict {model.opened[0].run.path}"
        raise UserError(
            f"{shown_all(files)}: only pictures are asked several at once, of a run that reads them; name one file"
            + (joined if plain else "")
        )


def refuse_swapped(run: str, file: str) -> None:
    """`predict new.txt runs/x`, where the run comes first."""
    with readable(Path(file)):
        if Path(run).is_dir() or not RunFolder(Path(file)).recipe.exists():
            return
    fix = (
        f"seqloom predict {file} {run}" if Path(run).is_file() else f"echo {shlex.quote(run)} | seqloom predict {file}"
    )
    raise UserError(f"{file}: is a run, and the run comes first: {fix}")


def _refuse(model: Model, asking: Asking) -> None:
    if asking.lines.alignment and not model.aligns:
        raise UserError("--alignment: no layer of this model looks at a source while it writes; leave it out")
    if asking.column is not None and model.reads_series:
        raise UserError("--column: this model reads series, whose columns are those that it learnt from; leave it out")
    if asking.column == "":
        raise UserError("--column: a column's name or number is needed, such as 2")
    for file in map(Path, (asking.file, *asking.more)):
        if asking.out is not None and asking.out.exists() and file.exists() and asking.out.samefile(file):
            raise UserError(f"{asking.out}: is what is read; name another --out")


def _shown(asking: Asking) -> bool:
    """A bar would stand between the answers of a terminal."""
    return not asking.talk and (asking.out is not None or not sys.stdout.isatty())


def _windows(lines: AskedInput, batch: int) -> Iterator[list[AskedLine]]:
    """Lines that are answered together: few at first, so that the first answers come soon.

    Where they end is a matter of the line's number: what goes on behind one of them has the same ones.
    """
    end, size = batch, batch
    while True:
        while end <= lines.taken:
            size = min(2 * size, BATCHES * batch)
            end += size
        window = lines.take(end - lines.taken)
        if not window:
            break
        yield window


@contextmanager
def _output(asking: Asking, asked: dict[str, Any], lines: AskedInput) -> Iterator[Output]:
    if asking.out is None:
        yield Screen()
        return
    output = OutputFile(asking.out, asked, asking.force)
    try:
        lines.skip(output.lines)
        output.refuse_other_input(lines.name, lines.taken, lines.digest)
        yield output
    except BaseException:
        output.stop()
        raise
    output.finish()


def _depends_on(model: Model, asking: Asking) -> dict[str, Any]:
    """What the answers depend on; not where and by what they are computed, nor, if they are texts alone, the batch."""
    return {
        "run": [[_weights(one.run.model), one.task.codecs.fingerprint] for one in model.opened],
        "generation": asking.settings.model_dump(mode="json", exclude={"batch", "engine"}),
        "--format": asking.lines.form,
        "--scores": asking.lines.scores,
        "--alignment": asking.lines.alignment,
        BATCH: None if asking.lines.plain else asking.settings.together,
        "--input": "jsonl" if reads_json(asking.file, asking.input) else asking.input or "text",
        "--column": asking.column,
        "--skip-bad": asking.skip_bad,
        "version of seqloom": __version__,
    }


def _weights(file: Path) -> str:
    digest = blake2b(digest_size=16)
    with file.open("rb") as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


@dataclass
class _Job:
    """Answers windows, and writes each answer as soon as all before it are written."""

    model: Model
    asking: Asking
    output: Output
    counts: Counts
    note: Note
    name: str
    report: LineReport
    before: int
    told: int = 0
    long: bool = False
    """A long line was told of."""
    strange: set[int] = field(default_factory=set)
    """Lines of the window that have what the vocabulary does not have."""

    def answer(self, window: Sequence[AskedLine]) -> None:
        prepared, errors, stop = self._prepared(window)
        if window[0].number == self.before + 1:
            self._look_for_unlike(prepared)
        self._look_for_strange(prepared, window)
        self._look_for_long(prepared, window)
        last = len(window) if stop is None else stop.number - window[0].number
        said: dict[int, list[Answer]] = {number: [EMPTY] for number in errors}
        wanted = window[:last]
        written = self._write(wanted, said, errors, 0)
        if self.asking.live and len(window) == len(prepared) == 1 and self.model.streams:
            self._stream(prepared[0])
            return
        lines, settings = self.asking.lines, self.asking.settings
        if self.asking.out is not None and not lines.plain and settings.engine == "auto":
            # engines differ in a score's last digits: a file that is gone on with must not tell where it stopped
            settings = settings.model_copy(update={"engine": "own"})
        for number, answers in self.model.answer(prepared, settings, lines.alignment, lines.wanted):
            said[number + 1] = answers
            written = self._write(wanted, said, errors, written)
        if stop is not None:
            raise UserError(f"{stop.place(self.name)}: {stop.question}" + _remedy(self.asking))

    def _look_for_unlike(self, prepared: Sequence[Prepared]) -> None:
        """Numbers of another scale, by the first ones."""
        source = self.model.task.codecs.source if self.model.reads_series else None
        if isinstance(source, Readings):
            told = unlike(source, (np.asarray(one.question.source) for one in prepared))
            if told is not None:
                self.note(f"{self.name}: {told}")

    def _look_for_strange(self, prepared: Sequence[Prepared], window: Sequence[AskedLine]) -> None:
        """The first one is told with its words; to whoever types, each."""
        reads_text = not self.model.reads_series and not isinstance(self.model.task, NodesTask)  # they read numbers
        strange = [one for one in prepared if reads_text and one.item is not None and UNKNOWN in one.item.source]
        self.strange = {one.number + 1 for one in strange}
        told = strange if self.asking.talk else [] if self.counts.strange else strange[:1]
        for one in told:
            for text in unread_words(one, self.model.task.codecs.source):
                place = window[one.number + 1 - window[0].number].place(self.name)
                self.note(text if self.asking.talk else f"{place}: {text}")

    def _look_for_long(self, prepared: Sequence[Prepared], window: Sequence[AskedLine]) -> None:
        """The first one is told before it begins: what comes behind it may have to wait."""
        for one in prepared:
            if not self.long and one.item is not None and len(one.item.source) > LONG:
                self.long = True
                place = "" if self.asking.talk else f"{window[one.number + 1 - window[0].number].place(self.name)}: "
                self.note(f"{place}{len(one.item.source):,} tokens are read in a time that grows with their square")

    def _stream(self, asked: Prepared) -> None:
        """Line feeds as they are: nobody but a reader takes it in."""
        pieces = self.model.streamed(asked, self.asking.settings)
        for piece in pieces:
            self.output.write(piece)
        self.output.write("\n")
        if pieces.answer is not None:
            self.counts.add(pieces.answer, asked.number + 1 in self.strange)

    def _prepared(self, window: Sequence[AskedLine]) -> tuple[list[Prepared], dict[int, str], AskedLine | None]:
        """Questions, why some lines have none, and the line to stop at."""
        prepared, errors = list[Prepared](), dict[int, str]()
        self.model.look_over([line.question for line in window if not isinstance(line.question, str)])
        for line in window:
            error = line.question if isinstance(line.question, str) else None
            if not isinstance(line.question, str):
                try:
                    prepared.append(self.model.prepare(line.question, line.number - 1, self.asking.settings))
                except UserError as fault:
                    error = str(fault)
            if error is None:
                continue
            if not (self.asking.skip_bad or self.asking.talk):
                return prepared, errors, replace(line, question=error)
            errors[line.number] = error
            self._tell(line.place(self.name), error)
        return prepared, errors, None

    def _tell(self, place: str, error: str) -> None:
        self.told += 1
        if self.asking.talk or self.told <= TOLD:
            self.note(error if self.asking.talk else f"{place}: {error}")

    def tell_rest(self) -> None:
        if not self.asking.talk and self.told > TOLD:
            self.note(f"… and {self.told - TOLD:,} more")

    def _write(
        self, window: Sequence[AskedLine], said: dict[int, list[Answer]], errors: dict[int, str], written: int
    ) -> int:
        """What can be written now. How many lines of the window are."""
        texts = list[str]()
        while written < len(window) and window[written].number in said:
            line = window[written]
            answers = said.pop(line.number)
            written += 1
            if line.number in errors and self.asking.talk:
                continue
            self.counts.bad += line.number in errors
            self.counts.add(answers[0], line.number in self.strange)
            texts.append(self.asking.lines.lines(line, answers, errors.get(line.number)))
        if texts:
            last = window[written - 1]
            self.output.write("".join(texts))
            # a score's last digit may tell who was answered together: only whole windows can be gone on behind
            if self.asking.lines.plain or written == len(window):
                self.output.keep(last.number, last.digest, vars(self.counts))
            self.report(last.number - self.before, last.end)
        return written


def _remedy(asking: Asking) -> str:
    """In brackets, as it stands behind whatever is wrong with a line: a fix, a question, or neither."""
    kept = "" if asking.out is None else "; what comes before it is kept"
    return f" (--skip-bad leaves such answers empty){kept}"
