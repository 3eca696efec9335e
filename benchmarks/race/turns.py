"""The systems of a row by turns, each in a process of its own, so that a busy machine is busy for all.

Who is not at work is stopped, as threads of an idle library may spin.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from race.rows import Row
from race.systems import SYSTEMS
from race.worker import PEAK

HERE = Path(__file__).parents[1]
WARM = 1  # turns before those that count


@dataclass
class Runner:
    """What a system did in a row. why: it took no part; every figure is then empty."""

    name: str
    why: str = ""
    threads: int = 1
    seconds: list[float] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    memory: int = 0
    first_loss: float | None = None
    texts: list[str] | None = None
    peaks: list[float] = field(default_factory=list)

    @property
    def speed(self) -> float:
        """Tokens a second, the median of the turns."""
        return statistics.median(n / t for n, t in zip(self.tokens, self.seconds, strict=True))

    @property
    def joules_per_token(self) -> float | None:
        return sum(self.joules) / sum(self.tokens) if self.joules else None

    def against(self, other: "Runner") -> float:
        """How many times as fast the other is: turn by turn, then the median."""
        return statistics.median(mine / its for mine, its in zip(self.seconds, other.seconds, strict=True))


class Worker:
    """A process that waits for its turn."""

    def __init__(self, row: str, system: str, device: str, folder: Path, threads: int, processor: bool) -> None:
        path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
        own = {"PYTHONPATH": path, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  (as long as the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "race.worker", row, system, device, str(folder), *["processor"] * processor],
            env=os.environ | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        told = self._answer()
        self.why = "" if told.get("ready") else str(told.get("why"))
        self._rest()

    def turn(self, number: int) -> dict[str, object]:
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        told = self._answer()
        self._rest()
        return told

    def _answer(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            return dict(json.loads(line))
        self.process.wait()
        self._log.seek(0)
        last = next((line.strip() for line in reversed(self._log.readlines()) if line.strip()), "it says nothing")
        return {"ready": False, "why": f"ended with {self.process.returncode}: {last}"}

    def _rest(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()


def race(
    row: Row,
    device: str,
    folder: Path,
    threads: Sequence[int],
    joules: Callable[[], float] | None,
    note: Callable[[str], None],
    processor: bool = False,
) -> list[Runner]:
    """All systems of a row, each with that number of threads with which it is fastest.

    note: hears what goes on. processor: its seconds, not those of the clock.
    """
    runners = [Runner(name, _missing(name), count) for name in row.systems for count in threads]
    workers: dict[tuple[str, int], Worker] = {}
    top = Runner(PEAK, threads=max(threads))
    try:
        for runner in [*runners, top]:
            if not runner.why:
                note(f"{row.name}: {runner.name} makes itself ready")
                worker = Worker(row.name, runner.name, device, folder, runner.threads, processor)
                workers[runner.name, runner.threads] = worker
                runner.why = worker.why
        for number in range(row.turns + WARM):
            peak = workers[PEAK, top.threads].turn(number).get("loss")
            for runner in runners:
                if not runner.why:
                    note(f"{row.name}: turn {number + 1} of {row.turns + WARM}, {runner.name}")
                    _one(runner, workers[runner.name, runner.threads], number, joules)
                    if isinstance(peak, float) and number >= WARM:
                        runner.peaks.append(peak)
    finally:
        for worker in workers.values():
            worker.end()
    return [_best([runner for runner in runners if runner.name == name]) for name in row.systems]


def _best(runners: Sequence[Runner]) -> Runner:
    """The fastest of one system's."""
    able = [runner for runner in runners if runner.seconds and not runner.why]
    return max(able, key=lambda runner: runner.speed) if able else runners[0]


def _missing(name: str) -> str:
    system = SYSTEMS[name]
    return "" if system.version else f"not installed: pip install '{system.package}'"


def _one(runner: Runner, worker: Worker, number: int, joules: Callable[[], float] | None) -> None:
    before = joules() if joules is not None else 0.0
    told = worker.turn(number)
    used = joules() - before if joules is not None else None
    if "seconds" not in told:
        runner.why = str(told.get("why", "it gave no answer"))
        return
    runner.memory = int(told["memory"])  # type: ignore[call-overload]
    if number == 0:
        runner.first_loss, runner.texts = told["loss"], told["texts"]  # type: ignore[assignment]
    if number >= WARM:
        runner.seconds.append(float(told["seconds"]))  # type: ignore[arg-type]
        runner.tokens.append(int(told["tokens"]))  # type: ignore[call-overload]
        if used is not None:
            runner.joules.append(used)
