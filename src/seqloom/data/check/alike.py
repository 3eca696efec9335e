"""Labels that look the same to a reader, and are different classes."""

from collections import defaultdict
from collections.abc import Iterable
from unicodedata import normalize

from seqloom.data.check.tally import Kind

ALIKE = Kind(
    "warning",
    "labels that differ only by case, spaces or Unicode form",
    "they are classes of their own: write them alike, unless that is meant",
)


def alike(labels: Iterable[str]) -> list[list[str]]:
    """Groups of them, the smallest label first."""
    groups = defaultdict[str, list[str]](list)
    for label in sorted(labels):
        groups[" ".join(normalize("NFKC", label).casefold().split())].append(label)
    return [group for group in groups.values() if len(group) > 1]
