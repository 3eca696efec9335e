"""Many commands side by side on one machine: how the results in docs/results are made on a GPU.

    python benchmarks/side_by_side.py LIST… [--seconds 560] [--logs runs/logs]

A list has tracks, with an empty line between them; the commands of a track run one after the other, the tracks at the
same time. A line is `name: command`; `#` begins a comment. What a command writes is kept as NAME.log; what is done is
not done again. When the time is over, all that still runs is stopped (as by Ctrl-C, then by force), and a table says
how far each has come. A track goes on behind a command that failed.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 8  # seconds between Ctrl-C and force


@dataclass
class Job:
    name: str
    command: str
    state: str = "not begun"
    seconds: float = 0.0


@dataclass
class Board:
    """What runs, and when it has to end."""

    logs: Path
    end: float
    running: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, job: Job) -> None:
        done = self.logs / f"{job.name}.done"
        if done.exists():
            job.state = "done before"
            return
        begun = time.monotonic()
        if begun >= self.end:
            return
        with (self.logs / f"{job.name}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                ["bash", "-c", job.command], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            with self.lock:
                self.running.add(process.pid)
            code = process.wait()
            with self.lock:
                self.running.discard(process.pid)
        job.seconds = time.monotonic() - begun
        over = time.monotonic() >= self.end
        job.state = "done" if code == 0 else "stopped" if over else f"failed ({code})"
        if code == 0:
            done.touch()

    def stop(self) -> None:
        for sign in (signal.SIGINT, signal.SIGKILL):
            with self.lock:
                groups = set(self.running)
            for group in groups:
                with suppress(ProcessLookupError):  # just ended
                    os.killpg(group, sign)
            if not groups:
                return
            time.sleep(PATIENCE if sign == signal.SIGINT else 0)


def tracks(lists: list[Path]) -> list[list[Job]]:
    found: list[list[Job]] = []
    for file in lists:
        for part in file.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in part.splitlines() if line.strip() and not line.startswith("#")]
            for line in lines:
                if ": " not in line:
                    sys.exit(f"{file}: no `name: command`: {line}")
            if lines:
                found.append([Job(*line.split(": ", 1)) for line in lines])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=560)
    parser.add_argument("--logs", type=Path, default=Path("runs/logs"))
    given = parser.parse_args()
    given.logs.mkdir(parents=True, exist_ok=True)
    board = Board(given.logs, time.monotonic() + given.seconds)
    found = tracks(given.lists)
    threads = [
        threading.Thread(target=lambda jobs=track: [board.run(job) for job in jobs], daemon=True) for track in found
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, board.end - time.monotonic()))
    board.stop()
    for thread in threads:
        thread.join(PATIENCE)
    for job in (job for track in found for job in track):
        print(f"{job.name:30} {job.state:12} {job.seconds:6.0f} s")


if __name__ == "__main__":
    main()
