"""The machine's own C compiler."""

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SECONDS = 60  # that one source may take
# no -ffast-math: infinities and numbers that are none keep their meaning; sums that may be reordered say so themselves
ALWAYS = ("-std=gnu11", "-O3", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-w")
MACHINE = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
THREADS = (("-fopenmp",), ("-fopenmp-simd",), ())


class CompilerError(Exception):
    """It failed, or what it made did."""


class HangingError(CompilerError):
    """It did not come to an end, and would not with other options either."""


class MissingError(CompilerError):
    """Something is not on this machine: that is no fault."""


@dataclass(frozen=True)
class Compiler:
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        return " ".join((Path(self.command[0]).name, *self.command[1:]))

    def build(self, source: Path, to: Path, options: tuple[str, ...]) -> None:
        """Linked without -fopenmp: so its threads are those of torch, whose OpenMP is loaded already."""
        piece = to.with_suffix(".o")
        shared = ("-dynamiclib", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
        try:
            self._run(*ALWAYS, *options, "-c", str(source), "-o", str(piece))
            self._run(*shared, str(piece), "-o", str(to))
        finally:
            piece.unlink(missing_ok=True)

    def _run(self, *arguments: str) -> None:
        if self in _hanging:
            raise HangingError(f"{self.command[0]} took more than {SECONDS} s before")
        try:
            done = subprocess.run(
                [*self.command, *arguments], capture_output=True, text=True, errors="replace", timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            _hanging.add(self)
            raise HangingError(f"{self.command[0]} took more than {SECONDS} s") from None
        except (OSError, subprocess.SubprocessError) as fault:
            raise CompilerError(f"{self.command[0]}: {fault}") from fault
        if done.returncode:
            raise CompilerError(f"{self.command[0]}: {done.stderr.strip()[:500]}")

    @property
    def facts(self) -> list[str]:
        """Which it is; asking itself would take longer. `ccache gcc`: both programs are looked at."""
        found = [*self.command]
        for word in self.command:
            if (program := shutil.which(word)) is not None:
                about = (real := Path(program).resolve()).stat()
                found += [str(real), str(about.st_size), str(about.st_mtime_ns)]
        return found


_hanging = set[Compiler]()


def options() -> Iterator[tuple[str, ...]]:
    """What to try, the best first."""
    for threads in THREADS:
        for machine in MACHINE:
            yield *machine, *threads


@cache
def find_compiler() -> Compiler | None:
    """$CC, or the usual names. Not on Windows, whose compilers want another command line."""
    if sys.platform == "win32":
        return None
    wanted = os.environ.get("CC", "")
    try:
        own = shlex.split(wanted)
    except ValueError:
        own = []
    for command in [own] if own else [["cc"], ["gcc"], ["clang"]]:
        if found := shutil.which(command[0]):
            return Compiler((found, *command[1:]))
    return None


@cache
def processor() -> str:
    """What code for this very machine depends on."""
    about = [platform.machine(), platform.processor()]
    if sys.platform == "darwin":
        about.append(_on_a_mac())
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    names = ("vendor_id", "model name", "flags", "Features", "CPU implementer", "CPU part", "isa", "cpu")
    return "\n".join([*about, *(line for line in lines if line.split(":")[0].strip() in names)])


def _on_a_mac() -> str:
    """Which processor, and what it can do: its platform's name is the same for all."""
    asked = ("/usr/sbin/sysctl", "machdep.cpu.brand_string", "hw.optional")
    try:
        return subprocess.run(asked, capture_output=True, text=True, errors="replace", timeout=SECONDS).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
