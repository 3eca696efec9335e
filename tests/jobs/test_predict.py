"""Line in, line out, with a trained model: as from Python, and after it was killed."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.predict import Asking, predict
from tests.jobs.asked_runs import Runs
from tests.jobs.run import child

MANY = 60_000  # lines, so that it is not done before it is seen to work


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
    assert (
        "1 line was cut: it is longer than what the model reads (its learned positions, or data.longest_source)"
        in notes
    )


def test_lines_with_what_the_model_does_not_know_are_told(runs: Runs, tmp_path: Path) -> None:
    """The first with its letters, all of them by their number; and again when nothing is left to do."""
    model, notes = seqloom.load(runs["pairs"]), list[str]()
    (tmp_path / "in.txt").write_text("abc\n\nazb\nhgf\nxyz\n")
    settings = generation_of(model.opened[0], ["generation.longest=8"])
    asking = Asking(str(tmp_path / "in.txt"), settings, AnswerLines(), out=tmp_path / "out")
    predict(model, asking, notes.append)
    file = tmp_path / "in.txt"
    assert notes[0] == f"{file}:3: the vocabulary has no 'z': the model reads <unk> instead"
    assert notes[1].startswith("2 lines have what the vocabulary does not have")
    again = list[str]()
    predict(model, asking, again.append)
    assert notes[1] in again


def test_a_line_that_takes_long_is_told_before(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.jobs.predict.LONG", 20)
    model, notes = seqloom.load(runs["pairs"]), list[str]()
    file = tmp_path / "in.txt"
    file.write_text(f"abc\n{'a' * 30}\n{'b' * 30}\n")
    settings = generation_of(model.opened[0], ["generation.longest=8"])
    predict(model, Asking(str(file), settings, AnswerLines(), out=tmp_path / "out"), notes.append)
    assert notes[0] == f"{file}:2: 30 tokens are read in a time that grows with their square"
    assert not any("square" in note for note in notes[1:])


@pytest.mark.slow
def test_killed_in_the_middle(runs: Runs, tmp_path: Path) -> None:
    """kill -9 while it writes, then the same command: the bytes of one that was never stopped."""
    lines = ["abcdefgh"[number % 5 :][: number % 7] for number in range(MANY)]
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
    assert 0 < json.loads(note.read_text())["lines"] < MANY
    again = child(tmp_path, *words)
    again.join()
    assert again.exitcode == 0, (tmp_path / "output.txt").read_text()
    assert "goes on behind line" in (tmp_path / "output.txt").read_text()
    model = seqloom.load(runs["pairs"])
    said = model.predict(lines, beam=1, changes=["generation.longest=6"])
    assert (tmp_path / "out.txt").read_text() == "".join(f"{answer}\n" for answer in said)
