"""Vocabularies that do not suit their data, told before training and by `check`."""

import random
from pathlib import Path

import pytest

from seqloom.data import cache as cache_module
from seqloom.jobs.corpora.build import corpora
from seqloom.jobs.learning import vocabulary_doubts as module
from seqloom.jobs.learning.vocabulary_doubts import vocabulary_doubts
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import loads
from tests.cli.run import run

BPE = ("text.source.kind=bpe", "text.source.size=2000")
WORDS = ("text.source.kind=words", "text.source.size=2000")
LETTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 600)))
LANGUAGE = ("task.kind=language", "model.family=decoder-only")


def told(*changes: str) -> list[str]:
    recipe = loads("[data]\ncorpora = [{ files = ['a.tsv'] }]\n", Recipe, changes)
    return list(vocabulary_doubts(recipe, corpora(recipe)))


def write(count: int, letters: str = "abcdefghijklmnop") -> None:
    """Words without a pattern, and the same backwards."""
    drawn = random.Random(3)
    words = ["".join(drawn.choices(letters, k=6)) for _ in range(count)]
    Path("a.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_pieces_that_are_rare(place: Path, kind: str) -> None:
    write(2000)
    (doubt,) = told(f"text.source.kind={kind}", "text.source.size=2000", "text.shared=true")
    assert doubt == (
        "source and target: half of the 1,978 pieces of several characters are seen at most 2 times in training, which "
        "is little to learn them from; --set text.source.size=400, or --set text.source.kind=characters may do better"
    )


def test_each_setting_is_told_once(place: Path) -> None:
    write(2000)
    assert [doubt.partition(":")[0] for doubt in told(*BPE)] == ["source"]
    other = told(*BPE, "text.target={kind='bpe', size=1000}")
    assert [doubt.partition(":")[0] for doubt in other] == ["source", "target"]
    assert other[1].endswith("; --set text.target.kind=characters may do better")


def test_a_size_that_would_be_tiny_is_not_advised(place: Path) -> None:
    write(300)
    (doubt,) = told(*BPE, "text.shared=true")
    assert doubt.endswith("which is little to learn them from; --set text.source.kind=characters may do better")


def test_pieces_that_are_frequent_enough(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large data no more is read than is needed to know it."""
    monkeypatch.setattr(cache_module, "CHUNK", 300)
    monkeypatch.setattr(module, "AT_ONCE", 1)
    write(1000, "ab")
    read = list[int]()
    real = module._counts
    monkeypatch.setattr(module, "_counts", lambda part, chunks, *rest: read.extend(chunks) or real(part, chunks, *rest))
    assert told("text.source.kind=bpe", "text.source.size=40", "text.shared=true") == []
    assert 0 < len(read) < 10
    assert told("text.source.kind=characters") == []
    write(2000)
    assert told(*BPE, "text.source.dropout=0.1") == []


def test_words_that_do_not_come_again(place: Path) -> None:
    write(500)
    said = "are not in the vocabulary, and are unknown to the model"
    assert told(*WORDS) == [
        f"source: 100% of the words to validate on {said}; --set text.source.kind=bpe, or kind=characters where an "
        "example is one word"
    ]
    drawn = random.Random(4)
    sentences = [" ".join(drawn.choices("abcdefghijkl", k=5)) for _ in range(300)]
    Path("a.tsv").write_text("".join(f"{each}\t{each.upper()}\n" for each in sentences))
    assert told(*WORDS) == []


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_letters_that_are_no_pieces(place: Path, kind: str) -> None:
    """More letters than pieces: fewer pieces would leave out more of them."""
    write(1500, LETTERS)
    small = (f"text.source.kind={kind}", "text.source.size=300")
    (doubt,) = told(*small)
    share = int(doubt.removeprefix("source: ").partition("%")[0])
    assert 20 < share < 80
    assert doubt == (
        f"source: {share}% of the pieces to validate on are letters that the vocabulary does not have, and are unknown "
        "to the model; --set text.source.kind=characters has room for all that training has"
    )
    assert told("text.source.kind=characters") == []


def test_letters_are_as_rare_as_the_data_has_them(place: Path) -> None:
    """6 times each, and hardly a neighbour twice."""
    drawn = random.Random(5)
    words = ["".join(drawn.sample(LETTERS, k=12)) for _ in range(300)]
    Path("a.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    assert told("text.source.kind=bpe", "text.source.size=610") == []
    (rare,) = told("text.source.kind=bpe", "text.source.size=1400")
    assert "pieces of several characters are seen at most" in rare
    assert ".size=" not in rare, "a smaller vocabulary would lose letters"


def test_one_side_does_not_hide_the_other(place: Path) -> None:
    """All words of the source are strange, but the target has many more, and knows them."""
    write(400)
    lines = Path("a.tsv").read_text().splitlines()
    Path("a.tsv").write_text("".join(f"{line.split()[0]}\t{'a b c d ' * 5}\n" for line in lines))
    (doubt,) = told(*WORDS, "text.shared=true")
    assert doubt.startswith("source: 100% of the words to validate on are not in the vocabulary")


def test_running_text(place: Path) -> None:
    write(2000)
    Path("a.tsv").write_text(Path("a.tsv").read_text().replace("\t", " "))
    (rare,) = told(*LANGUAGE, *BPE)
    (strange,) = told(*LANGUAGE, *WORDS)
    assert rare.startswith("the text: half of the 1,9")
    assert strange.startswith("the text: 100% of the words to validate on are not in the vocabulary")


def test_labels_need_few_words(place: Path) -> None:
    write(2000)
    lines = Path("a.tsv").read_text().splitlines()
    Path("a.tsv").write_text("".join(f"{line.split()[0]}\t{n % 2}\n" for n, line in enumerate(lines)))
    classify = ("task.kind=classify", "model.family=encoder-only", "model.output.kind=classes")
    assert told(*classify, *BPE) == []


@pytest.mark.parametrize("verb", [("train", "--out", "r", "--data"), ("check",)])
def test_it_is_said(place: Path, verb: tuple[str, ...]) -> None:
    write(400)
    small = ("model.width=16", "model.depth=1", "training.steps=1", "text.shared=true", *BPE)
    Path("r.toml").write_text("[model]\nmixer = { kind = 'attention', heads = 2 }\n")
    recipe = ("r.toml",) if verb[0] == "train" else ()
    more = () if recipe else ("--recipe", "r.toml")
    ran = run(verb[0], *recipe, *verb[1:], "a.tsv", *more, *(word for each in small for word in ("--set", each)))
    assert ran.code == 0
    assert (
        "pieces of several characters are seen at most once in training, which is little to learn them from; --set"
        in ran.out + ran.error
    )
