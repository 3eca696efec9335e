"""Small runs for tests: their data, their recipe, and a child process that can be killed."""

import multiprocessing
import os
import random
import signal
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

PAIRS = """
[text]
source = { kind = "characters" }
shared = true

[model]
width = 16
depth = 1
mixer = { kind = "attention", heads = 2 }
feed_forward = { kind = "dense", width = 32 }
positions = { kind = "sinusoidal" }
dropout = 0.1
tie = "all"

[training]
steps = 40
batch = 200
validate_every = 8
"""


def write_pairs(path: Path, count: int = 300, seed: int = 1) -> Path:
    """Words and the same backwards."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 6))) for _ in range(count)]
    path.write_text("".join(f"{word}\t{word[::-1]}\n" for word in words), encoding="utf-8")
    return path


def write_recipe(path: Path, more: str = "", text: str = PAIRS) -> Path:
    path.write_text(text + more, encoding="utf-8")
    return path


def _child(folder: str, words: tuple[str, ...], kill_at: int | None) -> None:
    import torch

    from seqloom.cli import main
    from seqloom.store import atomic

    os.chdir(folder)
    torch.set_num_threads(1)
    sys.stderr = sys.stdout = Path("output.txt").open("a", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    if kill_at is not None:
        real, calls = atomic.to_disk, 0

        def to_disk(path: Path) -> None:
            nonlocal calls
            calls += 1
            if calls == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            real(path)

        atomic.to_disk = to_disk
    sys.argv = ["seqloom", *words]
    main()


def child(folder: Path, *words: str, kill_at: int | None = None) -> BaseProcess:
    """`seqloom …` in a process of its own, begun; with kill_at it kills itself before its n-th write to the disk."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["seqloom.jobs.train"])
    process = context.Process(target=_child, args=(str(folder), words, kill_at))
    process.start()
    return process
