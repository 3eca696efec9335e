"""What every system of a row is asked to do. All of it follows from seeds, so that all get the same."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Pair = tuple[list[int], list[int]]

FIRST = 5  # the first token that is no mark
PAD, BEGIN, END = (
    1,
    1,
    2,
)  # the marks of seqloom's vocabularies; peers fill rows up with the begin mark, which none reads
MEAN, SPREAD, LONGEST = 13, 0.6, 100


@dataclass(frozen=True)
class Size:
    """Of a Transformer."""

    width: int
    depth: int
    heads: int
    vocabulary: int


SMALL, BASE, LANGUAGE = Size(256, 3, 4, 8192), Size(512, 6, 8, 32_768), Size(384, 6, 6, 70)


@dataclass(frozen=True)
class TrainPairs:
    """Steps over batches of like lengths. tokens: of a batch's targets, about."""

    size: Size
    dropout: float
    tokens: int
    mean: int = MEAN


@dataclass(frozen=True)
class TrainLanguage:
    size: Size
    dropout: float
    rows: int = 8
    context: int = 256


@dataclass(frozen=True)
class Write:
    """Sentences in, sentences out. batch 1: one after the other."""

    size: Size
    sentences: int
    beam: int
    batch: int


@dataclass(frozen=True)
class Sample:
    """Texts that go on from a prompt by chance, each with so many new tokens."""

    size: Size
    streams: int
    tokens: int
    prompt: int = 16
    context: int = 256


Job = TrainPairs | TrainLanguage | Write | Sample


@dataclass(frozen=True)
class Told:
    """What a system did in a turn. tokens: that were written, or learnt from. texts: what it wrote."""

    tokens: int
    loss: float | None = None
    texts: Sequence[str] | None = None


Turn = Callable[[int], Told]


class UnableError(Exception):
    """A system cannot do a job here, for a reason that is told."""


def sentences(count: int, vocabulary: int, seed: int, mean: int = MEAN) -> list[Pair]:
    """Random tokens, with lengths as sentences have them; the lengths of a pair go together, with some noise."""
    draw = random.Random(seed)
    centre = math.log(mean) - SPREAD**2 / 2
    made = []
    for _ in range(count):
        source = min(LONGEST, max(1, round(draw.lognormvariate(centre, SPREAD))))
        target = min(LONGEST, max(1, round(source * draw.lognormvariate(0, 0.15))))
        made.append(tuple([*(draw.randrange(FIRST, vocabulary) for _ in range(n)), END] for n in (source, target)))
    return [(source, target) for source, target in made]


def pair_batches(job: TrainPairs, count: int) -> list[list[Pair]]:
    """Of like lengths, as everybody trains."""
    many = sentences(8 * count * job.tokens // job.mean, job.size.vocabulary, seed=1, mean=job.mean)
    cut: list[list[Pair]] = [[]]
    for pair in sorted(many, key=lambda pair: (len(pair[1]), len(pair[0]))):
        if sum(len(target) for _, target in cut[-1]) + len(pair[1]) > job.tokens:
            cut.append([])
        cut[-1].append(pair)
    return random.Random(2).sample(cut[:-1], count)


def windows(job: TrainLanguage, count: int) -> list[Tensor]:
    """One token more than the context each: what is read, and what comes next."""
    seeded = torch.Generator().manual_seed(1)
    shape = job.rows, job.context + 1
    return [torch.randint(FIRST, job.size.vocabulary, shape, generator=seeded) for _ in range(count)]


def lines(job: Write) -> list[str]:
    pairs = sentences(job.sentences, job.size.vocabulary, seed=3)
    return [" ".join(map(word, source[:-1])) for source, _ in pairs]


def word(token: int) -> str:
    """Written so that a vocabulary, which sorts them, numbers them alike."""
    return f"w{token:05}"


def sorted_batches(texts: Sequence[str], batch: int) -> list[list[int]]:
    """Numbers of sentences of like lengths, as whoever calls a library puts them together."""
    order = sorted(range(len(texts)), key=lambda at: texts[at].count(" "))
    return [order[i : i + batch] for i in range(0, len(order), batch)]


def token_batches(job: Write) -> list[list[list[int]]]:
    """The same sentences as tokens, for who is not asked in words."""
    rows = [source for source, _ in sentences(job.sentences, job.size.vocabulary, seed=3)]
    return [[rows[at] for at in part] for part in sorted_batches(lines(job), job.batch)]


def padded(rows: Sequence[Sequence[int]], fill: int, device: torch.device | str = "cpu") -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)


def given(rows: Sequence[list[int]]) -> list[list[int]]:
    """What a decoder reads to say each token of the rows."""
    return [[BEGIN, *row[:-1]] for row in rows]
