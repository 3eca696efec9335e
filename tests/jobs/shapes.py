"""Files of each shape, made up."""

import random
from pathlib import Path

WORDS = ["good", "bad", "film", "book", "very", "not", "so", "nice", "dull", "plot", "actor"]


def _sentences(count: int, seed: int = 1) -> list[list[str]]:
    draw = random.Random(seed)
    return [draw.choices(WORDS, k=draw.randint(3, 7)) for _ in range(count)]


def write_labels(path: Path, count: int = 200) -> Path:
    lines = [f"{' '.join(words)}\t{'pos' if 'good' in words else 'neg'}\n" for words in _sentences(count)]
    path.write_text("".join(lines))
    return path


def write_sentences(path: Path, count: int = 200) -> Path:
    path.write_text("".join(f"{' '.join(words)}\t{' '.join(words[::-1])}\n" for words in _sentences(count)))
    return path


def write_text(path: Path, count: int = 200) -> Path:
    path.write_text("".join(" ".join(words) + "\n" for words in _sentences(count)))
    return path


def write_paragraphs(path: Path, count: int = 200) -> Path:
    """A sentence a line, and an empty line behind every eighth."""
    lines = [" ".join(words) + "\n" * (1 + (at % 8 == 7)) for at, words in enumerate(_sentences(count))]
    path.write_text("".join(lines))
    return path


def write_conllu(path: Path, count: int = 100) -> Path:
    rows = []
    for words in _sentences(count):
        rows += [f"{at}\t{word}\t_\t{'A' if len(word) < 4 else 'N'}" + "\t_" * 6 for at, word in enumerate(words, 1)]
        rows.append("")
    path.write_text("\n".join(rows) + "\n")
    return path
