"""The first 90 % of the characters for training, the last 10 % for validation, as nanoGPT splits them.

python benchmarks/tinyshakespeare/split.py data/tinyshakespeare/input.txt data/shakespeare
"""

import sys
from pathlib import Path

SHARE = 0.9


def main(file: Path, out: Path) -> None:
    text = file.read_text(encoding="utf-8")
    end = int(len(text) * SHARE)
    out.mkdir(parents=True, exist_ok=True)
    for name, part in ("train", text[:end]), ("valid", text[end:]):
        (out / f"{name}.txt").write_text(part, encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
