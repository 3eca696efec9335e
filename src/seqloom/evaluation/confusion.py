"""Which label is taken for which."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from seqloom.evaluation.labels import Labels


@dataclass(frozen=True)
class Confusion:
    """How often each label was wanted and another, or itself, was said."""

    names: tuple[str, ...]
    """all that were wanted or said: the most wanted first"""
    counts: Counter[tuple[str, str]]
    """by what was wanted, then by what was said"""

    def wrong(self) -> list[tuple[str, str, int]]:
        """Wanted, said, how often: the most frequent first."""
        each = [(wanted, said, count) for (wanted, said), count in self.counts.items() if wanted != said]
        return sorted(each, key=lambda one: (-one[2], one[0], one[1]))


def confusion(said: Sequence[Labels], wanted: Sequence[Labels]) -> Confusion:
    counts = Counter(
        (right, answer)
        for answers, rights in zip(said, wanted, strict=True)
        for answer, right in zip(answers, rights, strict=True)
    )
    often: Counter[str] = Counter()
    for (right, answer), count in counts.items():
        often[right] += count
        often[answer] += 0
    return Confusion(tuple(sorted(often, key=lambda name: (-often[name], name))), counts)
