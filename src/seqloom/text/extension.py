"""More pieces for a vocabulary, from other texts; those that it has keep their ids.

A text that needs no new piece is cut as before. Only a new merge, which comes behind all others, can join what stood
apart.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, assert_never

from tokenizers import Tokenizer

from seqloom.settings import UserError
from seqloom.text.learning import common, count_characters, learn, split
from seqloom.text.sample import take_sample
from seqloom.text.settings import BPE, Bytes, Characters, PieceSettings, Unigram, Words
from seqloom.text.specials import SPECIALS
from seqloom.text.unigram import learn_unigram

LEAST = 2  # a merge that would be used once is worth no piece

Pair = tuple[str, str]


def extended(settings: PieceSettings, text: str, texts: Iterable[str], more: int) -> str:
    """A tokenizer's JSON with so many pieces of these texts besides, at most: the most frequent ones."""
    content = json.loads(text)
    model = content["model"]
    match settings:
        case Bytes():
            raise UserError("text.extend: a vocabulary of bytes knows all there are; leave it out")
        case Characters():
            counts = count_characters(settings, texts)
            _append(model["vocab"], common(counts, settings.least), more)
        case Words():
            own = settings.model_copy(update={"size": None})
            ids: dict[str, int] = learn(own, texts).get_vocab()
            _append(model["vocab"], sorted(ids, key=ids.__getitem__), more)
        case BPE():
            _merge(settings, content, take_sample(texts), more)
        case Unigram():
            known = {piece for piece, _ in model["vocab"]}
            found = learn_unigram(split(settings, take_sample(texts)), settings.size)
            model["vocab"] += [[piece, score] for piece, score in found if piece not in known][:more]
        case _:
            assert_never(settings)
    return Tokenizer.from_str(json.dumps(content, ensure_ascii=False)).to_str()


def _append(ids: dict[str, int], pieces: Iterable[str], more: int) -> None:
    new = [piece for piece in pieces if piece not in ids][:more]
    ids.update(zip(new, range(len(ids), len(ids) + len(new)), strict=True))


def _merge(settings: BPE, content: dict[str, Any], texts: list[str], more: int) -> None:
    """Characters first, then merges as they would have been learnt next."""
    ids, most = content["model"]["vocab"], len(content["model"]["vocab"]) + more
    if not settings.bytes:
        _append(ids, common(count_characters(settings, texts)), more)
    tokenizer = Tokenizer.from_str(json.dumps(content))
    words = split(settings, texts)
    rows = [[token.value for token in tokenizer.model.tokenize(word)] for word in words]
    for pair in _next_merges(rows, list(words.values())):
        if len(ids) >= most:
            break
        content["model"]["merges"].append(list(pair))
        ids.setdefault("".join(pair), len(ids))


def _next_merges(rows: list[list[str]], counts: list[int]) -> Iterator[Pair]:
    """The most frequent neighbours, which are joined before the next are looked for; of equals the lower first."""
    totals, where = Counter[Pair](), dict[Pair, set[int]]()

    def tally(row: int, sign: int) -> Iterator[Pair]:
        for pair in pairwise(rows[row]):
            if not set(pair) & set(SPECIALS):
                totals[pair] += sign * counts[row]
                where.setdefault(pair, set()).add(row)
                yield pair

    changed = {pair for row in range(len(rows)) for pair in tally(row, 1)}
    heap = sorted((-totals[pair], pair) for pair in changed)
    while heap and -heap[0][0] >= LEAST:
        total, best = heappop(heap)
        if -total != totals[best]:  # it has changed since, and stands elsewhere too
            continue
        yield best
        changed = set()
        for row in where.pop(best):
            changed.update(tally(row, -1))
            rows[row] = _joined(rows[row], best)
            changed.update(tally(row, 1))
        for pair in changed - {best}:
            heappush(heap, (-totals[pair], pair))


def _joined(pieces: list[str], pair: Pair) -> list[str]:
    made, at = list[str](), 0
    while at < len(pieces):
        both = tuple(pieces[at : at + 2]) == pair
        made.append("".join(pair) if both else pieces[at])
        at += 1 + both
    return made
