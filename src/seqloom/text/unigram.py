"""The pieces of a unigram model, by expectation maximisation and pruning (Kudo 2018, section 3.2).

Our own, as the trainer in tokenizers gives other pieces every time. Differences from SentencePiece: plain maximum
likelihood in place of its sparse prior, and the loss of a piece counts its expected uses.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqloom.text.lattice import Floats, Ints, Lattice
from seqloom.text.specials import SPECIALS

CHARACTERS = 500_000  # of different words, the most frequent first; rarer words hardly count
LONGEST = 16  # characters of a piece
SEEDS = 100_000  # pieces to begin with
SHRINK = 0.75  # the share of pieces that is left after each round
ROUNDS = 2  # of expectation maximisation between prunings
LEAST = 0.5  # a piece that is used less often goes
DIGITS = 6  # of what decides; beyond, another processor may differ


def learn_unigram(words: Counter[str], size: int) -> list[tuple[str, float]]:
    """Pieces with their log-probabilities: the special ones, then the likeliest first."""
    room = size - len(SPECIALS)
    corpus = _corpus(words, room)
    pieces = _seed(corpus, max(SEEDS, 4 * size))
    more = True
    while more:
        expected = _maximise(corpus, pieces)
        more = len(pieces.starts) > room
        _prune(pieces, expected, max(room, int(len(pieces.starts) * SHRINK)))
    texts = [corpus.text[at : at + n] for at, n in zip(pieces.starts, pieces.lengths, strict=True)]
    scored = zip(texts, np.round(pieces.scores, DIGITS).tolist(), strict=True)
    return [(name, 0.0) for name in SPECIALS] + sorted(scored, key=lambda item: (-item[1], item[0]))


@dataclass(frozen=True)
class _Corpus:
    """Different words in a row, with how often each is there."""

    text: str
    starts: Ints
    lengths: Ints
    counts: Floats


@dataclass
class _Pieces:
    """Each piece by a place where it stands; `at` tells the pieces from each place on, by length (-1: none)."""

    starts: Ints
    lengths: Ints
    scores: Floats
    at: NDArray[np.int32]

    def keep(self, chosen: Ints) -> None:
        number = np.full(len(self.starts) + 1, -1, np.int32)  # the last is for -1
        number[chosen] = np.arange(len(chosen))
        self.at = number[self.at]
        self.starts, self.lengths, self.scores = self.starts[chosen], self.lengths[chosen], self.scores[chosen]


def _corpus(words: Counter[str], room: int) -> _Corpus:
    """The most frequent words. Characters beyond the room for pieces are unknown, and words are cut there."""
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    rare = sorted(characters, key=lambda one: (-characters[one], one))[room:]
    cut = str.maketrans(dict.fromkeys(rare, rare[0])) if rare else {}
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in word.translate(cut).split(rare[0]) if rare else (word,):
            parts[part] += count
    del parts[""]
    ordered = sorted(parts, key=lambda part: (-parts[part], part))
    lengths = np.fromiter(map(len, ordered), np.int64, len(ordered))
    taken = max(1, int(np.searchsorted(np.cumsum(lengths), CHARACTERS, "right")))
    ordered, lengths = ordered[:taken], lengths[:taken]
    # the alphabet stands at the end, so that no character is missing as its words are rare
    alphabet = sorted(set("".join(parts)) - set("".join(ordered)))
    ordered, lengths = ordered + alphabet, np.concatenate([lengths, np.ones(len(alphabet), np.int64)])
    counts = np.array([parts[part] or 1 for part in ordered], np.float64)
    return _Corpus("".join(ordered), np.cumsum(lengths) - lengths, lengths, counts)


def _seed(corpus: _Corpus, most: int) -> _Pieces:
    """All characters, and the substrings that are there twice or more, the ones that cover most text.

    A substring is frequent only if it is without its last character: each length goes on from the one before.
    """
    codes = np.frombuffer(corpus.text.encode("utf-32-le"), np.uint32)
    counts = np.repeat(corpus.counts, corpus.lengths)
    left = np.repeat(corpus.starts + corpus.lengths, corpus.lengths) - np.arange(len(codes))
    _, first, character = np.unique(codes, return_index=True, return_inverse=True)
    at = np.full((len(codes), LONGEST), -1, np.int32)
    at[:, 0] = character
    starts, lengths = [first], [np.ones(len(first), np.int64)]
    uses = [np.bincount(character, counts)]
    total = alphabet = len(first)
    here = np.arange(len(codes))
    for length in range(2, LONGEST + 1):
        here = here[left[here] >= length]
        keys = at[here, length - 2].astype(np.int64) * alphabet + character[here + length - 1]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        use = np.bincount(which, counts[here], len(first))
        often = use >= 2
        number = np.where(often, total + np.cumsum(often) - 1, -1)
        at[here, length - 1] = number[which]
        starts.append(here[first[often]])
        lengths.append(np.full(int(often.sum()), length))
        uses.append(use[often])
        total += int(often.sum())
        here = here[often[which]]
    all_lengths = np.concatenate(lengths)
    cover = np.concatenate(uses) * all_lengths
    pieces = _Pieces(np.concatenate(starts), all_lengths, np.log(cover / cover.sum()), at)
    best = np.argsort(-cover[alphabet:], kind="stable")[: max(most - alphabet, 0)] + alphabet
    pieces.keep(np.concatenate([np.arange(alphabet), np.sort(best)]))
    return pieces


def _maximise(corpus: _Corpus, pieces: _Pieces) -> Floats:
    """Scores under which the words are likelier; the expected uses come back."""
    lattice = Lattice(pieces.at, corpus.starts, corpus.lengths)
    for _ in range(ROUNDS):
        expected = np.round(lattice.expected(pieces.scores, corpus.counts), DIGITS)
        expected = np.maximum(expected, 10.0**-DIGITS)
        pieces.scores = np.log(expected / expected.sum())
    return expected


def _prune(pieces: _Pieces, expected: Floats, most: int) -> None:
    """Leave out the pieces whose loss lowers the likelihood least; characters stay, so that all can be cut."""
    single = pieces.lengths == 1
    instead = np.zeros(len(single))
    longer = np.flatnonzero(~single)
    if not len(longer):
        return
    without = Lattice(pieces.at, pieces.starts[longer], pieces.lengths[longer], whole=False)
    instead[longer] = without.best(pieces.scores)
    loss = np.where(single, np.inf, np.round(expected * (pieces.scores - instead), DIGITS))
    loss[~single & (expected < LEAST)] = -np.inf
    order = np.argsort(-loss, kind="stable")[:most]
    pieces.keep(np.sort(order[loss[order] > -np.inf]))
