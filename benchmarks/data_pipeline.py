"""The way of the data: a file into the cache, the cache into packed batches, and the memory that it takes.

python benchmarks/data_pipeline.py [--gigabytes 0.1] [--folder FOLDER] [--seconds 20]

Each stage is a process of its own, so that its memory is its own. For the flat memory: --gigabytes 5 (took 23
minutes on two busy cores, and eight gigabytes of disk in the folder).
"""

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

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
TAKEN = 400_000  # words drawn at once
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def write(path: Path, gigabytes: float) -> None:
    """Pairs of made-up sentences: words as frequent as in Zipf's law, lengths lognormal around 13.

    To be quick, each sentence stands in four pairs, each time with another one and not far from the other three. Of a
    hundred words four are rare, a number or letters that hardly come again, so that what remembers words meets a new
    one at every hundredth word and has to forget some.
    """
    draw = np.random.default_rng(0)
    words = np.array(_words(draw, WORDS, 2, 9), object)
    frequency = 1 / np.arange(1, WORDS + 1)
    # as many tickets for a word as it is frequent
    tickets = np.repeat(np.arange(WORDS), np.ceil(frequency * WORDS / 4).astype(int))
    size, target = 0, gigabytes * 1e9
    with path.open("wb") as file:
        while size < target:
            taken = words[tickets[draw.integers(0, len(tickets), TAKEN)]]
            rare = [*map(str, draw.integers(0, 10**6, TAKEN // 50)), *_words(draw, TAKEN // 50, 5, 14)]
            taken[draw.integers(0, TAKEN, len(rare))] = rare
            ends = np.cumsum(np.clip(draw.lognormal(2.4, 0.6, TAKEN // 10), 1, 100).astype(int))
            flat = taken.tolist()
            texts = [" ".join(flat[begin:end]) for begin, end in itertools.pairwise(ends[ends <= TAKEN].tolist())]
            for _ in range(4):
                mixed = np.array(texts, object)[draw.permutation(len(texts))].tolist()
                pairs = map("\t".join, zip(mixed[::2], mixed[1::2], strict=False))
                size += file.write(("\n".join(pairs) + "\n").encode())


def _words(draw: np.random.Generator, count: int, shortest: int, longest: int) -> list[str]:
    ends = np.cumsum(draw.integers(shortest, longest + 1, count))
    places = np.minimum(draw.exponential(7, ends[-1]), len(LETTERS) - 1).astype(int)
    letters = "".join(np.array(list(LETTERS))[places])
    return [letters[begin:end] for begin, end in itertools.pairwise([0, *ends.tolist()])]


class Memory:
    """Memory that is not the page cache, of this process and of those that it started, watched four times a second."""

    def __init__(self) -> None:
        self.begin = _anonymous("self")
        self.own, self.each, self.all = list[float](), list[float](), list[float]()
        self.going = True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while self.going:
            children = [_anonymous(process) for process in _children()]
            self.own.append(_anonymous("self") - self.begin)
            self.each.append(max(children, default=0.0))
            self.all.append(sum(children))
            time.sleep(0.25)

    def facts(self) -> dict[str, Any]:
        self.going = False
        self.thread.join()
        facts: dict[str, Any] = {"MB beyond the start": max(self.own), "over time": _tenths(self.own)}
        if any(self.all):
            facts |= {"MB of a worker": max(self.each), "MB of all workers": max(self.all)}
            facts |= {"workers over time": _tenths(self.all)}
        return facts | {"MB resident at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def _tenths(values: list[float]) -> str:
    """The most in each tenth of the time: flat, if they do not rise."""
    return " ".join(f"{part.max():.0f}" for part in np.array_split(values, min(10, len(values))))


def _children() -> list[str]:
    tasks = Path("/proc/self/task").iterdir()
    return [process for task in tasks for process in _read(task / "children").split()]


def _anonymous(process: str) -> float:
    """In MB; nothing if the process is gone."""
    lines = _read(Path(f"/proc/{process}/status")).splitlines()
    return sum(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def stage(name: str, folder: Path, seconds: float) -> dict[str, Any]:
    from seqloom.data.settings import corpora_of
    from seqloom.jobs.corpora.build import corpora, vocabularies
    from seqloom.jobs.deciding.plan import amount, step_seconds, throwaway
    from seqloom.jobs.recipes.recipe import Recipe
    from seqloom.settings import loads

    recipe = loads(RECIPE, Recipe)
    files = corpora_of([str(folder / "pairs.tsv")])
    recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"corpora": files})})
    memory, began = Memory(), time.perf_counter()
    if name == "vocabulary":
        lines = sum(count.examples for count in vocabularies(recipe).counts)
        spent = time.perf_counter() - began
        return {"seconds": spent, "lines": lines, "lines/s": lines / spent, **memory.facts()}
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
        began = time.perf_counter()
        write(folder / "pairs.tsv", options.gigabytes)
        size, spent = (folder / "pairs.tsv").stat().st_size, time.perf_counter() - began
        print(f"a file of {size / 1e9:.2f} GB, written in {spent:.0f} s; load {load()}", flush=True)
        environment = os.environ | {"SEQLOOM_CACHE": str(folder / "cache")}
        for name in ("vocabulary", "cache", "cache again", "batches", "train"):
            words = [sys.executable, __file__, "--stage", name.split()[0], "--folder", str(folder)]
            words += ["--seconds", str(options.seconds)]
            ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise SystemExit(ran.stderr)
            facts = json.loads(ran.stdout)
            shown = [f"{what} {value if isinstance(value, str) else f'{value:,.0f}'}" for what, value in facts.items()]
            print(f"{name:12}", "   ".join(shown), f"  load {load()}", flush=True)
        kept = sum(file.stat().st_size for file in (folder / "cache" / "examples").rglob("*.arrow"))
        print(f"the cache takes {kept / 1e9:.2f} GB")


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
