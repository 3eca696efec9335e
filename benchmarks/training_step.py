"""One training step (forward, backward, Adam) of seqloom and of its peers, on the same batches, by turns.

    python benchmarks/training_step.py [--steps 10] [--rows NAME…] [--systems NAME…] [--out FILE.json]

small               encoder-decoder, 256 wide, 3 + 3 layers, 4 heads, 8,192 tokens; no dropout
small, dropout 0.1  the same, with dropout of attention, residuals and inputs
language            decoder-only, 384 wide, 6 layers, 6 heads, 65 tokens, 8 rows of 256
base, dropout 0.1   encoder-decoder, 512 wide, 6 + 6 layers, 8 heads, 32,000 tokens

Translation: 2,048 target tokens a batch, lognormal lengths of mean 13, batches of like lengths, as everybody trains.
Every system has a process of its own, so that none lives in memory that another has arranged, and they take turns, step
by step, so that a busy machine is busy for all. Ratios above 1: seqloom is faster. Peers that are not installed are
named and left out; a folder with some of them can be given as PEERS=FOLDER.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from training_systems import SYSTEMS, Pair, Trained

from machine import describe

TARGET_TOKENS, BATCHES, WARM = 2048, 6, 2
TRANSLATE = (
    "seqloom",
    "transformers (Marian, SDPA)",
    "torch.nn.Transformer",
    "x-transformers",
    "JoeyNMT",
    "OpenNMT-py",
)
LANGUAGE = (
    "seqloom",
    "transformers (GPT-2, SDPA)",
    "x-transformers",
    "nanoGPT-like",
    "nanoGPT-like, compiled",
)
ROWS = {
    "small": (Trained(256, 3, 4, 8192, 0.0), TRANSLATE),
    "small, dropout 0.1": (Trained(256, 3, 4, 8192, 0.1), TRANSLATE),
    "language": (Trained(384, 6, 6, 65, 0.0, context=256), LANGUAGE),
    "base, dropout 0.1": (Trained(512, 6, 8, 32000, 0.1), TRANSLATE),
}


def pairs(count: int, vocabulary: int, seed: int) -> list[Pair]:
    """Sentences of random tokens; lengths of a pair go together, with some noise."""
    draw = random.Random(seed)
    spread = 0.6
    centre = math.log(13) - spread**2 / 2
    made = list[Pair]()
    for _ in range(count):
        source = min(100, max(1, round(draw.lognormvariate(centre, spread))))
        target = min(100, max(1, round(source * draw.lognormvariate(0, 0.15))))
        made.append(tuple([draw.randrange(4, vocabulary) for _ in range(n)] for n in (source, target)))  # type: ignore[arg-type]
    return made


def work(size: Trained) -> list[Any]:
    """The batches of a row, the same in every process."""
    if size.context:
        chance = torch.Generator().manual_seed(0)
        return [torch.randint(size.vocabulary, (8, size.context + 1), generator=chance) for _ in range(BATCHES)]
    order = sorted(pairs(12_000, size.vocabulary, seed=1), key=lambda pair: (len(pair[1]), len(pair[0])))
    cut: list[list[Pair]] = [[]]
    for pair in order:
        if sum(len(target) for _, target in cut[-1]) + len(pair[1]) > TARGET_TOKENS:
            cut.append([])
        cut[-1].append(pair)
    return random.Random(2).sample(cut[:-1], BATCHES)


def tokens(batch: Any) -> int:
    return batch[:, 1:].numel() if isinstance(batch, torch.Tensor) else sum(len(target) for _, target in batch)


def serve(row: str, system: str, threads: int) -> None:
    """In a process of its own: for each number that comes in, a step on that batch; its seconds go out."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    size, _ = ROWS[row]
    batches, (model, loss) = work(size), SYSTEMS[system](size)
    optimiser = torch.optim.Adam(model.parameters(), 1e-4, fused=True)
    print("ready", sum(p.numel() for p in model.parameters()), flush=True)
    for line in sys.stdin:
        began, worked = time.perf_counter(), time.process_time()
        loss(batches[int(line)]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad()
        print(time.perf_counter() - began, time.process_time() - worked, flush=True)


class Worker:
    def __init__(self, row: str, system: str, threads: int, cpu: bool) -> None:
        self.cpu, self.said = cpu, tempfile.TemporaryFile("w+")  # noqa: SIM115  # open as long as the process
        ask = [sys.executable, __file__, "--serve", system, "--rows", row, "--threads", str(threads)]
        paths = [os.environ.get("PYTHONPATH", ""), os.environ.get("PEERS", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        self.process = subprocess.Popen(
            ask, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True, env=environment
        )

    def ready(self) -> int | None:
        """Its parameters; None: it did not begin."""
        line = self._line()
        while line and not line.startswith("ready"):  # some peers talk
            line = self._line()
        return int(line.split()[1]) if line else None

    def step(self, batch: int) -> float:
        assert self.process.stdin is not None
        print(batch, file=self.process.stdin, flush=True)
        wall, worked = map(float, self._line().split())
        return worked if self.cpu else wall

    def end(self) -> str:
        """Why it ended, where it did so by itself."""
        self.process.communicate()
        self.said.seek(0)
        said = self.said.read().strip()
        return said.splitlines()[-1] if said else "ended"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


def race(row: str, steps: int, threads: int, systems: Sequence[str], cpu: bool) -> list[dict[str, Any]]:
    """The systems of a row by turns over the same batches: a record of each, seqloom's first.

    cpu: seconds that the processor worked, which others on a busy machine change less; only sensible with one thread,
    as threads that wait for each other count as working.
    """
    size, all_systems = ROWS[row]
    names = [name for name in all_systems if not systems or name in systems or name == "seqloom"]
    workers = {name: Worker(row, name, threads, cpu) for name in names}
    sizes = {name: worker.ready() for name, worker in workers.items()}
    missing = {name: workers.pop(name).end() for name, count in sizes.items() if count is None}
    times: dict[str, list[float]] = {name: [] for name in workers}
    for turn in range(steps + WARM):
        for name, worker in workers.items():
            taken = worker.step(turn % BATCHES)
            if turn >= WARM:
                times[name].append(taken)
    for worker in workers.values():
        worker.end()
    done = [tokens(batch) for batch in work(size)]
    counts = [done[turn % BATCHES] for turn in range(WARM, steps + WARM)]
    records = [_record(row, name, times, counts, sizes[name] or 0) for name in workers]
    return records + [{"row": row, "system": name, "missing": why} for name, why in missing.items()]


def _record(row: str, name: str, times: dict[str, list[float]], counts: list[int], size: int) -> dict[str, Any]:
    taken = times[name]
    low, _, high = statistics.quantiles(taken, n=4)
    return {
        "row": row,
        "system": name,
        "tokens_per_second": round(statistics.median(n / t for n, t in zip(counts, taken, strict=True)), 1),
        "median_ms": round(statistics.median(taken) * 1e3, 1),
        "quartiles_ms": [round(low * 1e3, 1), round(high * 1e3, 1)],
        "fastest_ms": round(min(taken) * 1e3, 1),
        "seqloom_is": round(statistics.median(b / a for a, b in zip(times["seqloom"], taken, strict=True)), 3),
        "seqloom_is_at_best": round(min(taken) / min(times["seqloom"]), 3),
        "parameters": size,
    }


def rows(
    names: Sequence[str] = (), steps: int = 10, threads: int = 2, systems: Sequence[str] = (), cpu: bool = False
) -> list[dict[str, Any]]:
    """Records of all rows, or of some; they are printed as they come."""
    found = list[dict[str, Any]]()
    for row in names or ROWS:
        for record in race(row, steps, threads, systems, cpu):
            found.append(record)
            print(_said(record), flush=True)
    return found


def _said(record: dict[str, Any]) -> str:
    head = f"{record['row']:20} {record['system']:28}"
    if "missing" in record:
        return f"{head} not measured: {record['missing']}"
    low, high = record["quartiles_ms"]
    return (
        f"{head} {record['tokens_per_second']:7.0f} tokens/s   "
        f"step {record['median_ms']:6.0f} ms ({low:.0f}-{high:.0f})"
        f"   seqloom is {record['seqloom_is']:.2f}x (at best {record['seqloom_is_at_best']:.2f}x)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS), metavar="NAME")
    parser.add_argument("--systems", nargs="+", default=[], metavar="NAME", help="beside seqloom; all if none is named")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-seconds", action="store_true", help="instead of those that passed: on a busy machine")
    parser.add_argument("--note", default="", help="kept with the results: what else the machine did")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.rows[0], options.serve, options.threads)
        return
    torch.set_num_threads(options.threads)
    clock = "seconds of the processor" if options.cpu_seconds else "seconds that passed"
    head = {
        "machine": describe(),
        "clock": clock,
        "steps": options.steps,
        "load": os.getloadavg()[1],
        "note": options.note,
    }
    print(head["machine"], clock, f"load {head['load']:.1f}", options.note, sep="; ")
    found = rows(options.rows, options.steps, options.threads, options.systems, options.cpu_seconds)
    if options.out:
        options.out.write_text(json.dumps({**head, "rows": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
