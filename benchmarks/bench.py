"""seqloom and its peers side by side, on the same seeded work: one table.

    python benchmarks/bench.py [--device cpu|cuda] [--quick] [--rows NAME…] [--systems NAME…] [--threads N…]
        [--processor-time] [--out FILE]

`make bench` and `make bench-gpu` run it. Every system of a row has a process of its own, and they take turns, so that
a busy machine is busy for all; between its turns a process is stopped. Models are set by hand or by seed, nothing is
trained or fetched: those that write copy their source, so that every engine has to write the same texts.

tokens/s    of targets; the median of the turns
seqloom is  how many times as fast seqloom is, turn by turn, the median; above 1: seqloom is faster
of peak     the model's own matrix products, against the speed of a large one measured in the same turn
memory      at the most, of the whole process with its libraries; on a GPU of its tensors
same work   how it is known: the same texts, or the same loss from the same weights; else what is equal

--threads 1 2: every system with one thread and with two; the table has what is faster for it.

--processor-time counts the seconds that a system's threads were at work, not those of the clock: with one thread,
ratios then hold on a machine that others use, too. The peak is still that of the clock: "of peak" means little then.

--quick has fewer rows, systems and turns (minutes instead of half an hour). Results are kept beside each other:
benchmarks/results/bench-cpu.txt and .json, bench-gpu.*, with -quick behind the name where it was quick.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from machine import describe
from race.energy import meter
from race.rows import Row, rows
from race.systems import SYSTEMS
from race.table import HEAD, figures, lines
from race.turns import race

RESULTS = Path(__file__).parent / "results"
CLOCKS = {False: "seconds of the clock", True: "seconds of the processor"}


def versions() -> str:
    found = {system.package: system.version for system in SYSTEMS.values()}
    return ", ".join(f"{name} {version or 'not installed'}" for name, version in sorted(found.items()))


def chosen(asked: argparse.Namespace) -> list[Row]:
    found = rows(asked.device, asked.quick)
    names = [row.name for row in found]
    for name in asked.rows or ():
        if not any(one.startswith(name) for one in names):
            sys.exit(f"bench.py: there is no row '{name}'; choose from: {', '.join(names)}")
    wanted = [row for row in found if not asked.rows or any(row.name.startswith(name) for name in asked.rows)]
    if not asked.systems:
        return wanted
    for name in asked.systems:
        if not any(name in row.systems for row in wanted):
            sys.exit(f"bench.py: no system '{name}' in these rows; choose from: {', '.join(SYSTEMS)}")
    return [replace(row, systems=tuple(one for one in row.systems if one in asked.systems)) for row in wanted]


def note(text: str) -> None:
    print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end="" if sys.stderr.isatty() else "\n", file=sys.stderr)


def parsed(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="those whose names begin so")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="those that take part; all, if not said")
    parser.add_argument("--threads", type=int, nargs="+", default=[len(os.sched_getaffinity(0))], metavar="N")
    parser.add_argument("--processor-time", action="store_true", help="seconds of the processor, not of the clock")
    parser.add_argument("--out", type=Path, help="without its ending; benchmarks/results/bench-… if not said")
    return parser.parse_args(given)


def main() -> None:
    asked = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no worker stays behind
    if asked.device == "cuda" and not torch.cuda.is_available():
        sys.exit("bench.py: torch finds no GPU here; `make bench` measures on the CPU")
    if asked.device == "cuda" and asked.processor_time:
        sys.exit("bench.py: --processor-time counts the CPU's work; leave it out where a GPU does it")
    torch.set_num_threads(max(asked.threads))
    joules, about_energy = meter(asked.device)
    *fewer, most = map(str, sorted(asked.threads))
    counts = f"{', '.join(fewer)} or {most} threads, what is faster for it," if fewer else f"{most} threads"
    head = [
        describe(),
        versions(),
        f"{counts} each, {CLOCKS[asked.processor_time]}; {about_energy}",
        "",
        HEAD,
    ]
    print("\n".join(head), flush=True)
    said, records, began = list(head), {}, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for row in chosen(asked):
            runners = race(row, asked.device, Path(folder), asked.threads, joules, note, asked.processor_time)
            records[row.name] = figures(row, runners)
            some = [*lines(row, records[row.name]), ""]
            print("\n".join(some), flush=True)
            said += some
    said.append(f"{(time.monotonic() - began) / 60:.0f} minutes")
    print(said[-1])
    if asked.rows and not asked.out:
        return  # a part would take the place of the whole
    name = f"bench-{'gpu' if asked.device == 'cuda' else 'cpu'}{'-quick' if asked.quick else ''}"
    out: Path = asked.out or RESULTS / name
    out.with_suffix(".txt").write_text("\n".join(said) + "\n", encoding="utf-8")
    kept = {"machine": head[0], "versions": head[1], "how": head[2], "rows": records}
    out.with_suffix(".json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
