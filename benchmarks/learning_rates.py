"""Which learning rate suits which model, batch and number of steps: by what jobs/deciding/rates.py was found.

python benchmarks/learning_rates.py --pairs TRAIN VALID --text FILE [--cpu 12] [--gpu 4] [--out FILE] [--quick]

Each run is a process of its own: the small ones on single cores, the larger ones on a GPU. The table gives the best
validation loss of each, and lines of JSON go to --out. On an H200 with 16 cores half of the 72 runs take ten minutes;
--seconds ends it there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# where, width, depth, tokens of a batch, steps: one thing is changed at a time
POINTS = (
    ("cpu", 128, 2, 1024, 1200),
    ("cpu", 128, 2, 4096, 300),
    ("cpu", 128, 2, 512, 1200),
    ("cpu", 128, 2, 1024, 300),
    ("cpu", 64, 2, 1024, 600),
    ("cuda", 256, 4, 4096, 1200),
    ("cuda", 256, 4, 1024, 1200),
    ("cuda", 512, 6, 4096, 600),
    ("cuda", 128, 2, 1024, 4800),
)
RATES = (0.005, 0.01, 0.02, 0.04)
OTHERS = 0.3  # the rate of what Muon does not train, as a share of Muon's
HEADS = {64: 4, 128: 4, 256: 8, 512: 8}

Run = dict[str, Any]


def runs(kinds: list[str], quick: bool) -> Iterator[Run]:
    for device, width, depth, batch, steps in POINTS[:1] if quick else POINTS:
        for kind in kinds:
            for rate in RATES:
                yield {
                    "kind": kind,
                    "device": device,
                    "width": width,
                    "depth": depth,
                    "batch": batch,
                    "steps": 20 if quick else steps,
                    "rate": rate,
                    "others": OTHERS * rate,
                }


def one(run: Run, files: dict[str, list[str]]) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--one", json.dumps(run | {"files": files[run["kind"]], "out": folder})]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return run | {"error": done.stderr[-500:]}
    return run | json.loads(done.stdout.splitlines()[-1])


def train(run: Run) -> Run:
    import seqloom

    changes = [
        f"model.width={run['width']}",
        f"model.depth={run['depth']}",
        f"model.mixer.heads={HEADS[run['width']]}",
        "model.dropout=0.1",
        f"training.device={run['device']}",
        f"training.batch={run['batch']}",
        f"training.steps={run['steps']}",
        f"training.validate_every={max(1, run['steps'] // 4)}",
        "training.spike=0",
        f"training.optimiser.rate={run['rate']}",
        f"training.optimiser.others.rate={run['others']}",
    ]
    began = time.monotonic()
    data, *valid = run["files"]
    done = seqloom.train(data=data, valid=valid, out=run["out"] + "/run", changes=changes, view="none")
    return {"loss": done.scores["loss"], "seconds": time.monotonic() - began}


def table(results: list[Run]) -> None:
    print(f"{'':6}{'width':>6}{'batch':>7}{'steps':>6}" + "".join(f"{rate:>9}" for rate in RATES))
    rows: dict[tuple[Any, ...], dict[float, Run]] = {}
    for run in results:
        rows.setdefault((run["kind"], run["width"], run["batch"], run["steps"]), {})[run["rate"]] = run
    for (kind, width, batch, steps), found in sorted(rows.items()):
        losses = "".join(f"{found.get(rate, {}).get('loss', float('nan')):9.4f}" for rate in RATES)
        print(f"{kind:6}{width:6}{batch:7}{steps:6}{losses}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", nargs=2)
    parser.add_argument("--text", nargs=1)
    parser.add_argument("--cpu", type=int, default=12, help="processes on a core each")
    parser.add_argument("--gpu", type=int, default=4, help="processes that share the GPU")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="a few steps each, to see that it runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(train(json.loads(asked.one))))
        return
    began = time.monotonic()
    os.environ["OMP_NUM_THREADS"] = "1"
    files = {kind: given for kind in ("pairs", "text") if (given := getattr(asked, kind))}
    wanted = list(runs(list(files), asked.quick))
    for kind in files:  # the cache is made once
        made = one(next(run for run in wanted if run["kind"] == kind) | {"steps": 1}, files)
        assert "error" not in made, made["error"]
    results = list[Run]()

    def take(run: Run) -> None:
        if time.monotonic() - began > asked.seconds:
            return
        results.append(one(run, files))
        if asked.out:
            asked.out.write_text("".join(json.dumps(line) + "\n" for line in results))

    with ThreadPoolExecutor(asked.cpu) as cores, ThreadPoolExecutor(asked.gpu) as gpu:
        for run in wanted:
            (cores if run["device"] == "cpu" else gpu).submit(take, run)
    table(results)
    for run in results:
        if "error" in run:
            print(run)


if __name__ == "__main__":
    main()
