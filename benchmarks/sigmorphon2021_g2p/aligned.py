"""Letters and their phonemes, one label a letter, so that a tagger can learn them.

    python aligned.py align data/…/hbs_latn_train.tsv.gz data/…/hbs_latn_dev.tsv.gz --out runs/hbs_latn
    python aligned.py letters data/…/hbs_latn_dev.tsv.gz > dev.letters
    python aligned.py phonemes data/…/hbs_latn_dev.tsv.gz > dev.phonemes
    seqloom predict runs/tagger dev.letters | python aligned.py join > dev.said

A letter's label has none, one or some phonemes, in their order: the alignment of Jiampojamarn et al. 2007 with one letter at a
time, by expectation maximisation of p(label | letter). The first file teaches it; the others are aligned by what it learnt.
Differs from theirs: the labels of a letter share a little probability with those that it was never seen with, so that
words of other files align too.

With --passed, a label says whether an accent stands on a phoneme before it. A chain of tags can then know that a word
has one accent, which labels of neighbours alone do not tell.
"""
# L letters  P phonemes

import argparse
import gzip
import math
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

Label = tuple[str, ...]
Pair = tuple[str, Label]

ROUNDS = 12
UNSEEN = 1e-6  # of a label that a letter never had
BETWEEN, NOTHING, PASSED = "+", "_", "'"
ACCENTS = {"\N{COMBINING CARON}", "\N{COMBINING CIRCUMFLEX ACCENT}"}


class Aligner:
    """most: phonemes of a letter."""

    def __init__(self, words: list[tuple[str, Label]], most: int) -> None:
        self.most = most
        self.likely: dict[Pair, float] | None = None
        for _ in range(ROUNDS):
            counts = Counter[Pair]()
            for letters, phonemes in words:
                self._count(letters, phonemes, counts)
            of_letter = defaultdict[str, float](float)
            for (letter, _), count in counts.items():
                of_letter[letter] += count
            self.likely = {pair: max(count / of_letter[pair[0]], UNSEEN) for pair, count in counts.items()}

    def _steps(self, letters: str, phonemes: Label) -> Iterator[tuple[int, int, int, Pair, float]]:
        """Letter by letter: its place, where its phonemes begin and end, the pair and p(label | letter)."""
        L, P = len(letters), len(phonemes)
        for place, letter in enumerate(letters):
            for begin in range(max(0, P - (L - place) * self.most), min(P, place * self.most) + 1):
                for end in range(begin, min(P, begin + self.most) + 1):
                    pair = letter, phonemes[begin:end]
                    yield place, begin, end, pair, self.likely.get(pair, UNSEEN) if self.likely is not None else 1.0

    def _count(self, letters: str, phonemes: Label, counts: Counter[Pair]) -> None:
        """Add how often each pair is expected in all alignments of a word."""
        steps = list(self._steps(letters, phonemes))
        before, behind = defaultdict[tuple[int, int], float](float), defaultdict[tuple[int, int], float](float)
        before[0, 0] = behind[len(letters), len(phonemes)] = 1.0
        for place, begin, end, _, likely in steps:
            before[place + 1, end] += before[place, begin] * likely
        for place, begin, end, _, likely in reversed(steps):
            behind[place, begin] += behind[place + 1, end] * likely
        if total := behind[0, 0]:
            for place, begin, end, pair, likely in steps:
                counts[pair] += before[place, begin] * likely * behind[place + 1, end] / total

    def labels(self, letters: str, phonemes: Label) -> list[Label] | None:
        """The likeliest; None: there are more phonemes than fit."""
        best: dict[tuple[int, int], tuple[float, list[Label]]] = {(0, 0): (0.0, [])}
        for place, begin, end, (_, label), likely in self._steps(letters, phonemes):
            if (place, begin) in best:
                score, labels = best[place, begin]
                score += math.log(likely)
                if (place + 1, end) not in best or best[place + 1, end][0] < score:
                    best[place + 1, end] = score, [*labels, label]
        return best[end][1] if (end := (len(letters), len(phonemes))) in best else None


def written(labels: list[Label], passed: bool) -> list[str]:
    said, behind = list[str](), False
    for label in labels:
        said.append((BETWEEN.join(label) or NOTHING) + (PASSED if passed and behind else ""))
        behind = behind or any(ACCENTS & set(unicodedata.normalize("NFD", phoneme)) for phoneme in label)
    return said


def joined(line: str) -> str:
    """The phonemes of the labels of a word."""
    labels = [label.removesuffix(PASSED) for label in line.split()]
    return " ".join(label.replace(BETWEEN, " ") for label in labels if label != NOTHING)


def read(file: str) -> list[tuple[str, Label]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t") for line in lines)
        return [(word, tuple(phonemes.split(" "))) for word, phonemes in pairs]


def align(files: list[str], out: Path, most: int, passed: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    aligner = Aligner(read(files[0]), most)
    for file in files:
        words = [(letters, aligner.labels(letters, phonemes)) for letters, phonemes in read(file)]
        kept = [(letters, written(labels, passed)) for letters, labels in words if labels is not None]
        rows = ("".join(f"{letter}\t{label}\n" for letter, label in zip(*word, strict=True)) for word in kept)
        path = out / (Path(file).name.split(".")[0] + ".conll")
        path.write_text("\n".join(rows), encoding="utf-8")
        print(f"{path}: {len(kept):,} of {len(words):,} words; the others have more than {most} phonemes a letter")


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    aligned = commands.add_parser("align")
    aligned.add_argument("files", nargs="+")
    aligned.add_argument("--out", type=Path, required=True)
    aligned.add_argument("--most", type=int, default=2)
    aligned.add_argument("--passed", action="store_true")
    for name in "letters", "phonemes":
        commands.add_parser(name).add_argument("file")
    commands.add_parser("join")
    asked = parser.parse_args()
    match asked.command:
        case "align":
            align(asked.files, asked.out, asked.most, asked.passed)
        case "letters":
            print("\n".join(" ".join(letters) for letters, _ in read(asked.file)))
        case "phonemes":
            print("\n".join(" ".join(phonemes) for _, phonemes in read(asked.file)))
        case _:
            print("\n".join(joined(line) for line in sys.stdin))


if __name__ == "__main__":
    main()
