"""English text to pretrain on, of the training parts of several sets: a sentence a line, an empty line ends a document.

    python benchmarks/pretraining/english_text.py data text.txt

Words and signs stand apart, as treebanks have them ("do n't", "word ,"), so that a tagger's words have the same pieces.
Only training parts are read. Left out: sentences in which WikiText has put <unk>.
"""

import gzip
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
SIGNS = re.compile(r"n't\b|'(?:s|m|d|re|ve|ll)\b|\w+(?:[.,]\d+)*(?=n't\b)|\d+(?:[.,]\d+)*|\w+|[^\w\s]", re.IGNORECASE)
LONG = 3  # words of the shortest sentence that is kept


def apart(text: str) -> str:
    """Words and signs with a space between them."""
    return " ".join(SIGNS.findall(re.sub(r"(\w)(n't)\b", r"\1 \2", text)))


def wikipedia(data: Path) -> Iterator[list[str]]:
    with lzma.open(data / "wikilead" / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            article = json.loads(line)
            parts = (article["lead"], *article["body"].split("¶"))
            yield [apart(sentence) for part in parts for sentence in SENTENCE.split(part)]


def wikitext(data: Path) -> Iterator[list[str]]:
    with gzip.open(data / "wikitext2" / "wiki.train.tokens.gz", "rt", encoding="utf-8") as file:
        for line in file:
            text = re.sub(r" @([-,.])@ ", r" \1 ", line.strip())
            text = re.sub(r"(\d) ([,.]) (\d)", r"\1\2\3", text)
            if text and not text.startswith("="):
                yield [part for part in re.split(r"(?<= [.!?]) ", text) if "<unk>" not in part]


def treebank(data: Path) -> Iterator[list[str]]:
    """The words alone, without their tags."""
    words, sentences = list[str](), list[str]()
    with gzip.open(data / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz", "rt", encoding="utf-8") as file:
        for line in file:
            if line.startswith("# newdoc") and sentences:
                yield sentences
                sentences = []
            fields = line.split("\t")
            if fields[0].isdigit():
                words.append(fields[1])
            elif not line.strip() and words:
                sentences.append(" ".join(words))
                words = []
    yield sentences


def reviews(data: Path) -> Iterator[list[str]]:
    """SST-2's sentences without their labels, each a document."""
    with gzip.open(data / "text_classification" / "stsa.binary.train.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield [line.strip().partition(" ")[2]]


def everyday(data: Path) -> Iterator[list[str]]:
    """Tatoeba's English sentences, each once."""
    with gzip.open(data / "tatoeba_deu_eng" / "deu.txt.gz", "rt", encoding="utf-8") as file:
        seen = dict.fromkeys(line.split("\t")[0] for line in file)
    yield from ([apart(text)] for text in seen)


def lines(documents: Iterable[list[str]]) -> Iterator[str]:
    for document in documents:
        kept = [sentence for sentence in document if len(sentence.split()) >= LONG]
        if kept:
            yield from kept
            yield ""


def main(data: str, out: str) -> None:
    with Path(out).open("w", encoding="utf-8") as file:
        for part in (wikipedia, wikitext, treebank, reviews, everyday):
            words = 0
            for line in lines(part(Path(data))):
                words += len(line.split())
                file.write(line + "\n")
            print(f"{part.__name__}: {words:,} words", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
