"""SCAN as tables for `seqloom train`: a command and its actions a line; 500 of the training part for validation.

python benchmarks/scan/to_tables.py data/scan data/scan_tables
"""

import gzip
import random
import sys
from pathlib import Path

HELD_OUT = 500
SPLITS = ("simple", "length", "addprim_jump", "addprim_turn_left")


def pairs(file: Path) -> list[str]:
    """Lines are: IN: a command OUT: actions."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.strip().removeprefix("IN: ").replace(" OUT: ", "\t") for line in lines]


def write(file: Path, lines: list[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main(data: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        train = pairs(data / f"tasks_train_{split}.txt.gz")
        random.Random(1).shuffle(train)
        write(out / f"{split}.valid.tsv", train[:HELD_OUT])
        write(out / f"{split}.train.tsv", train[HELD_OUT:])
        write(out / f"{split}.test.tsv", pairs(data / f"tasks_test_{split}.txt.gz"))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
