"""One source in C, made into a library once for each machine, and loaded when it is first of use.

Nobody waits for a compiler: while it works, in a thread of its own, the plain lines go on. What it made is kept, and
from then on it is loaded in some milliseconds.
"""

import ctypes
import hashlib
import logging
import os
import re
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch

from seqloom.layers.native.compiler import (
    ALWAYS,
    Compiler,
    CompilerError,
    HangingError,
    MissingError,
    find_compiler,
    options,
    processor,
)
from seqloom.layers.native.kept import folder_to_write, kept, named, private

ASKED = 16
"""Questions before a compiler is called: whoever wants a single answer does not need it."""
SWITCH = "SEQLOOM_NATIVE"

log = logging.getLogger("seqloom.native")
_all = WeakSet["Library"]()
_to_tell = list[Callable[[str], None]]()
_telling = threading.Lock()


class Library:
    """name: of the source beside this file. takes: the types of each function's arguments.

    check: whether it says the same as the plain lines, on a small case; it is asked whenever the library is loaded.
    needs: something that may be missing on a machine; it raises MissingError then.
    """

    def __init__(
        self,
        name: str,
        takes: dict[str, tuple[Any, ...]],
        check: Callable[[ctypes.CDLL], bool],
        needs: Callable[[], object] | None = None,
    ) -> None:
        self.name, self.takes, self.check, self.needs = name, takes, check, needs
        self.why: str | None = None  # it cannot be used
        self._loaded: ctypes.CDLL | None = None
        self._asked, self._settled = 0, False
        self._anew()
        _all.add(self)

    def _anew(self) -> None:
        """A process that was forked has neither the thread nor who held the lock."""
        self._lock = threading.RLock()
        self._builder: threading.Thread | None = None

    def get(self) -> ctypes.CDLL | None:
        """The library; None as long as there is none, or for good."""
        if self._settled:
            return self._loaded
        switch = os.environ.get(SWITCH, "")
        if switch == "0" or not _usual():
            return None
        if switch == "1":
            return self.wait()
        self._asked += 1
        if self._asked == 1 and self._made_before():
            return self.wait()
        if self._asked >= ASKED:
            self._begin()
        return None

    def _begin(self) -> None:
        if self._builder is None:  # two that begin at once wait for each other
            self._builder = threading.Thread(target=self.wait, name=f"seqloom compiles {self.name}.c")
            self._builder.start()

    def wait(self) -> ctypes.CDLL | None:
        """The library, compiled now if need be: for long work that must not change its way in the middle."""
        if self._done():
            return self._loaded
        if os.environ.get(SWITCH, "") == "0" or not _usual():
            return None
        with self._lock:
            # at the program's end nobody waits for more than what is being compiled already
            if not self._done() and threading.main_thread().is_alive():
                try:
                    self._loaded = self._made()
                except Exception as fault:  # whatever it is, the plain lines can do it
                    self.why = str(fault)
                    level = logging.INFO if isinstance(fault, MissingError) else logging.WARNING
                    log.log(level, "%s.c: %s; the plain lines do it", self.name, fault)
                self._settled = True
        return self._loaded

    def _done(self) -> bool:
        return self._settled  # another thread may have done it meanwhile

    def _made_before(self) -> bool:
        try:
            return self._kept() is not None
        except Exception:  # no compiler, …: it is told when it is to be made
            return False

    def _made(self) -> ctypes.CDLL:
        if self.needs is not None:
            self.needs()
        if (file := self._kept()) is not None:
            try:
                return self._opened(file)
            except (OSError, CompilerError) as fault:
                log.info("%s: %s; it is made anew", file, fault)
        return self._built(_compiler(), folder_to_write())

    def _built(self, compiler: Compiler, folder: Path) -> ctypes.CDLL:
        if threading.current_thread() is not self._builder:
            _tell(f"kernels in C are compiled with {compiler.name}, once on this machine; {SWITCH}=0 does without them")
        faults = []
        for choice, some in enumerate(options()):
            # a name of its own, so that others may build the same at the same time; a network drive may keep a file
            # in it for as long as it is loaded
            with tempfile.TemporaryDirectory(dir=folder, prefix="making-", ignore_cleanup_errors=True) as own:
                made = Path(own) / named(self._name(), choice)
                try:
                    compiler.build(self.source, made, some)
                    made.chmod(stat.S_IRWXU)
                    found = self._opened(made)
                except HangingError:
                    raise
                except (OSError, CompilerError) as fault:
                    faults.append(f"{' '.join(some)}: {fault}")
                    continue
                with made.open("rb") as written:
                    os.fsync(written.fileno())
                made.replace(folder / made.name)
            log.info("%s.c: made with %s", self.name, " ".join(some) or "the usual options")
            return found
        raise CompilerError(faults[0])

    def _opened(self, file: Path) -> ctypes.CDLL:
        private(file.parent)
        private(file)
        opened = ctypes.CDLL(str(file))
        for name, types in self.takes.items():
            function = getattr(opened, name)
            function.argtypes, function.restype = types, None
        # whoever asks first may be in any mode
        with torch.inference_mode(False), torch.no_grad():
            if not self.check(opened):
                raise CompilerError("it does not say what the plain lines say")
        return opened

    @property
    def source(self) -> Path:
        return Path(__file__).with_name(f"{self.name}.c")

    def _kept(self) -> Path | None:
        return kept(self._name(), len(tuple(options())))

    def _name(self) -> str:
        """By all that it is made of and for."""
        parts = _with_included(self.source)
        facts = [*ALWAYS, *map(str, options()), *_compiler().facts, processor(), torch.__version__]
        key = hashlib.sha256(b"\0".join(parts + [fact.encode() for fact in facts])).hexdigest()[:24]
        return f"{self.name}-{key}"


@contextmanager
def told_of_waiting(tell: Callable[[str], None]) -> Iterator[None]:
    """While it lasts, `tell` is told as soon as somebody has to wait for a compiler; once."""
    _to_tell.append(tell)
    try:
        yield
    finally:
        with suppress(ValueError):  # it has been told
            _to_tell.remove(tell)


def _tell(text: str) -> None:
    with _telling:  # several are compiled at once
        while _to_tell:
            _to_tell.pop()(text)


def wait_for_all() -> None:
    """For whoever must not change its way in the middle, as a run that has to end with the same bits."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(Library.wait, list(_all)))


def wait_for_begun() -> None:
    """For whoever measures: until all that is being compiled already is there."""
    for library in list(_all):
        if library._builder is not None:
            library.wait()


def _usual() -> bool:
    """Whether numbers that are made without a word are in full precision: checks make some."""
    return torch.get_default_dtype() is torch.float32 and not torch._C._len_torch_function_stack()


def _forked() -> None:
    global _telling
    _telling = threading.Lock()
    for library in _all:
        library._anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@cache
def _compiler() -> Compiler:
    found = find_compiler()
    if found is None:
        raise MissingError("there is no C compiler; set CC, or install gcc or clang")
    return found


def _with_included(source: Path) -> list[bytes]:
    """A source, and the sources that it includes."""
    text = source.read_bytes()
    others = re.findall(rb'^#include "(.+)"', text, re.MULTILINE)
    return [text, *(part for name in others for part in _with_included(source.with_name(name.decode())))]
