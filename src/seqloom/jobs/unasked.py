"""A model that answers no questions: it labels the nodes of a graph, all at once."""

from collections.abc import Iterator, Sequence

from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answer import Answer, Question, Scored
from seqloom.jobs.writing import Prepared
from seqloom.settings import UserError

FIX = "a model of a graph labels its nodes, and reads no text: seqloom predict RUN, or seqloom.jobs.node_labels"


class Unasked:
    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        raise UserError(FIX)

    def answer(
        self, asked: Sequence[Prepared], settings: GenerationSettings, attention: bool = False
    ) -> Iterator[tuple[int, list[Answer]]]:
        raise UserError(FIX)

    def score(self, pairs: Sequence[tuple[str, str | Answer | None]]) -> list[Scored]:
        raise UserError(FIX)
