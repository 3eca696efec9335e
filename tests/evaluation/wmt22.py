"""The systems of the WMT22 general task with their official scores, where they lie beside this project.

The folder is $SEQLOOM_SHARED_DATA, else ../shared/data. It is not a part of the project, as its licence is not stated.
"""

import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = (
    Path(os.environ.get("SEQLOOM_SHARED_DATA", Path(__file__).parents[2].parent / "shared" / "data")) / "wmt22_systems"
)
METRICS = ("bleu", "chrf")


@dataclass(frozen=True)
class Official:
    """A score that was published: of a system, against reference A, B or all of them."""

    pair: str
    system: str
    metric: str
    references: tuple[str, ...]
    score: float


def officials() -> list[Official]:
    """Those whose files are here."""
    return [official for official in _all() if _file(official.pair, f"hyp.{official.system}").exists()]


def _all() -> Iterator[Official]:
    for line in (FOLDER / "automatic-scores.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        pair, system, _, _, name, score = line.split("\t")
        metric, _, references = name.partition("-")
        if metric in METRICS:
            names = "AB" if references == "all" else references
            there = tuple(each for each in names if _file(pair, f"ref.{each}").exists())
            yield Official(pair, system, metric, there, float(score))


@cache
def lines(pair: str, what: str) -> list[str]:
    with gzip.open(_file(pair, what), "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def _file(pair: str, what: str) -> Path:
    return FOLDER / f"generaltest2022.{pair}.{what}.{pair.partition('-')[2]}.gz"
