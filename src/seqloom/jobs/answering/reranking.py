"""Of many answers the one that is most like the others: which are written, and which is taken."""

import math
from collections.abc import Sequence
from dataclasses import replace

from seqloom.generation.rerank import build_likeness, mbr
from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer


def candidates_of(settings: GenerationSettings) -> GenerationSettings:
    """How the answers are written that are compared then."""
    if settings.rerank is None:
        return settings
    sample = settings.sample or Sampling() if settings.rerank.of == "samples" else None
    return settings.model_copy(update={"n_best": settings.rerank.candidates, "sample": sample})


def reranked(answers: Sequence[Answer], settings: GenerationSettings) -> list[Answer]:
    """Each text once, best first; the score is how like the others it is, 0 to 100."""
    if settings.rerank is None:
        return list(answers)
    best = max(answer.log_prob for answer in answers)
    # samples come as often as they are likely
    likely = [math.exp(answer.log_prob - best) for answer in answers] if settings.rerank.of == "n-best" else None
    order = mbr([answer.text for answer in answers], likely, build_likeness(settings.rerank.by))
    once: dict[str, Answer] = {}
    for place, score in order:
        once.setdefault(answers[place].text, replace(answers[place], score=score))
    return list(once.values())[: settings.n_best]
