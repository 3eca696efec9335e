"""TREC as tables of a question and its class: all training questions, four fifths and a fifth of them, the test.

    python benchmarks/text_classification/split_trec.py data/text_classification data/trec

Files: train.tsv, part.tsv, fifth.tsv, test.tsv. Equal questions are in the same part.
"""

import gzip
import random
import sys
from collections.abc import Iterable
from pathlib import Path

SEED = 1


def rows(lines: Iterable[str]) -> list[tuple[str, str]]:
    """`class question` a line."""
    return [(text, label) for label, _, text in (line.rstrip("\n").partition(" ") for line in lines)]


def main(data: Path, out: Path) -> None:
    with gzip.open(data / "TREC.train.all.gz", "rt", encoding="utf-8") as file:
        train = rows(file)
    test = rows((data / "TREC.test.all").read_text(encoding="utf-8").splitlines())
    texts = sorted({text for text, _ in train})
    random.Random(SEED).shuffle(texts)
    fifth = set(texts[: len(texts) // 5])
    parts = {
        "train": train,
        "part": [row for row in train if row[0] not in fifth],
        "fifth": [row for row in train if row[0] in fifth],
        "test": test,
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, some in parts.items():
        (out / f"{name}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in some), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
