"""What a reader of many answers should know of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from seqloom.jobs.answering.answer import Answer
from seqloom.settings.words import counted

BAD = (
    "line could not be answered: an empty answer stands in its place",
    "lines could not be answered: an empty answer stands in the place of each",
)
CUT = (
    "line was cut: it is longer than what the model reads (its learned positions, or data.longest_source)",
    "lines were cut: they are longer than what the model reads (its learned positions, or data.longest_source)",
)
UNENDED = (
    "answer was cut, as it did not end (generation.longest)",
    "answers were cut, as they did not end (generation.longest)",
)
UNMET = (
    "answer does not hold all that it must, or holds what it must not: none was found that is as wished",
    "answers do not hold all that they must, or hold what they must not: none was found that is as wished",
)
STRANGE = (
    "line has what the vocabulary does not have: the model reads <unk> instead",
    "lines have what the vocabulary does not have: the model reads <unk> instead",
)


@dataclass
class Counts:
    """What a reader of the answers should know."""

    bad: int = 0
    cut: int = 0
    unended: int = 0
    unmet: int = 0
    strange: int = 0

    def add(self, answer: Answer, strange: bool = False) -> None:
        """strange: something in the line is not in the vocabulary."""
        self.strange += strange
        self.cut += bool(answer.cut)
        self.unended += not answer.ended
        self.unmet += bool(answer.unmet)

    def notes(self) -> Iterator[str]:
        if self.bad:
            yield counted(self.bad, *BAD)
        if self.strange:
            yield counted(self.strange, *STRANGE)
        if self.cut:
            yield counted(self.cut, *CUT)
        if self.unended:
            yield counted(self.unended, *UNENDED)
        if self.unmet:
            yield counted(self.unmet, *UNMET)
