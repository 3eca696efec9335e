"""The same run with fast paths and without: does it end with the same score?

    python benchmarks/fast_and_plain.py OUT [--recipes NAME…] --data FILES --valid FILES --test SOURCE TARGET
        --set training.steps=N [--set a.b=c]…

Each recipe is trained twice with the same seed, data and number of steps, and each model writes answers to the test its
own way: once as always, with whatever kernels this machine has, and once by the equations as they are written
(`layers/paths.py`). The model that was trained fast is written with by the equations, too, to tell training and writing
apart. Losses differ in their last digits from the first step on, and runs drift apart as two seeds do; what counts is
whether scores lie within each other's intervals.
The same command again goes on where it stopped.
"""

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import seqloom
from machine import describe
from seqloom.layers.paths import only_plain

WAYS = ("fast", "plain")
LONG = "training.minutes=600"  # steps are to end a run, also where one way is slow


def by(way: str) -> AbstractContextManager[None]:
    return only_plain() if way == "plain" else nullcontext()


def answers(run: Path, way: str, sources: Sequence[str]) -> Path:
    """What a run writes in this way, a line each, as a file beside it."""
    out = run.with_name(f"{run.name}-written-{way}.txt")
    if not out.exists():
        with by(way):
            said = seqloom.load(run).predict(list(sources))
        out.write_text("".join(f"{answer.text}\n" for answer in said), encoding="utf-8")
    return out


def told(name: str, asked: argparse.Namespace) -> None:
    runs = {way: asked.out / f"{name}-{way}" for way in WAYS}
    for way, run in runs.items():
        with by(way):
            seqloom.train(name, data=asked.data, valid=asked.valid, out=run, changes=[LONG, *asked.set])
    source, target = asked.test
    lines = source.read_text(encoding="utf-8").splitlines()
    files = {(of, way): answers(runs[of], way, lines) for of in WAYS for way in WAYS}
    print(f"\n{name}: trained and written with, in turn: fast, plain; fast, fast; plain, plain")
    order = [("fast", "plain"), ("fast", "fast"), ("plain", "plain")]
    print(seqloom.evaluate(hypotheses=[files[which] for which in order], references=target, sources=source))
    for of in WAYS:
        fast, plain = (files[of, way].read_text(encoding="utf-8").splitlines() for way in WAYS)
        same = sum(one == other for one, other in zip(fast, plain, strict=True))
        print(f"the model that was trained {of} says the same both ways to {same} of {len(lines)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--recipes", nargs="+", default=["transformer-base-small", "rnn-attention-additive-small"])
    for name in ("data", "valid"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True)
    parser.add_argument("--test", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C")
    asked = parser.parse_args()
    print(describe())
    for name in asked.recipes:
        told(name, asked)


if __name__ == "__main__":
    main()
