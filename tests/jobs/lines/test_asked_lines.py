"""Lines in: no line is lost or moved, whatever it holds."""

import gzip
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import cast

import pytest

import seqloom
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.lines.asked_lines import AskedLines
from seqloom.jobs.model import Model
from seqloom.jobs.predict import BATCHES, predict
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.echo import BATCH, Echo, answered, asking


def test_a_column_of_lines(tmp_path: Path) -> None:
    assert answered(b"ab\tcd\nef\t\n\n", tmp_path, column=1)[0] == b"ba\nfe\n\n"
    assert answered(b"ab\tcd\nef\tgh\n", tmp_path, column=2)[0] == b"dc\nhg\n"
    with pytest.raises(UserError, match=r"in\.txt:2: there is no column 2 \(1 column\); mend the line \("):
        answered(b"ab\tcd\nef\n", tmp_path, column=2)


def test_tabs_where_columns_were_learnt_from(runs: Runs, tmp_path: Path) -> None:
    """Once, and before all is answered."""
    (tmp_path / "in.txt").write_bytes(b"ab\tba\n" * 3 * BATCH)
    file = tmp_path / "in.txt"
    command = f"seqloom predict {runs['pairs']} {file} --column 1"
    told = f"{file}: has tabs, and lines are read whole; one column alone: {command}"
    for name, column, wanted in ("pairs", None, [told]), ("pairs", 1, []), ("documents", None, []):
        notes = list[str]()
        lines = asking(tmp_path / "in.txt", out=tmp_path / "out.txt", force=True, column=column)
        predict(seqloom.load(runs[name]), lines, notes.append)
        assert [note for note in notes if "tabs" in note] == wanted


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
        (b"a\xe9b", "not UTF-8 text (byte 0xe9 at column 2); convert the file, e.g. iconv -f cp1252 -t utf-8"),
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


def test_columns_that_are_none(tmp_path: Path) -> None:
    needed = "a number from 1 is needed here; for a table's name add --input csv or tsv"
    for column in (0, "-1", "text"):
        with pytest.raises(UserError, match=f"^--column {column}: {needed}$"):
            answered(b"ab\tcd\n", tmp_path, column=column)
    with pytest.raises(UserError, match=r"^--column: a column's name or number is needed, such as 2$"):
        answered(b"ab\tcd\n", tmp_path, column="")


def test_lines_that_end_with_returns(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"in\.txt: its lines end with carriage returns alone"):
        answered(b"ab\rcd\ref", tmp_path)
