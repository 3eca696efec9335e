"""Letters and their phonemes, one label a letter, so that a tagger can learn them.

    python aligned.py align data/…/hbs_latn_train.tsv.gz data/…/hbs_latn_dev.tsv.gz --out runs/hbs_latn
    python aligned.py letters data/…/hbs_latn_dev.tsv.gz > dev.letters
    python aligned.py phonemes data/…/hbs_latn_dev.tsv.gz > dev.phonemes
    seqloom predict runs/tagger dev.letters | python aligned.py join runs/hbs_latn dev.letters > dev.said

A letter has none, one or some phonemes, in their order: the alignment of Jiampojamarn et al. 2007 with one letter at a
time, by expectation maximisation of p(phonemes | letter). The first file teaches it; the others are aligned by what it
learnt. Differs from theirs: phonemes that a letter never had are a little likely, so that other files align too.

A label says what a letter adds to its own phoneme, the commonest that it has: nothing (=), an accent, length; else it
names the phonemes. So a long a and a long o have the same label. --whole: each label names its phonemes.

Behind an accent, a label also says which (--passed kind), so that a chain of tags knows of it in the rest of the word:
most words have one accent, and what is long hangs on it. --passed accent: only that there was one; nothing: neither.
"""
# L letters  P phonemes

import argparse
import gzip
import json
import math
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

Label = tuple[str, ...]
Passed = Literal["nothing", "accent", "kind"]
Pair = tuple[str, Label]

ROUNDS = 12
UNSEEN = 1e-6  # of a label that a letter never had
BETWEEN, NOTHING, OWN, PASSED, SOME = "+", "_", "=", "'", "!"
ACCENTS = {"\N{COMBINING CARON}", "\N{COMBINING CIRCUMFLEX ACCENT}"}
MARKS = {*ACCENTS, "\N{MODIFIER LETTER TRIANGULAR COLON}"}


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


class Names:
    """How labels are written. own: the phoneme a letter has most, without marks; a label says what is added to it."""

    def __init__(self, own: dict[str, str], passed: Passed = "nothing") -> None:
        self.own, self.passed = own, passed

    @classmethod
    def of(cls, words: list[tuple[str, list[Label]]], passed: Passed) -> "Names":
        counts = defaultdict[str, Counter[str]](Counter)
        for letters, labels in words:
            for letter, label in zip(letters, labels, strict=True):
                counts[letter].update(parted(phoneme)[0] for phoneme in label[:1])
        return cls({letter: count.most_common(1)[0][0] for letter, count in counts.items()}, passed)

    def written(self, letters: str, labels: list[Label]) -> list[str]:
        said, behind = list[str](), ""
        for letter, label in zip(letters, labels, strict=True):
            said.append(self._name(letter, label) + (behind and PASSED + behind))
            marks = "".join(parted(phoneme)[1] for phoneme in label)
            if ACCENTS & set(marks):
                behind = marks if self.passed == "kind" else SOME if self.passed == "accent" else ""
        return said

    def _name(self, letter: str, label: Label) -> str:
        if len(label) == 1 and parted(label[0])[0] == self.own.get(letter):
            return OWN + parted(label[0])[1]
        return BETWEEN.join(label) or NOTHING

    def joined(self, letters: str, labels: str) -> str:
        """The phonemes of the labels of a word; letters and labels with spaces between them."""
        said = list[str]()
        for letter, label in zip(letters.split(" "), labels.split(" "), strict=True):
            label = label.partition(PASSED)[0]
            if label.startswith(OWN):
                said.append(unicodedata.normalize("NFC", self.own.get(letter, letter) + label[len(OWN) :]))
            elif label != NOTHING:
                said += label.split(BETWEEN)
        return " ".join(said)


def parted(phoneme: str) -> tuple[str, str]:
    """Without its accents and length, and these."""
    plain = unicodedata.normalize("NFD", phoneme)
    return "".join(c for c in plain if c not in MARKS), "".join(c for c in plain if c in MARKS)


def read(file: str) -> list[tuple[str, Label]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t") for line in lines)
        return [(word, tuple(phonemes.split(" "))) for word, phonemes in pairs]


def align(files: list[str], out: Path, most: int, whole: bool, passed: Passed) -> None:
    out.mkdir(parents=True, exist_ok=True)
    aligner, names = Aligner(read(files[0]), most), None
    for file in files:
        words = [(letters, aligner.labels(letters, phonemes)) for letters, phonemes in read(file)]
        kept = [(letters, labels) for letters, labels in words if labels is not None]
        names = names or (Names({}, passed) if whole else Names.of(kept, passed))
        rows = ("".join(map("{}\t{}\n".format, letters, names.written(letters, labels))) for letters, labels in kept)
        path = out / (Path(file).name.split(".")[0] + ".conll")
        path.write_text("\n".join(rows), encoding="utf-8")
        print(f"{path}: {len(kept):,} of {len(words):,} words; the others have more than {most} phonemes a letter")
    assert names is not None
    (out / "own.json").write_text(json.dumps(names.own, ensure_ascii=False), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    aligned = commands.add_parser("align")
    aligned.add_argument("files", nargs="+")
    aligned.add_argument("--out", type=Path, required=True)
    aligned.add_argument("--most", type=int, default=2)
    aligned.add_argument("--whole", action="store_true")
    aligned.add_argument("--passed", choices=get_args(Passed), default="kind")
    for name in "letters", "phonemes":
        commands.add_parser(name).add_argument("file")
    join = commands.add_parser("join")
    join.add_argument("folder", type=Path)
    join.add_argument("letters", type=Path)
    asked = parser.parse_args()
    match asked.command:
        case "align":
            align(asked.files, asked.out, asked.most, asked.whole, asked.passed)
        case "letters":
            print("\n".join(" ".join(letters) for letters, _ in read(asked.file)))
        case "phonemes":
            print("\n".join(" ".join(phonemes) for _, phonemes in read(asked.file)))
        case _:
            names = Names(json.loads((asked.folder / "own.json").read_text(encoding="utf-8")))
            words = asked.letters.read_text(encoding="utf-8").splitlines()
            labels = sys.stdin.read().splitlines()
            print("\n".join(map(names.joined, words, labels)))


if __name__ == "__main__":
    main()
