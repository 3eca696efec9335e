"""How much of the examples a vocabulary that was taken over cannot read."""

from collections.abc import Iterator, Sequence

import numpy as np

from seqloom.data.cache import Cache
from seqloom.settings import UserError
from seqloom.tasks import Codecs, Known
from seqloom.text import SEPARATOR, UNKNOWN, Vocabulary

TOLD, REFUSED = 0.05, 0.5
"""Shares of unknown tokens."""
CHUNKS = 16
"""Of each corpus that are looked at: a million tokens tell enough."""


def refuse_unread(names: str, codecs: Codecs, known: Known, parts: Sequence[Cache]) -> Iterator[str]:
    """Notes; a UserError, where most tokens are unknown. known: what was taken over, of which alone this is asked."""
    taken = {"source": known.source, "target": known.target or known.source}
    for side, codec in ("source", codecs.source), ("target", codecs.target):
        if not isinstance(codec, Vocabulary) or taken[side] is None:
            continue
        share = _share(side, parts)
        if share < TOLD:
            continue
        own = side if "source" in parts[0].columns else "text"
        what = f"{names}: {share:.0%} of the tokens of its {own} are unknown to the vocabulary of the run that it"
        fix = "let pieces of these texts join it: --set text.extend=1000"
        if share > REFUSED:
            raise UserError(
                f"{what} begins from, so that there is little to learn from; {fix}, give the recipe a [text] of its "
                "own, or leave --from out"
            )
        yield f"{what} begins from; {fix}"


def _share(side: str, parts: Sequence[Cache]) -> float:
    unknown = every = 0
    for cache in parts:
        count = len(cache.rows)
        chunks = np.unique(np.linspace(0, count - 1, min(count, CHUNKS)).astype(int)).tolist() if count else []
        for examples in cache.read(chunks) if side in cache.columns else ():
            values = examples.columns[side].values_N
            unknown += int((values == UNKNOWN).sum())
            every += int(((values == UNKNOWN) | (values > SEPARATOR)).sum())  # marks are no text; letters of words are
    return unknown / max(every, 1)
