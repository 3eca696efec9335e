"""Encoding in processes: the same as here, with errors, and nobody left behind."""

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.data import crew as module
from seqloom.data.crew import Worker, cores, encode_all
from seqloom.data.encoding import Fields, PairEncoder
from seqloom.settings import FailedError, UserError
from seqloom.text import BPE, Vocabulary

TEXTS = [f"some words {number} to be cut {number * 7919 % 1000}" for number in range(3000)]
BYTE_PAIRS = Vocabulary.train(BPE(size=300), TEXTS)
ENCODER = PairEncoder(BYTE_PAIRS, BYTE_PAIRS)


Told = Callable[..., Generator[tuple[int, Any], None, None]]


def _items() -> Iterator[tuple[int, Fields]]:
    for begin in range(0, len(TEXTS), 100):
        part = TEXTS[begin : begin + 100]
        yield begin, [part, part[::-1]]


TELLING = """
import os, sys
from seqloom.settings import UserError

class Telling:
    columns = {}

    def __call__(self, word):
        match word:
            case "die":
                os.kill(os.getpid(), 9)
            case "print":
                print("talk")
            case "bad":
                raise UserError("bad text")
            case "torch":
                return "torch" in sys.modules
            case _:
                return os.getpid()
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """What an encoder says that does as it is told: a module of the user's, found where the user's Python finds it."""
    (tmp_path / "telling.py").write_text(TELLING)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "telling", raising=False)
    encoder = importlib.import_module("telling").Telling()
    return lambda words, workers=1: encode_all(encoder, enumerate(words), workers)


def test_the_same_as_without() -> None:
    here, there = (list(encode_all(ENCODER, _items(), workers)) for workers in (0, 2))
    assert [number for number, _ in here] == [number for number, _ in there] == list(range(0, len(TEXTS), 100))
    for (_, one), (_, other) in zip(here, there, strict=True):
        for name in ("source", "target"):
            assert one[name].values_N.dtype == other[name].values_N.dtype == np.uint16
            np.testing.assert_array_equal(one[name].values_N, other[name].values_N)
            np.testing.assert_array_equal(one[name].starts, other[name].starts)


def test_other_processes_work_and_without_torch(told: Told) -> None:
    (_, torch), (_, process) = told(["torch", "who"])
    assert torch is False
    assert process != os.getpid()
    assert not Path(f"/proc/{process}").exists()


def test_what_an_encoder_prints_is_no_answer(told: Told, capfd: pytest.CaptureFixture[str]) -> None:
    assert list(told(["print"])) == [(0, None)]
    assert capfd.readouterr() == ("", "talk\n")


def test_an_error_comes_where_its_result_would(told: Told) -> None:
    answers = told(["who", "bad", "who"])
    process = next(answers)[1]
    with pytest.raises(UserError, match="bad text"):
        next(answers)
    assert not Path(f"/proc/{process}").exists()


def test_a_worker_that_dies_is_told(told: Told) -> None:
    with pytest.raises(FailedError, match=r"ended \(signal 9\); is memory short\?"):
        list(told(["die"]))


def test_who_stops_early_leaves_no_process(told: Told) -> None:
    with closing(told(iter(str, "end"), 2)) as answers:
        process = next(answers)[1]
        assert Path(f"/proc/{process}").exists()
    assert not Path(f"/proc/{process}").exists()


def test_an_interrupt_at_any_time() -> None:
    def items() -> Iterator[tuple[int, Fields]]:
        yield from _items()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(encode_all(ENCODER, items(), 2))


SCRIPT = """
import os, sys
from seqloom.data import crew
from seqloom.data.encoding import LineEncoder
from seqloom.text import Bytes, Vocabulary
print("begins", flush=True)
encoder = LineEncoder(Vocabulary.train(Bytes(), []), running=False)
worker_of = crew.Worker.__init__
def noted(self, pickled):
    worker_of(self, pickled)
    print(self.process.pid, flush=True)
crew.Worker.__init__ = noted
endless = len(sys.argv) > 1
items = ((number, [["text"]]) for number in (iter(int, 1) if endless else range(9)))
print(sum(encoded["target"].starts[-1] for _, encoded in crew.encode_all(encoder, items, 2)), flush=True)
"""


@pytest.mark.parametrize("how", [pytest.param("file", marks=pytest.mark.slow), "-"])
def test_a_script_without_a_guard_runs_once(tmp_path: Path, how: str) -> None:
    """Also one that no other process could import, in a folder with a module of a name that Python knows."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    (tmp_path / "pickle.py").write_text("raise SystemExit('the wrong module')")
    words = {"file": ["-P", str(script)], "-": ["-P", "-"]}[how]
    ran = subprocess.run(
        [sys.executable, *words], input=SCRIPT, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=600
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *_, last = ran.stdout.split()
    assert (first, last, ran.stdout.count("begins")) == ("begins", "36", 1)


@pytest.mark.parametrize("stop", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_workers_end_with_who_started_them(stop: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "endless"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as main:
        assert main.stdout is not None
        assert main.stderr is not None
        main.stdout.readline()
        workers = [int(main.stdout.readline()) for _ in range(2)]
        time.sleep(0.2)
        assert all(map(_lives, workers))
        main.send_signal(stop)
        main.wait(300)
        errors = main.stderr.read()
    late = time.monotonic() + 300
    while any(map(_lives, workers)) and time.monotonic() < late:
        time.sleep(0.05)
    assert not any(map(_lives, workers))
    assert errors.count("Traceback") == (stop == signal.SIGINT)  # the main process's own


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # ended, and nobody asked yet


def test_as_many_cores_as_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    assert cores() == 3


def test_no_python_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.can_start()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not module.can_start()


def test_a_worker_that_was_never_asked() -> None:
    with Worker(b"") as worker:
        pass
    assert worker.process.returncode == 0
