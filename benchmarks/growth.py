"""How cost grows: forward and backward of a mixer over ever longer sequences; of a model over batch, width, depth.

    python benchmarks/growth.py [--longest 16384] [--threads 1] [--out benchmarks/results/growth]
    python benchmarks/growth.py --draw benchmarks/results/growth.json docs/cost.svg

Each mixer has a process of its own, so that its memory can be told: the most that it took above what it had before.
Mixers: 128 wide, 4 heads, causal, one sequence. With one thread the processor's time counts, which others on a busy
machine do not lengthen. What would take longer than --patience seconds is left out, and said.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter

from growth_picture import picture
from machine import describe
from seqloom.layers.layout import Padded
from seqloom.layers.mixers import MixerSettings, build_mixer
from seqloom.training.calibration import Trial, step_of, timed, transformer

WIDTH, HEADS = 128, 4
MIXERS: dict[str, dict[str, Any]] = {
    "full attention": {"kind": "attention", "heads": HEADS},
    "window of 128": {"kind": "attention", "heads": HEADS, "window": 128},
    "blocks of 128": {"kind": "attention", "heads": HEADS, "block": 128},
    "compressed 3:1": {"kind": "memory-compressed", "heads": HEADS, "factor": 3},
    "gated linear": {"kind": "gated-linear", "heads": HEADS},
    "LSTM": {"kind": "recurrence", "cell": "lstm"},
    "convolution of 3": {"kind": "convolution", "kernel": 3},
}
MODELS: dict[str, Callable[[int], Trial]] = {
    "batch": lambda rows: Trial(transformer(128, 2), 64 * rows, 64),
    "width": lambda width: Trial(transformer(width, 2), 512, 64),
    "depth": lambda depth: Trial(transformer(128, depth), 512, 64),
}
AXES = {"batch": (1, 2, 4, 8, 16, 32, 64), "width": (64, 128, 256, 512, 1024), "depth": (1, 2, 4, 8, 16)}


def mixer_work(name: str, length: int) -> Callable[[], object]:
    torch.manual_seed(0)
    settings: Any = TypeAdapter(MixerSettings).validate_python(MIXERS[name])
    mixer = build_mixer(settings, WIDTH, causal=True).train()
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    layout = Padded.whole(1, length)

    def run() -> None:
        mixer.zero_grad(set_to_none=True)
        mixer(x, layout)[0].sum().backward()

    return run


def measured(work: Callable[[], object], turns: int) -> tuple[float, int]:
    """Seconds, the best of some turns; bytes at the most, beyond those before."""
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the mark of the most starts again
    first = timed(work)
    best = min((timed(work) for _ in range(turns if first < 3 else 1)), default=first)
    return min(first, best), _status("VmHWM") - before


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def child(name: str, longest: int, patience: float, turns: int) -> None:
    """Lines of JSON: an axis, a value, seconds, bytes; or that the rest is left out."""
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    sizes = AXES[name] if name in AXES else [2**power for power in range(7, 20) if 2**power <= longest]
    ready = step_of(MODELS[name](sizes[0])) if name in AXES else mixer_work(name, 64)
    measured(ready, 1)  # libraries make themselves ready
    for size in sizes:
        work = step_of(MODELS[name](size)) if name in AXES else mixer_work(name, size)
        seconds, memory = measured(work, turns)
        print(json.dumps([size, seconds, memory]), flush=True)
        if seconds > patience:
            return


def grown(name: str, asked: argparse.Namespace) -> list[list[float]]:
    environment = os.environ | {"OMP_NUM_THREADS": str(asked.threads), "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, __file__, "--child", name, "--longest", str(asked.longest)]
    command += ["--patience", str(asked.patience), "--turns", str(asked.turns)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def slope(points: list[list[float]], at: int) -> float:
    """By which power it grows from the last but two to the last."""
    (x0, *y0), (x1, *y1) = points[-3], points[-1]
    return math.log(y1[at] / y0[at]) / math.log(x1 / x0)


def lines(found: dict[str, list[list[float]]]) -> Iterator[str]:
    for name, points in found.items():
        yield name
        for size, seconds, memory in points:
            yield f"  {size:6.0f} {seconds * 1e3:10.1f} ms {memory / 2**20:10.1f} MB"
        if len(points) > 2:
            yield f"  at the end time grows with the power {slope(points, 0):.2f}, memory with {slope(points, 1):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=16_384)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--patience", type=float, default=20.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draw", type=Path, nargs=2, metavar=("JSON", "SVG"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return child(asked.child, asked.longest, asked.patience, asked.turns)
    if asked.draw:
        kept = json.loads(asked.draw[0].read_text(encoding="utf-8"))
        asked.draw[1].write_text(picture({name: kept["found"][name] for name in MIXERS}), encoding="utf-8")
        return None
    torch.set_num_threads(asked.threads)
    print(describe(), flush=True)
    found, said = {}, [describe()]
    for name in (*MIXERS, *AXES):
        found[name] = grown(name, asked)
        some = list(lines({name: found[name]}))
        print("\n".join(some), flush=True)
        said += some
    if asked.out:
        asked.out.with_suffix(".json").write_text(json.dumps({"machine": said[0], "found": found}) + "\n")
        asked.out.with_suffix(".txt").write_text("\n".join(said) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
