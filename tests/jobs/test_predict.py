"""Line in, line out: no line is lost, moved or answered twice, whatever it holds and whenever it stops."""

import gzip
import io
import json
import os
import signal
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import seqloom
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs import output_file
from seqloom.jobs.answer import EMPTY, Answer, Piece, Question
from seqloom.jobs.answer_lines import AnswerLines
from seqloom.jobs.asked_lines import AskedLine, AskedLines
from seqloom.jobs.generation import generation_of
from seqloom.jobs.model import Model
from seqloom.jobs.predict import BATCHES, Asking, predict
from seqloom.jobs.writing import Prepared
from seqloom.settings import FailedError, UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.run import child

BATCH = 4


class Echo:
    """Answers with the line backwards, the last line first; it stops where it is told to."""

    opened = ()
    aligns = True
    reads_series = False

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


# -- columns


def test_a_column_of_lines(tmp_path: Path) -> None:
    assert answered(b"ab\tcd\nef\t\n\n", tmp_path, column=1)[0] == b"ba\nfe\n\n"
    assert answered(b"ab\tcd\nef\tgh\n", tmp_path, column=2)[0] == b"dc\nhg\n"
    with pytest.raises(UserError, match=r"in\.txt:2: there is no column 2 \(1 column\); mend the line \("):
        answered(b"ab\tcd\nef\n", tmp_path, column=2)
    with pytest.raises(UserError, match="--column: only lines of text have columns"):
        answered(b"", tmp_path, column=2, input="jsonl")


def test_tabs_where_columns_were_learnt_from(runs: Runs, tmp_path: Path) -> None:
    """Once, and before all is answered."""
    (tmp_path / "in.txt").write_bytes(b"ab\tba\n" * 3 * BATCH)
    told = f"{tmp_path / 'in.txt'}: has tabs, and lines are read whole; --column 1 takes the first column alone"
    for name, column, wanted in ("pairs", None, [told]), ("pairs", 1, []), ("documents", None, []):
        notes = list[str]()
        lines = asking(tmp_path / "in.txt", out=tmp_path / "out.txt", force=True, column=column)
        predict(seqloom.load(runs[name]), lines, notes.append)
        assert [note for note in notes if "tabs" in note] == wanted


# -- lines


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (b"", b""),
        (b"\n", b"\n"),
        (b"ab\ncd\n", b"ba\ndc\n"),
        (b"ab\ncd", b"ba\ndc\n"),
        (b"ab\n\n\ncd\n\n", b"ba\n\n\ndc\n\n"),
        (b"ab\r\ncd\r\n", b"ba\ndc\n"),
        ("a\u2028b\x0cc\x85d\n".encode(), "d\x85c\x0cb\u2028a\n".encode()),
        (b"a\x01\x1b[31m\tb\n", b"b\tm13[\x1b\x01a\n"),
        (b"a\rb\n", b"b\\ra\n"),
        (b"\xef\xbb\xbfab\n", b"ba\n"),
        (b"x" * 3_000_000 + b"\ny\n", b"x" * 3_000_000 + b"\ny\n"),
    ],
)
def test_each_line_has_its_answer(tmp_path: Path, given: bytes, wanted: bytes) -> None:
    assert answered(given, tmp_path)[0] == wanted


def test_many_lines_in_order_and_few_at_a_time(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(20_000)]
    model = Echo()
    tracemalloc.start()
    out, _ = answered("".join(f"{line}\n" for line in lines).encode(), tmp_path, model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.decode().splitlines() == [line[::-1] for line in lines]
    assert max(map(len, model.windows)) == BATCHES * BATCH
    assert peak < 8_000_000  # the file, some pieces of it, a window; all lines as objects would be five times as much


def test_packed_files(tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"ab\ncd\n"))
    predict(cast(Model, Echo()), asking(tmp_path / "in.gz", out=tmp_path / "out"), print)
    assert (tmp_path / "out").read_text() == "ba\ndc\n"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"a\xe9b", "not UTF-8 text (byte 0xe9 at column 2); convert the file, e.g. iconv -f latin1 -t utf-8"),
        (b"a\0b", "a NUL byte at column 2; remove it"),
    ],
)
def test_a_line_that_is_no_text(tmp_path: Path, line: bytes, what: str) -> None:
    """It stops there, with all before it written; or, if asked to, an empty answer keeps its place."""
    content = b"ab\n" * 6 + line + b"\ncd\n"
    with pytest.raises(UserError) as caught:
        answered(content, tmp_path)
    remedy = "(--skip-bad leaves such answers empty); what comes before it is kept"
    assert str(caught.value) == f"{tmp_path / 'in.txt'}:7: {what} {remedy}"
    assert (tmp_path / "out.txt.part").read_bytes() == b"ba\n" * 6
    (tmp_path / "in.txt").write_bytes(content.replace(line, b"ef"))  # mended: it goes on from there
    predict(cast(Model, Echo()), asking(tmp_path / "in.txt", out=tmp_path / "out.txt"), print)
    assert (tmp_path / "out.txt").read_bytes() == b"ba\n" * 6 + b"fe\ndc\n"
    out, notes = answered(content, tmp_path, skip_bad=True)
    assert out == b"ba\n" * 6 + b"\ndc\n"
    assert notes == [
        f"{tmp_path / 'in.txt'}:7: {what}",
        "1 line could not be answered: an empty answer stands in its place",
    ]


@pytest.mark.parametrize(("bad", "rest"), [(5, []), (6, ["… and 1 more"]), (11, ["… and 6 more"])])
def test_not_every_bad_line_is_told(tmp_path: Path, bad: int, rest: list[str]) -> None:
    _, notes = answered(b"a\0b\ncd\n" * bad, tmp_path, skip_bad=True)
    assert notes[4].endswith("in.txt:9: a NUL byte at column 2; remove it")
    assert notes[5:-1] == rest
    assert notes[-1].startswith(f"{bad} lines could not be answered")


def test_standard_input_is_answered_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    monkeypatch.setattr(sys, "stdin", open(read, encoding="utf-8"))  # noqa: SIM115, PTH123 (a pipe's end)
    with AskedLines("-", "text") as lines:
        for text in ("one\n", "two\nthree\n", "four"):
            os.write(write, text.encode())
            if text == "four":
                os.close(write)
            assert [line.question for line in lines.take(10)] == [Question(one) for one in text.split()]
        assert lines.take(10) == []
    sys.stdin.close()


# -- JSON lines


def test_json_lines(tmp_path: Path) -> None:
    given = [{"source": "ab", "id": 7}, {"source": ""}, {"source": "c\nd", "must": ["x"], "longest": 3}]
    content = "".join(json.dumps(line) + "\n" for line in given) + "\n"
    out, _ = answered(content.encode(), tmp_path, input="jsonl", lines=AnswerLines("jsonl"))
    assert [json.loads(line) for line in out.decode().splitlines()] == [
        {"id": 7, "text": "ba", "score": -1.5},
        {"text": "", "score": -1.5},
        {"text": "d\nc", "score": -1.5},
        {"text": "", "score": -1.5},
    ]


def test_json_lines_with_many_brackets(tmp_path: Path) -> None:
    """In a text, or beside each other, they nest nothing; and what nests a little is said again as it was."""
    deep = json.loads(90 * "[" + 90 * "]")
    given = [{"source": 300 * '["' + "\\"}, {"source": "ab", "id": 300 * [[]]}, {"source": "ab", "id": deep}]
    content = "".join(json.dumps(line) + "\n" for line in given)
    out, _ = answered(content.encode(), tmp_path, input="jsonl", lines=AnswerLines("jsonl"))
    lines = [json.loads(line) for line in out.decode().splitlines()]
    assert lines[0]["text"] == "\\" + 300 * '"['
    assert [line["id"] for line in lines[1:]] == [300 * [[]], deep]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"source": ', "not JSON"),
        ("[1]", 'should be a table such as {"source": "…"}, but is a list of 1'),
        ("{}", "the source should be text, but is missing"),
        ('{"source": 3}', "the source should be text, but is 3"),
        ('{"source": "a", "prefx": "b"}', "unknown key 'prefx'; did you mean 'prefix'?"),
        ('{"source": "a", "prefix": 1}', "prefix should be text, but is 1"),
        ('{"source": "a", "must": "b"}', "must should be a list of texts, but is 'b'"),
        ('{"source": "a", "must_not": [1]}', "must_not should be a list of texts, but is a list of 1"),
        ('{"source": "a", "longest": 0}', "longest should be a number of tokens from 1 on, but is 0"),
        ('{"source": "\\ud800"}', "half a surrogate pair is no character; remove it"),
        ('{"source": "a", "prefix": "ж"}', "prefix 'ж': the model cannot write it"),
        ('{"source": "a", "prefix": 0}', "prefix should be text, but is 0"),
        ('{"source": "a", "prefix": false}', "prefix should be text, but is false"),
        ('{"source": "a", "must": 0}', "must should be a list of texts, but is 0"),
        ('{"source": "a", "must_not": ""}', "must_not should be a list of texts, but is ''"),
        ('{"source": "a", "id": "\\ud800"}', "half a surrogate pair is no character; remove it"),
        ('{"source": "a", "id": 1e999}', "not JSON ('1e999' is too large a number); mend the line"),
        ('{"source": "a", "id": NaN}', "not JSON (NaN is no number of JSON's); mend the line"),
        ('{"source": "a", "id": [-Infinity]}', "not JSON (-Infinity is no number of JSON's); mend the line"),
        ('{"source": "a", "longest": ' + 5000 * "9" + "}", "not JSON (a number of 5,000 digits); mend the line"),
        ('{"source": "a", "id": ' + 101 * "[" + 101 * "]" + "}", "not JSON (nested more than 100 deep); mend the line"),
        ('{"source": "a", "id": ' + 990 * '{"a":' + "1" + 990 * "}" + "}", "not JSON (nested more than 100 deep)"),
        ('{"source": "a", "id": ' + 200_000 * "[", "not JSON (nested more than 100 deep)"),
    ],
)
def test_a_broken_json_line_harms_no_other(tmp_path: Path, line: str, what: str) -> None:
    content = f'{{"source": "ab"}}\n{line}\n{{"source": "cd"}}\n'.encode()
    with pytest.raises(UserError) as caught:
        answered(content, tmp_path, input="jsonl")
    assert f"in.txt:2: {what}" in str(caught.value)
    out, notes = answered(content, tmp_path, input="jsonl", lines=AnswerLines("jsonl"), skip_bad=True)
    first, second, third = (json.loads(line) for line in out.decode().splitlines())
    assert (first["text"], second["text"], third["text"]) == ("ba", "", "dc")
    assert what in second["error"]
    assert len(notes) == 2


# -- what is written of an answer

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


# -- going on

LINES = [f"line {number}" for number in range(300)]
CONTENT = "".join(f"{line}\n" for line in LINES)
WHOLE = "".join(f"{line[::-1]}\n" for line in LINES)


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of answers that Ctrl-C stopped somewhere."""
    monkeypatch.setattr(output_file, "EVERY", 0.0)
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(CONTENT)
    with pytest.raises(KeyboardInterrupt):
        predict(cast(Model, Echo("line 100")), asking("in.txt", out=Path("out.txt")), print)
    assert not Path("out.txt").exists()
    done = json.loads(Path("out.txt.part.json").read_text())["lines"]
    assert 0 < done <= 100
    assert Path("out.txt.part").read_text() == "".join(f"{line[::-1]}\n" for line in LINES[:done])
    return tmp_path


def go_on(**more: Any) -> list[str]:
    notes: list[str] = []
    predict(cast(Model, Echo()), asking("in.txt", out=Path("out.txt"), **more), notes.append)
    return notes


def test_the_same_again_goes_on(stopped: Path) -> None:
    assert go_on()[0].startswith("goes on behind line ")
    assert Path("out.txt").read_text() == WHOLE
    assert sorted(file.name for file in stopped.iterdir()) == ["in.txt", "out.txt", "out.txt.done.json"]


@pytest.mark.parametrize("form", [AnswerLines(scores=True), AnswerLines("jsonl"), AnswerLines("tsv")])
def test_scores_go_on_behind_a_whole_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: AnswerLines) -> None:
    """Their last digit may depend on which lines are answered together: the same ones, stopped or not."""
    monkeypatch.setattr(output_file, "EVERY", 0.0)
    (tmp_path / "in.txt").write_text(CONTENT)
    whole, first, second = Echo(), Echo("line 100"), Echo()
    predict(cast(Model, whole), asking(tmp_path / "in.txt", out=tmp_path / "whole", lines=form), print)
    asked = asking(tmp_path / "in.txt", out=tmp_path / "out", lines=form)
    with pytest.raises(KeyboardInterrupt):
        predict(cast(Model, first), asked, print)
    predict(cast(Model, second), asked, print)
    assert first.windows[:-1] + second.windows == whole.windows
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("more", ["half a li", "a whole line\nand a", "x" * 100_000])
def test_what_was_written_behind_the_note_is_cut_off(stopped: Path, more: str) -> None:
    with Path("out.txt.part").open("a") as part:
        part.write(more)
    go_on()
    assert Path("out.txt").read_text() == WHOLE


def test_a_longer_input_goes_on_too(stopped: Path) -> None:
    Path("in.txt").write_text(CONTENT + "more\n")
    go_on()
    assert Path("out.txt").read_text() == WHOLE + "erom\n"


@pytest.mark.parametrize("change", ["other", "shorter"])
def test_another_input_is_refused(stopped: Path, change: str) -> None:
    Path("in.txt").write_text(CONTENT.replace("line 3\n", "LINE 3\n") if change == "other" else "line 0\n")
    with pytest.raises(UserError, match=r"in\.txt: is not what out\.txt\.part was begun with: its first \d+ lines"):
        go_on()
    go_on(force=True)
    assert Path("out.txt").read_text() != WHOLE


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"lines": AnswerLines("tsv")}, "with --format text"),
        ({"lines": AnswerLines(scores=True)}, "without --scores"),
        ({"lines": AnswerLines("jsonl", alignment=True)}, "with --format text and without --alignment"),
        ({"n_best": 2}, "with another generation.n_best"),
        ({"skip_bad": True}, "without --skip-bad"),
        ({"column": 1}, "without --column"),
    ],
)
def test_another_question_is_refused(stopped: Path, more: dict[str, Any], what: str) -> None:
    with pytest.raises(UserError, match=rf"out\.txt\.part: was begun {what}; .*--force"):
        go_on(**more)


def test_what_was_asked_for_and_is_no_longer(tmp_path: Path) -> None:
    """The batch, which only scores depend on, is told where nothing else differs."""
    file, out, scored = tmp_path / "in.txt", tmp_path / "out", AnswerLines(scores=True)
    file.write_text("a\n")
    predict(cast(Model, Echo()), asking(file, out=out, lines=scored), print)
    with pytest.raises(UserError, match="was written with --scores; name"):
        predict(cast(Model, Echo()), asking(file, out=out), print)
    with pytest.raises(UserError, match="was written with another batch; name"):
        predict(cast(Model, Echo()), Asking(str(file), GenerationSettings(batch=7), scored, out=out), print)


def test_another_run_is_refused(stopped: Path) -> None:
    Path("weights").write_bytes(b"other")
    model = Echo()
    run, codecs = SimpleNamespace(model=Path("weights")), SimpleNamespace(fingerprint="")
    model.opened = (SimpleNamespace(run=run, task=SimpleNamespace(codecs=codecs)),)  # type: ignore[assignment]
    with pytest.raises(UserError, match="was begun with another run;"):
        predict(cast(Model, model), asking("in.txt", out=Path("out.txt")), print)


def test_other_sizes_of_batches_do_not_matter(stopped: Path) -> None:
    other = Asking("in.txt", GenerationSettings(batch=7), AnswerLines(), out=Path("out.txt"))
    predict(cast(Model, Echo()), other, print)
    assert Path("out.txt").read_text() == WHOLE


def test_the_same_again_when_all_is_done(stopped: Path) -> None:
    go_on()
    written = Path("out.txt").stat().st_mtime_ns
    assert go_on() == ["already done: 300 lines"]
    assert Path("out.txt").stat().st_mtime_ns == written
    assert not Path("out.txt.part").exists()


def test_what_is_done_tells_what_it_lacks_again(tmp_path: Path) -> None:
    _, notes = answered(b"ab\na\0b\n", tmp_path, skip_bad=True)
    again: list[str] = []
    predict(cast(Model, Echo()), asking(tmp_path / "in.txt", out=tmp_path / "out.txt", skip_bad=True), again.append)
    assert again == ["already done: 2 lines", notes[-1]]


@pytest.mark.parametrize("content", [CONTENT + "more\n", CONTENT.replace("line 3\n", "LINE 3\n"), "line 0\n"])
def test_what_is_done_of_another_input_is_refused(stopped: Path, content: str) -> None:
    go_on()
    Path("in.txt").write_text(content)
    with pytest.raises(UserError, match=r"in\.txt: is not what out\.txt answers, which is 300 other lines; .*--force"):
        go_on()
    assert Path("out.txt").read_text() == WHOLE


def test_what_is_done_with_other_wishes_is_refused(stopped: Path) -> None:
    go_on()
    with pytest.raises(UserError, match=r"out\.txt: was written with another generation\.n_best; name another --out"):
        go_on(n_best=2)


def test_a_file_is_not_written_over(stopped: Path) -> None:
    go_on()
    with Path("out.txt").open("a") as out:
        out.write("a line of mine\n")
    with pytest.raises(UserError, match=r"out\.txt: exists already; name another --out, or write over it with --force"):
        go_on()
    Path("out.txt.done.json").unlink()
    with pytest.raises(UserError, match=r"out\.txt: exists already"):
        go_on()
    assert go_on(force=True) == []
    with pytest.raises(UserError, match=r"in\.txt: is what is read"):
        predict(cast(Model, Echo()), asking("in.txt", out=Path("in.txt"), force=True), print)


def test_a_part_that_nobody_knows_is_not_written_over(stopped: Path) -> None:
    Path("out.txt.part.json").unlink()
    with pytest.raises(
        UserError, match=r"out\.txt\.part: lies there, but no out\.txt\.part\.json says what it is; .*--force"
    ):
        go_on()
    go_on(force=True)
    assert Path("out.txt").read_text() == WHOLE


def test_places_that_cannot_be(stopped: Path) -> None:
    for out, what in (
        (".", "is a folder; --out names a file"),
        ("no/out.txt", "there is no folder no"),
        ("o.gz", r"o\.gz: answers are written as plain text, .* name another --out, or .*\| gzip > o\.gz"),
        ("o.ZST", r"\| zstd > o\.ZST"),
    ):
        with pytest.raises(UserError, match=what):
            predict(cast(Model, Echo()), asking("in.txt", out=Path(out)), print)


@pytest.mark.parametrize("content", ["", "{", '{"lines": 3}', "[]"])
def test_a_broken_note(stopped: Path, content: str) -> None:
    Path("out.txt.part.json").write_text(content)
    with pytest.raises(UserError, match=r"out\.txt\.part\.json: cannot be read .* start anew with --force"):
        go_on()


def test_a_part_that_was_cut(stopped: Path) -> None:
    os.truncate("out.txt.part", 3)
    with pytest.raises(UserError, match=r"out\.txt\.part: is shorter than it was"):
        go_on()


def test_two_at_once(stopped: Path) -> None:
    first = output_file.OutputFile(Path("other.txt"), {})
    with pytest.raises(UserError, match="another process is writing it"):
        output_file.OutputFile(Path("other.txt"), {})
    first.stop()


# -- with a model


def test_a_model_answers_as_from_python(runs: Runs, tmp_path: Path) -> None:
    model = seqloom.load(runs["pairs"])
    texts = ["abc", "", "hgfedcba", "xyz", "a" * 300, "abc"]
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in texts))
    settings = generation_of(model.opened[0], ["generation.longest=8"])
    predict(model, Asking(str(tmp_path / "in.txt"), settings, AnswerLines(), out=tmp_path / "out"), print)
    said = model.predict(texts, changes=["generation.longest=8"])
    assert (tmp_path / "out").read_text().splitlines() == [str(answer) for answer in said]


def test_cut_lines_are_counted(runs: Runs, tmp_path: Path) -> None:
    model = seqloom.load(runs["short"])
    (tmp_path / "in.txt").write_text(f"abc\n{'abcd' * 2500}\n")
    notes: list[str] = []
    settings = generation_of(model.opened[0], ["generation.shortest=11"])
    predict(model, Asking(str(tmp_path / "in.txt"), settings, AnswerLines(), out=tmp_path / "out"), notes.append)
    assert len((tmp_path / "out").read_text().splitlines()) == 2
    assert "1 line was cut: it is longer than the model's learned positions" in notes


@pytest.mark.slow
def test_killed_in_the_middle(runs: Runs, tmp_path: Path) -> None:
    """kill -9 while it writes, then the same command: the bytes of one that was never stopped."""
    lines = ["abcdefgh"[number % 5 :][: number % 7] for number in range(6000)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    words = (
        "predict",
        str(runs["pairs"]),
        "in.txt",
        "--out",
        "out.txt",
        "--beam",
        "1",
        "--set",
        "generation.longest=6",
        "--set",
        "generation.batch=32",
    )
    process, note = child(tmp_path, *words), tmp_path / "out.txt.part.json"
    began = time.monotonic()
    while process.is_alive() and not (note.exists() and json.loads(note.read_text())["lines"]):
        assert time.monotonic() - began < 120
        time.sleep(0.02)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert 0 < json.loads(note.read_text())["lines"] < 6000
    again = child(tmp_path, *words)
    again.join()
    assert again.exitcode == 0, (tmp_path / "output.txt").read_text()
    assert "goes on behind line" in (tmp_path / "output.txt").read_text()
    model = seqloom.load(runs["pairs"])
    said = model.predict(lines, beam=1, changes=["generation.longest=6"])
    assert (tmp_path / "out.txt").read_text() == "".join(f"{answer}\n" for answer in said)


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match="pipe: is no plain file; leave --out away"):
        output_file.OutputFile(pipe, {}, force=True)
    assert sorted(tmp_path.iterdir()) == [pipe]


def test_a_full_disk_behind_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    with io.FileIO("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=full, flush=full.flush))
        with pytest.raises(FailedError, match="standard output: cannot be written: No space left"):
            output_file.Screen().write("a\n")


def test_a_screen_without_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    output_file.Screen().write("ä\n")
    assert cast(io.StringIO, sys.stdout).getvalue() == "ä\n"


def test_a_column_of_a_file_without_tabs(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\tb\nab,cd\n")
    with pytest.raises(
        UserError, match=r"in\.csv:2: there is no column 2 \(1 column\); columns stand between tabs; save"
    ):
        predict(cast(Model, Echo()), asking(tmp_path / "in.csv", column=2), lambda text: None)
    with pytest.raises(UserError, match=r"in\.txt: its lines end with carriage returns alone"):
        answered(b"ab\rcd\ref", tmp_path)
