"""A system in a process of its own: how its end is told, and that it can be stopped and killed."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.comparing import process
from seqloom.jobs.comparing.process import work_apart
from seqloom.jobs.comparing.result import load_result
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.deciding.asked import Budget, Columns, Command
from seqloom.settings import FailedError
from seqloom.store import RunFolder
from tests.jobs.run import write_pairs, write_recipe

READ = "import os, sys, signal, time; os.read(0, 1); "


def _work(command: Command | None = None, run: str = "run") -> Work:
    into = Path("answers/run.json")
    return Work(
        command, (Path(run),), (), Columns(), (), (), "auto", False, "none", "key", into, EvaluationSettings()
    )  # fmt: skip


def _instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Of the worker, which takes seconds to start."""
    monkeypatch.setattr(process, "_PROGRAM", READ + program)


def _press_when(begun: Path) -> None:
    def press() -> None:
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", r"was killed \(signal 9\): was the memory enough"),
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            r"ended by signal 11 \(Segm.*\); the same command tries it again, from",
        ),
        ("sys.exit(7)", "ended with exit code 7; the same command tries it again"),
        ("print('the files are gone'); sys.exit(1)", "^the files are gone\n$"),
    ],
)
def test_how_it_ended(monkeypatch: pytest.MonkeyPatch, program: str, why: str) -> None:
    _instead(monkeypatch, program)
    with pytest.raises(FailedError, match=why):
        work_apart(_work())


def test_one_that_never_read_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_PROGRAM", "import os; os._exit(3)")
    with pytest.raises(FailedError, match="exit code 3"):
        work_apart(_work())


def test_done(monkeypatch: pytest.MonkeyPatch) -> None:
    _instead(monkeypatch, "sys.exit(0)")
    work_apart(_work())


def test_control_c_is_passed_on_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It has the time to keep what it has."""
    program = f"""
asked = []
signal.signal(signal.SIGINT, lambda *_: asked.append(1))
open({str(tmp_path / "begun")!r}, "w").close()
while not asked: time.sleep(0.01)
time.sleep(0.3)
open({str(tmp_path / "asked")!r}, "w").write(str(len(asked)))
os._exit(130)"""
    _instead(monkeypatch, program)

    _press_when(tmp_path / "begun")
    with pytest.raises(KeyboardInterrupt):
        work_apart(_work())
    assert (tmp_path / "asked").read_text() == "1"


def test_control_c_while_it_imports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to keep and nothing to tell."""
    (tmp_path / "torch.py").write_text(f"open({str(tmp_path / 'begun')!r}, 'w').close()\nimport time\ntime.sleep(60)\n")
    path = os.pathsep.join([str(tmp_path), process._path()])
    monkeypatch.setattr(process, "_path", lambda: path)
    _press_when(tmp_path / "begun")
    with pytest.raises(KeyboardInterrupt):
        work_apart(_work())
    assert capfd.readouterr().err == ""


def test_a_worker_that_was_stopped_stops_us_too(monkeypatch: pytest.MonkeyPatch) -> None:
    _instead(monkeypatch, "os._exit(130)")
    with pytest.raises(KeyboardInterrupt):
        work_apart(_work())


@pytest.mark.slow
def test_it_trains_and_answers_apart_and_keeps_its_place_when_we_are_gone(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    write_recipe(place / "r.toml", "save_every = 1e-6\n")
    long = Command("r.toml", ("pairs.tsv",), out=Path("run"), budget=Budget("epochs", 400.0))
    environment = os.environ | {"PYTHONPATH": process._path()}
    program = [sys.executable, "-P", "-c", process._PROGRAM]
    running = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert running.stdin is not None
    pickle.dump(_work(long), running.stdin)
    running.stdin.flush()
    run = RunFolder(place / "run")
    while not run.checkpoints.any() and running.poll() is None:
        time.sleep(0.05)
    running.communicate()  # its input ends, as when we are killed
    assert running.returncode == 130
    numbers = run.checkpoints.numbers()
    assert numbers is not None
    before = numbers["place"]["step"]
    assert 0 < before < 2000
    work_apart(_work(Command("r.toml", ("pairs.tsv",), out=Path("run"), budget=Budget("epochs", before / 8 + 1))))
    result = load_result(Path("answers/run.json"))
    assert result is not None
    assert result.key == "key"
    assert result.facts.steps is not None
    assert before < result.facts.steps <= before + 14
    assert json.loads(Path("answers/run.json").read_text())["shape"] == "pairs"
