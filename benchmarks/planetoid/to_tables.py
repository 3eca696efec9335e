"""Cora and Citeseer as tables that `seqloom train gat` reads: a header, and the splits' usual names.

    python benchmarks/planetoid/to_tables.py data/planetoid/cora.nodes.tsv.gz cora.nodes.tsv

The file of nodes has the columns id, split, label and the numbers of its features, without a header; the file of edges
(two ids a line) is read as it is.
"""

import gzip
import sys
from pathlib import Path


def main(source: Path, out: Path) -> None:
    with gzip.open(source, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    with out.open("w", encoding="utf-8") as file:
        print("id\tsplit\tlabel\tfeatures", file=file)
        for line in lines:
            print(line, file=file)
    print(f"{out}: {len(lines):,} nodes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
