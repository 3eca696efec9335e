"""A recipe on a graph with several seeds: the mean test accuracy and its 95 % interval.

    python benchmarks/planetoid/seeds.py cora.nodes.tsv cora.edges.tsv --seeds 20 --out runs/cora

Each run stops by its own validation nodes; the test nodes are scored once a run, by the model that did best there.
"""

import argparse
import math
import statistics
import time

import seqloom

T = {5: 2.776, 10: 2.262, 15: 2.145, 20: 2.093}
"""Student's t of so many runs less one, two-sided 95 %."""


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("files", nargs=2)
    words.add_argument("--recipe", default="gat")
    words.add_argument("--seeds", type=int, default=20)
    words.add_argument("--first", type=int, default=1)
    words.add_argument("--out", default="runs/seeds")
    words.add_argument("--set", nargs="*", default=[])
    asked = words.parse_args()
    found: list[float] = []
    for seed in range(asked.first, asked.first + asked.seeds):
        began = time.monotonic()
        changes = [f"training.seed={seed}", *asked.set]
        run = seqloom.train(
            asked.recipe, data=asked.files, out=f"{asked.out}-{seed}", changes=changes, view="none", force=True
        )
        found.append(run.test_scores["accuracy"])
        seconds, valid = time.monotonic() - began, run.scores["accuracy"]
        print(f"{seed}\tvalid {valid:.2f}\ttest {found[-1]:.2f}\t{run.place.step} steps\t{seconds:.0f} s", flush=True)
    if len(found) > 1:
        deviation = statistics.stdev(found)
        t = next((value for count, value in sorted(T.items(), reverse=True) if len(found) >= count), 4.303)
        half = t * deviation / math.sqrt(len(found))
        print(f"mean {statistics.mean(found):.2f} ± {half:.2f} (95 %), deviation {deviation:.2f}, {len(found)} seeds")


if __name__ == "__main__":
    main()
