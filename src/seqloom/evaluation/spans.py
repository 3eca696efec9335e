"""F1 of the spans that tags mark: names in a sentence, slots of a request."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from seqloom import __version__
from seqloom.evaluation.labels import Average, Counted, Labels
from seqloom.evaluation.metric import Statistics, only
from seqloom.settings import UserError

OUTSIDE = "O"
# BILOU's names for the last and the only word of a span
_PREFIX = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}


class Span(NamedTuple):
    kind: str
    begin: int
    end: int
    """the last word"""


class SpanF1(Counted):
    """A span is right if its type and both ends are.

    lenient (as conlleval, and seqeval by default): I- and E- tags that continue nothing begin a span, and a span ends
    where the next tag does not continue it. strict: only well-formed spans count, B I* of one type or, where the
    references have E or S tags, B I* E and S.
    """

    def __init__(
        self, kinds: Iterable[str], average: Average = "micro", strict: bool = False, ends: bool = False
    ) -> None:
        super().__init__(kinds, average)
        self.strict, self.ends = strict, ends
        self.name = "span-f1" + ("-strict" if strict else "")
        self.title = "span F1" + (" (strict)" if strict else "")

    def statistics(self, hypotheses: Sequence[Labels], references: Sequence[Sequence[Labels]]) -> Statistics:
        rows = []
        for tags, goal in zip(hypotheses, only(references, self.name), strict=True):
            said, wanted = self.spans(tags), self.spans(goal)
            right = [(0, span.kind) for span in said & wanted]
            rows.append([*right, *((1, span.kind) for span in said), *((2, span.kind) for span in wanted)])
        return self._table(rows)

    def spans(self, tags: Labels) -> set[Span]:
        parts = [parted(tag) for tag in tags]
        return set(_strict(parts, self.ends) if self.strict else _lenient(parts))

    def signature(self, references: int = 1) -> str:
        mode = f"strict-{'bioes' if self.ends else 'bio'}" if self.strict else "lenient"
        return f"nrefs:{references}|average:{self.average}|mode:{mode}|version:seqloom-{__version__}"


def parted(tag: str) -> tuple[str, str]:
    """`B-PER` as its prefix and its type; the prefixes of BILOU as those of BIOES."""
    prefix, _, kind = tag.partition("-")
    if tag == OUTSIDE or prefix in _PREFIX:
        return (OUTSIDE, "") if tag == OUTSIDE else (_PREFIX[prefix], kind)
    raise UserError(f"{tag!r} marks no span: such tags are O, or begin with B-, I-, E- or S-; use accuracy or f1-macro")


def marks_spans(tags: Iterable[str]) -> bool:
    """Whether all of them are O or of the form B-X."""
    different = set(tags) - {OUTSIDE}
    return bool(different) and all(tag[:1] in _PREFIX and tag[1:2] == "-" for tag in different)


def kinds_of(tags: Iterable[str]) -> set[str]:
    return {parted(tag)[1] for tag in set(tags) - {OUTSIDE}}


def has_ends(tags: Iterable[str]) -> bool:
    """BIOES or BILOU, and not BIO."""
    return any(parted(tag)[0] in ("E", "S") for tag in set(tags))


def _lenient(tags: Sequence[tuple[str, str]]) -> Iterator[Span]:
    begin, before = 0, (OUTSIDE, "")
    for at, (prefix, kind) in enumerate([*tags, (OUTSIDE, "")]):
        goes_on = prefix in ("I", "E") and before[0] in ("B", "I") and before[1] == kind
        if before[0] != OUTSIDE and not goes_on:
            yield Span(before[1], begin, at - 1)
        if not goes_on:
            begin = at
        before = (prefix, kind)


def _strict(tags: Sequence[tuple[str, str]], ends: bool) -> Iterator[Span]:
    begin: int | None = None  # of the span that is open
    for at, (prefix, kind) in enumerate([*tags, (OUTSIDE, "")]):
        goes_on = begin is not None and prefix in ("I", "E") and tags[begin][1] == kind
        if begin is not None and not goes_on:
            if not ends:
                yield Span(tags[begin][1], begin, at - 1)
            begin = None
        if begin is not None and prefix == "E":
            yield Span(kind, begin, at)
            begin = None
        elif prefix == "B":
            begin = at
        elif prefix == "S" and ends:
            yield Span(kind, at, at)
