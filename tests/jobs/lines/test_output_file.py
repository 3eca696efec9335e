"""A file of answers that was stopped goes on, answers no line twice, and is never written over."""

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.lines import output_file
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.model import Model
from seqloom.jobs.predict import Asking, predict
from seqloom.settings import FailedError, UserError
from tests.jobs.echo import Echo, answered, asking

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
    recipe = SimpleNamespace(data=SimpleNamespace(corpora=()))
    model.opened = (SimpleNamespace(run=run, task=SimpleNamespace(codecs=codecs), recipe=recipe),)  # type: ignore[assignment]
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


def test_a_place_that_cannot_be_written_to() -> None:
    with pytest.raises(FailedError) as caught:
        output_file.OutputFile(Path("/proc/x"), {})
    assert str(caught.value).startswith("/proc/x.part: cannot be written: ")
    assert str(caught.value).endswith("; name another place to write to")
