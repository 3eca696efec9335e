"""A vocabulary's pieces from texts: the same texts give the same pieces, with any number of threads."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import assert_never

import numpy as np
from tokenizers import Tokenizer, models, trainers

from seqloom.settings import UserError
from seqloom.text.memo import words_of
from seqloom.text.sample import take_sample
from seqloom.text.settings import BPE, Bytes, Characters, PieceSettings, Unigram, Words
from seqloom.text.specials import SPECIALS, UNKNOWN
from seqloom.text.surrogates import whole
from seqloom.text.tokenizer import build_tokenizer, byte_alphabet
from seqloom.text.unigram import learn_unigram

Progress = Callable[[int], None]
_NAMES = list(SPECIALS)
_UNLIMITED = 2**32
_AT_ONCE = 4096  # texts


def learn(settings: PieceSettings, texts: Iterable[str], progress: Progress | None = None) -> Tokenizer:
    """The tokenizer of these settings, with pieces from these texts.

    Characters and words are counted over all texts. BPE and unigram learn from a sample of at most 50 million
    characters: every second, fourth … text where there is more.
    """
    match settings:
        case Bytes():
            model = _singles(byte_alphabet(), known=True)  # nothing to learn: the texts are not read
        case Characters():
            counts = count_characters(settings, _told(texts, progress))
            model = _singles(sorted(common(counts, settings.least)), known=False)
        case Words():
            model = _words(settings, _told(texts, progress))
        case BPE():
            model = _bpe(settings, take_sample(_told(texts, progress)))
        case Unigram():
            words = split(settings, take_sample(_told(texts, progress)))
            model = models.Unigram(learn_unigram(words, settings.size), UNKNOWN)
        case _:
            assert_never(settings)
    return build_tokenizer(settings, model)


def _told(texts: Iterable[str], progress: Progress | None, every: int = 1000) -> Iterator[str]:
    """The texts that have something in them; progress hears how many were read, every thousand and at the end."""
    number, empty = 0, True
    for number, text in enumerate(texts, 1):
        if text and not text.isspace():
            empty = False
            yield whole(text, number)
        if progress is not None and number % every == 0:
            progress(number)
    if progress is not None and number % every:
        progress(number)
    if empty:
        empty_ones = "the only text is empty" if number == 1 else f"all {number} texts are empty"
        what = empty_ones if number else "there are none"
        raise UserError(f"no vocabulary can be made from these texts: {what}; give texts with something in them")


def count_characters(settings: PieceSettings, texts: Iterable[str]) -> Counter[str]:
    """How often each character stands in the texts, once they are normalised. By table, as there may be gigabytes."""
    normaliser = build_tokenizer(settings, models.BPE()).normalizer
    before = normaliser.normalize_str("a").lower().removesuffix("a")
    lower, keep = settings.normalise.lowercase, settings.normalise.spaces == "keep"

    def normal(text: str) -> str:
        if not (keep and text.isascii()):
            return normaliser.normalize_str(text)
        return before + (text.lower() if lower else text)  # the forms leave ASCII as it is

    counts = np.zeros(sys.maxunicode + 1, np.int64)
    rest = iter(texts)
    while part := list(islice(rest, _AT_ONCE)):
        found = np.bincount(np.frombuffer("".join(map(normal, part)).encode("utf-32-le"), np.uint32))
        counts[: len(found)] += found
    return Counter({chr(code): int(counts[code]) for code in np.flatnonzero(counts)})


def common(counts: Counter[str], least: int = 1, most: int | None = None) -> list[str]:
    """The most frequent first; of equally frequent ones the lower first."""
    ordered = sorted(counts, key=lambda item: (-counts[item], item))
    return [item for item in ordered if counts[item] >= least][:most]


def _singles(pieces: list[str], known: bool) -> models.Model:
    """Each character for itself: BPE without merges."""
    vocabulary = {piece: id for id, piece in enumerate(_NAMES + pieces)}
    return models.BPE(vocab=vocabulary, merges=[], unk_token=None if known else SPECIALS[UNKNOWN])


def _words(settings: Words, texts: Iterable[str]) -> models.Model:
    tokenizer = build_tokenizer(settings, models.WordLevel(unk_token=SPECIALS[UNKNOWN]))
    trainer = trainers.WordLevelTrainer(
        vocab_size=settings.size or _UNLIMITED,
        min_frequency=settings.least,
        special_tokens=_NAMES,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.model


def split(settings: BPE | Unigram, texts: list[str]) -> Counter[str]:
    """How often each word stands in the texts, as the tokenizer splits them."""
    chunks: Counter[str] = Counter()
    for text in texts:
        chunks.update(words_of(text))
    tokenizer = build_tokenizer(settings, models.Unigram())  # of which only the splitting is used
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(chunk)):
            words[word] += count
    return words


def _bpe(settings: BPE, texts: list[str]) -> models.Model:
    # Given whole, as the trainer leaves to chance which of equally rare characters it drops.
    room = settings.size - len(_NAMES)
    alphabet = byte_alphabet() if settings.bytes else common(count_characters(settings, texts), most=room)
    tokenizer = build_tokenizer(settings, models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=settings.size,
        special_tokens=_NAMES,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    learnt = json.loads(tokenizer.to_str())["model"]
    merges = [(left, right) for left, right in learnt["merges"]]
    return models.BPE(vocab=learnt["vocab"], merges=merges, unk_token=None if settings.bytes else SPECIALS[UNKNOWN])
