"""The way of the data: a file into the cache, the cache into packed batches, and the memory that it takes.

python benchmarks/data_pipeline.py [--gigabytes 0.1] [--folder FOLDER] [--seconds 20]

Each stage is a process of its own, so that its memory is its own. For the flat memory: --gigabytes 5 (takes an hour on
two cores, and about twelve gigabytes of disk in the folder).
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

RECIPE = """
[text]
source = { kind = "bpe", size = 8000 }
shared = true

[model]
width = 256
depth = 3
mixer = { kind = "attention", heads = 4 }
feed_forward = { kind = "dense", width = 1024 }
positions = { kind = "sinusoidal" }
tie = "all"

[training]
batch = 2048
"""
WORDS = 40_000


def write(path: Path, gigabytes: float) -> None:
    """Pairs of made-up sentences: words as frequent as in Zipf's law, lengths lognormal around 13."""
    draw = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = [1 / (place + 1) for place in range(len(letters))]
    words = ["".join(draw.choices(letters, weights, k=draw.randint(2, 9))) for _ in range(WORDS)]
    frequency = [1 / (place + 1) for place in range(WORDS)]
    size, target = 0, gigabytes * 1e9
    with path.open("w", encoding="utf-8") as file:
        while size < target:
            taken = draw.choices(words, frequency, k=200_000)
            lines, place = [], 0
            while place < len(taken) - 300:
                ends = [place := place + max(1, min(100, int(draw.lognormvariate(2.4, 0.6)))) for _ in range(2)]
                start = ends[0] - (ends[1] - ends[0])
                lines.append(f"{' '.join(taken[max(0, start) : ends[0]])}\t{' '.join(taken[ends[0] : ends[1]])}\n")
            size += file.write("".join(lines))


class Memory:
    """The most memory of this process that is not the page cache, watched ten times a second."""

    def __init__(self) -> None:
        self.most = self.begin = _anonymous()
        self.going = True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while self.going:
            self.most = max(self.most, _anonymous())
            time.sleep(0.1)

    def facts(self) -> dict[str, float]:
        self.going = False
        return {
            "MB beyond the start": (max(self.most, _anonymous()) - self.begin) / 1e6,
            "MB resident at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        }


def _anonymous() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024.0 * sum(
        int(line.split()[1]) for line in status.splitlines() if line.startswith(("RssAnon", "RssShmem"))
    )


def stage(name: str, folder: Path, seconds: float) -> dict[str, Any]:
    from seqloom.data.settings import corpora_of
    from seqloom.jobs.corpora import corpora
    from seqloom.jobs.plan import amount, step_seconds, throwaway
    from seqloom.jobs.recipe import Recipe
    from seqloom.settings import loads

    recipe = loads(RECIPE, Recipe)
    files = corpora_of([str(folder / "pairs.tsv")])
    recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"corpora": files})})
    memory, began = Memory(), time.perf_counter()
    data = corpora(recipe)
    ready = time.perf_counter() - began
    if name == "cache":
        tokens = data.tokens("source") + data.tokens("target")
        return {"seconds": ready, "tokens": tokens, "tokens/s": tokens / ready, **memory.facts()}
    order = data.order(2048, 1)
    if name == "train":
        import torch

        seconds = step_seconds(throwaway(recipe.model, data, torch.device("cpu"), None), order)
        much = amount(data)
        return {"target tokens/s": 2048 / seconds * much.tokens / much.larger}
    tokens, batches, began, epoch = 0, 0, time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds:
        for examples in order.epoch(epoch):
            tokens += data.task.batch(examples).tokens
            batches += 1
            if (spent := time.perf_counter() - began) > seconds:
                break
        epoch += 1
    return {"seconds": spent, "batches": batches, "tokens/s": tokens / spent, "epochs": epoch, **memory.facts()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=0.1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--stage")
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(stage(options.stage, options.folder, options.seconds)))
        return
    from machine import describe

    print(describe())
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place)
        write(folder / "pairs.tsv", options.gigabytes)
        print(f"a file of {(folder / 'pairs.tsv').stat().st_size / 1e9:.2f} GB")
        environment = os.environ | {"SEQLOOM_CACHE": str(folder / "cache")}
        for name in ("cache", "cache again", "batches", "train"):
            words = [sys.executable, __file__, "--stage", name.split()[0], "--folder", str(folder)]
            words += ["--seconds", str(options.seconds)]
            ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise SystemExit(ran.stderr)
            facts = json.loads(ran.stdout)
            print(f"{name:12}", "   ".join(f"{what} {value:,.0f}" for what, value in facts.items()), flush=True)


if __name__ == "__main__":
    main()
