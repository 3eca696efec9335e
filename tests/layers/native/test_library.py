import ctypes
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seqloom.layers.native import compiler, library
from seqloom.layers.native.library import ASKED, Library, wait_for_begun

SOURCE = "void twice(float *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2; }\n"
TAKES = {"twice": (ctypes.c_void_p, ctypes.c_int)}

pytestmark = pytest.mark.skipif(compiler.find_compiler() is None, reason="needs a C compiler")


class Twice(Library):
    folder: Path

    @property
    def source(self) -> Path:
        return self.folder / "twice.c"


def twice(lib: ctypes.CDLL) -> bool:
    x = (ctypes.c_float * 2)(1, 3)
    lib.twice(x, 2)
    return list(x) == [2, 6]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Twice]:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEQLOOM_NATIVE", "")
    (tmp_path / "twice.c").write_text(SOURCE)
    for kept in (compiler.find_compiler, library._compiler):
        kept.cache_clear()

    def new(check: Callable[[ctypes.CDLL], bool] = twice) -> Twice:
        one = Twice("twice", TAKES, check)
        one.folder = tmp_path
        return one

    return new


@pytest.fixture(autouse=True)
def _as_before() -> object:
    yield
    for kept in (compiler.find_compiler, library._compiler):
        kept.cache_clear()


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("native*/*"))


def test_it_is_made_once_and_kept(made: Callable[..., Twice], tmp_path: Path) -> None:
    assert made().wait() is not None
    (file,) = files(tmp_path)
    before = file.stat().st_mtime_ns
    other = made()
    assert other.get() is not None, "what was made before is loaded at the first question"
    assert files(tmp_path) == [file]
    assert file.stat().st_mtime_ns == before
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert not stat.S_IMODE(file.stat().st_mode) & 0o077


def test_another_source_is_another_library(made: Callable[..., Twice], tmp_path: Path) -> None:
    made().wait()
    (tmp_path / "twice.c").write_text(SOURCE + "/* new */\n")
    made().wait()
    assert len(files(tmp_path)) == 2


def test_nobody_waits_and_few_questions_compile_nothing(made: Callable[..., Twice], tmp_path: Path) -> None:
    lib = made()
    assert [lib.get() for _ in range(ASKED - 1)] == [None] * (ASKED - 1)
    assert lib._builder is None
    lib.get()
    assert lib._builder is not None
    lib._builder.join()
    assert lib.get() is not None


def test_whoever_measures_waits_for_what_was_begun(made: Callable[..., Twice], tmp_path: Path) -> None:
    begun, other = made(), made()
    for _ in range(ASKED):
        begun.get()
    wait_for_begun()
    assert begun._settled
    assert not other._settled


def test_off(made: Callable[..., Twice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_NATIVE", "0")
    lib = made()
    assert all(lib.get() is None for _ in range(2 * ASKED))
    assert lib.wait() is None
    assert not files(tmp_path)


def test_at_once(made: Callable[..., Twice], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_NATIVE", "1")
    assert made().get() is not None


def test_no_compiler(
    made: Callable[..., Twice], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    lib = made()
    with caplog.at_level(logging.INFO):
        assert lib.wait() is None
    assert "there is no C compiler" in (lib.why or "")
    assert [record.levelno for record in caplog.records] == [logging.INFO], "that is no fault"
    assert lib.get() is None


def test_what_is_missing_is_no_fault(made: Callable[..., Twice], caplog: pytest.LogCaptureFixture) -> None:
    def needs() -> None:
        raise compiler.MissingError("no sgemm")

    lib = made()
    lib.needs = needs
    with caplog.at_level(logging.INFO):
        assert lib.wait() is None
    assert lib.why == "no sgemm"
    assert [record.levelno for record in caplog.records] == [logging.INFO]


def test_a_compiler_that_fails_is_named_once(
    made: Callable[..., Twice], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "twice.c").write_text("this is not C\n")
    lib = made()
    assert lib.wait() is None
    assert lib.wait() is None
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
    assert not files(tmp_path), "nothing is left behind"


def test_what_says_something_else_is_not_used(made: Callable[..., Twice], tmp_path: Path) -> None:
    lib = made(lambda _: False)
    assert lib.wait() is None
    assert "plain lines" in (lib.why or "")
    assert not files(tmp_path)


def test_options_that_the_compiler_does_not_know(made: Callable[..., Twice], monkeypatch: pytest.MonkeyPatch) -> None:
    """clang without OpenMP, a compiler that does not know its machine: the next options are tried."""
    monkeypatch.setattr(compiler, "THREADS", (("-fno-such-threads",), ()))
    monkeypatch.setattr(compiler, "MACHINE", (("-mno-such-machine",), ()))
    assert made().wait() is not None


def test_a_library_that_others_could_have_written_is_not_loaded(made: Callable[..., Twice], tmp_path: Path) -> None:
    made().wait()
    (file,) = files(tmp_path)
    file.parent.chmod(0o777)
    file.unlink()  # never written in place: whoever has it open would fall, at the latest at its end
    file.write_bytes(b"theirs")
    file.chmod(0o777)
    lib = made()
    assert lib.wait() is None
    assert "others may write" in (lib.why or "")


def test_a_damaged_library_is_made_anew(made: Callable[..., Twice], tmp_path: Path) -> None:
    made().wait()
    (file,) = files(tmp_path)
    file.unlink()  # as above
    file.write_bytes(b"not a library")
    file.chmod(0o700)
    assert made().wait() is not None


def test_a_cache_that_cannot_be_written(
    made: Callable[..., Twice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert made().wait() is not None
    assert len(list(temporary.glob("seqloom-native*/twice-*.so"))) == 1
    assert made().get() is not None, "it is found there again"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "cache"))
    lib = made()
    assert lib.wait() is None
    assert "set SEQLOOM_CACHE to a folder of your own" in str(lib.why)


def test_better_options_that_failed_by_accident_are_tried_again(
    made: Callable[..., Twice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a machine that had no memory left for a while."""
    program, busy = tmp_path / "moody", tmp_path / "busy"
    real = compiler.find_compiler()
    assert real is not None
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *=native*) if [ -e {busy} ]; then exit 1; fi;; esac\nexec {real.command[0]} "$@"\n'
    )
    program.chmod(0o700)
    busy.touch()
    monkeypatch.setenv("CC", str(program))
    compiler.find_compiler.cache_clear()
    library._compiler.cache_clear()
    with caplog.at_level(logging.INFO, logger="seqloom.native"):
        assert made().wait() is not None
    assert "made with -fopenmp" in caplog.text
    (lesser,) = files(tmp_path)
    assert not lesser.name.endswith("-0.so")
    busy.unlink()
    assert made().get() is not None
    assert files(tmp_path) == [lesser], "not on the same day"
    os.utime(lesser, (0, 0))
    assert made().wait() is not None
    assert [file.name.endswith("-0.so") for file in files(tmp_path)].count(True) == 1
    os.utime(lesser, (0, 0))
    before = sorted(file.stat().st_mtime_ns for file in files(tmp_path))
    assert made().get() is not None
    assert sorted(file.stat().st_mtime_ns for file in files(tmp_path)) == before, "the best one is found first"


def test_several_processes_at_once(tmp_path: Path) -> None:
    code = "from seqloom.layers.native.norm import NORM; assert NORM.wait() is not None, NORM.why"
    given = {**os.environ, "SEQLOOM_CACHE": str(tmp_path / "cache"), "SEQLOOM_NATIVE": ""}
    running = [subprocess.Popen([sys.executable, "-c", code], env=given) for _ in range(2)]
    assert [one.wait(60) for one in running] == [0, 0]
    assert len(files(tmp_path)) == 1


def test_whoever_has_to_wait_is_told_once(made: Callable[..., Twice], tmp_path: Path) -> None:
    told = list[str]()
    with library.told_of_waiting(told.append):
        one = made()
        one.wait()
        (text,) = told
        assert "kernels in C are compiled" in text
        assert "SEQLOOM_NATIVE=0" in text
        files(tmp_path)[0].unlink()
        made().wait()
    assert told == [text]
    with library.told_of_waiting(told.append):
        made().wait()
    assert told == [text], "what is only loaded takes no time"
    files(tmp_path)[0].unlink()
    made().wait()
    assert told == [text], "it is over"


def test_nobody_is_told_of_what_nobody_waits_for(made: Callable[..., Twice]) -> None:
    told = list[str]()
    with library.told_of_waiting(told.append):
        lib = made()
        for _ in range(ASKED):
            lib.get()
        assert lib._builder is not None
        lib._builder.join()
        assert lib.get() is not None
    assert not told


def test_importing_builds_nothing(tmp_path: Path) -> None:
    code = "import sys, seqloom; assert not [name for name in sys.modules if name.startswith('torch.utils.cpp')]"
    given = {**os.environ, "SEQLOOM_CACHE": str(tmp_path / "cache"), "SEQLOOM_NATIVE": "1"}
    subprocess.run([sys.executable, "-c", code], env=given, check=True)
    assert not files(tmp_path)


def test_what_checks_kernels_loads_no_algebra() -> None:
    """Gradients that are asked for with one of their own load sympy, which takes longer than to load the kernels."""
    code = (
        "import sys\n"
        "from seqloom.layers.native import activation, packed_attention, product, residual\n"
        "from seqloom.layers.native.library import _all\n"
        "assert [one.name for one in _all if one.wait() is not None]\n"
        "assert 'sympy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "SEQLOOM_NATIVE": "1"}, check=True)


def test_a_compiler_that_hangs_is_asked_once(
    made: Callable[..., Twice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, program = tmp_path / "asked", tmp_path / "slow"
    program.write_text(f"#!/bin/sh\necho x >> {asked}\nexec sleep 30\n", encoding="ascii")
    program.chmod(0o700)
    monkeypatch.setenv("CC", str(program))
    monkeypatch.setattr(compiler, "SECONDS", 0.3)
    compiler.find_compiler.cache_clear()
    library._compiler.cache_clear()
    first, second = made(), made()
    assert first.wait() is None
    assert second.wait() is None
    assert asked.read_text(encoding="ascii") == "x\n"
    assert "took more than" in str(second.why)


def test_a_forked_process_does_not_wait_for_who_is_not_there(made: Callable[..., Twice]) -> None:
    one = made()
    held = threading.Thread(target=one._lock.acquire)
    held.start()
    held.join()
    library._forked()
    assert one.wait() is not None


def test_a_folder_that_others_could_write_to(made: Callable[..., Twice], tmp_path: Path) -> None:
    assert made().wait() is not None
    (kept,) = files(tmp_path)
    kept.parent.chmod(0o777)
    one = made()
    assert one.wait() is None
    assert "others may write" in str(one.why)


def test_numbers_of_another_type_are_not_compared_with(made: Callable[..., Twice]) -> None:
    one = made()
    torch.set_default_dtype(torch.float64)
    try:
        assert one.wait() is None
    finally:
        torch.set_default_dtype(torch.float32)
    assert one.wait() is not None
