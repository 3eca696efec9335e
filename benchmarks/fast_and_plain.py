"""The same run with fast paths and without: does it end with the same score?

    python benchmarks/fast_and_plain.py OUT [--recipe NAME] [--seeds 1 2 3] --data FILES --valid FILES
        --test SOURCE TARGET --set training.steps=N [--set a.b=c]…

A recipe is trained twice with each seed, for the same number of steps: once as always, with whatever kernels this
machine has, and once by the equations as they are written (`layers/paths.py`). Each model writes answers to the test
its own way, and the other way, too, which tells training and writing apart. Losses differ in their last digits from
the first step on, and dropout is drawn otherwise, so that two runs of one seed drift apart as two seeds do: what
counts is whether the ways differ by more than seeds do. The same command again goes on where it stopped.
"""

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import mean, stdev

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


def told(asked: argparse.Namespace) -> None:
    source, target = asked.test
    lines = source.read_text(encoding="utf-8").splitlines()
    written: dict[str, list[Path]] = {way: [] for way in WAYS}
    for seed in asked.seeds:
        for way in WAYS:
            run = asked.out / f"{asked.recipe}-{way}-{seed}"
            changes = [LONG, f"training.seed={seed}", *asked.set]
            with by(way):
                seqloom.train(asked.recipe, data=asked.data, valid=asked.valid, out=run, changes=changes)
            files = {how: answers(run, how, lines) for how in WAYS}
            written[way].append(files[way])
            both = zip(*(files[how].read_text(encoding="utf-8").splitlines() for how in WAYS), strict=True)
            same = sum(one == other for one, other in both)
            print(f"{run.name}: both ways of writing say the same to {same} of {len(lines)}", flush=True)
    found = seqloom.evaluate(hypotheses=[*written["fast"], *written["plain"]], references=target, sources=source)
    print(found)
    for way, files in written.items():
        scores = [found.scores[file.name]["bleu"] for file in files]
        spread = f", deviation {stdev(scores):.2f}" if len(scores) > 1 else ""
        print(f"{way}: BLEU {mean(scores):.2f} in the mean of {len(scores)}{spread}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--recipe", default="transformer-base-small")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    for name in ("data", "valid"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True)
    parser.add_argument("--test", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C")
    asked = parser.parse_args()
    print(describe())
    told(asked)


if __name__ == "__main__":
    main()
