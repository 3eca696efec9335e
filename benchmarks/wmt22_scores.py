"""The official scores of the WMT22 systems, and ours: every difference should be 0.

python benchmarks/wmt22_scores.py

Reads wmt22_systems in $SEQLOOM_SHARED_DATA, else in ../shared/data. Exit code 1: a score differs.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the tests' reader of this data

from machine import describe
from seqloom.evaluation import Bleu, Chrf, total
from tests.evaluation import wmt22


def main() -> int:
    if not wmt22.FOLDER.is_dir():
        print(f"no WMT22 systems in {wmt22.FOLDER}; name the folder above it in SEQLOOM_SHARED_DATA", file=sys.stderr)
        return 2
    metrics = {"bleu": Bleu(), "chrf": Chrf()}
    print(describe())
    for metric in metrics.values():
        print(f"{metric.title}: {metric.signature()}")
    head = (
        f"{'pair':6} {'system':18} {'metric':6} {'refs':4} {'official':>19} {'seqloom':>19} {'difference':>10} seconds"
    )
    print(f"\n{head}")
    worst = 0.0
    for official in wmt22.officials():
        said = wmt22.lines(official.pair, f"hyp.{official.system}")
        wanted = [wmt22.lines(official.pair, f"ref.{name}") for name in official.references]
        began = time.perf_counter()
        metric = metrics[official.metric]
        score = float(metric.score(total(metric.statistics(said, wanted))))
        seconds, difference = time.perf_counter() - began, score - official.score
        worst = max(worst, abs(difference))
        print(
            f"{official.pair:6} {official.system:18} {metric.title:6} {''.join(official.references):4} "
            f"{official.score!r:>19} {score!r:>19} {difference:10g} {seconds:7.2f}"
        )
    print(f"\n{len(wmt22.officials())} scores, largest difference {worst:g}")
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
