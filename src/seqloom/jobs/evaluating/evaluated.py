"""What is evaluated: systems with their answers, what was wanted, and what it was wanted for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.evaluation.build import LABEL, LabelMetric, MetricName, label_metric, text_metric
from seqloom.evaluation.confusion import Confusion, confusion
from seqloom.evaluation.labels import Labels
from seqloom.evaluation.metric import Metric
from seqloom.evaluation.report import Counts
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.evaluation.slices import Slice, by_length, by_unknown
from seqloom.settings import UserError
from seqloom.settings.words import counted

FEW_WORDS = 2  # on average: texts are counted in characters then, as words and dates are
Note = Callable[[str], None]


@dataclass(frozen=True)
class Evaluated:
    """As texts: what each system said, and one or more sets of references."""

    systems: tuple[str, ...]
    answers: tuple[Sequence[str], ...]
    references: tuple[Sequence[str], ...]
    sources: Sequence[str] | None = None
    unknown: Sequence[int] | None = None
    """how many words of each source the model does not know"""
    counts: tuple[Counts, ...] = ()
    """what was counted already, as only the model can count it"""
    labels: tuple[Sequence[Labels], ...] | None = None
    """what each system said, and the references as the last, where texts are labels; None: divide texts at spaces"""
    steps: Sequence[int] | None = None
    """of each series, where the texts are numbers"""
    sizes: tuple[str, Sequence[int]] | None = None
    """of the sources, where they are no texts, or of music: what is counted, and how many each has"""
    unit: tuple[str, str] = ("example", "examples")
    """what one of the references is, and several"""
    files: tuple[str, ...] = ()
    """of the systems, then of the references, for messages"""

    def right(self) -> tuple[NDArray[np.bool_], ...]:
        """Which answers of each system are one of their references."""
        wanted = list(zip(*self.references, strict=True))
        return tuple(
            np.array([text in texts for text, texts in zip(said, wanted, strict=True)], bool) for said in self.answers
        )

    def slices(self) -> list[Slice]:
        found = list[Slice]()
        if self.steps is not None:
            found = _several(by_length(self.steps, "reference steps"))
        elif self.labels is None and self.sizes is None:
            found = _by_length(self.references[0], "reference")
        if self.sizes is not None:
            found += _several(by_length(self.sizes[1], self.sizes[0]))
        elif self.sources is not None:
            found += _by_length(self.sources, "source")
        if self.unknown is not None and any(self.unknown):
            found += by_unknown(self.unknown, "unknown in the source")
        return found


def confusions(what: Evaluated) -> list[tuple[str, Confusion]]:
    """Of systems that name the class of each example."""
    if what.labels is None or any(len(labels) != 1 for labels in what.labels[-1]):
        return []
    *said, wanted = what.labels
    return [(system, confusion(each, wanted)) for system, each in zip(what.systems, said, strict=True)]


def _by_length(texts: Sequence[str], side: str) -> list[Slice]:
    words = [len(text.split()) for text in texts]
    few = sum(words) < FEW_WORDS * len(words)
    lengths = [len(text) for text in texts] if few else words
    return _several(by_length(lengths, f"{side} {'characters' if few else 'words'}"))


def _several(slices: list[Slice]) -> list[Slice]:
    return slices if len(slices) > 1 else []


def count(
    what: Evaluated,
    names: Sequence[MetricName],
    settings: EvaluationSettings,
    begun: Callable[[str], None] = lambda title: None,
) -> Iterator[Counts]:
    """The statistics of every metric that a system has."""
    for name in names:
        if name in LABEL:
            yield _count_labels(what, name)
            continue
        known = next((count for count in what.counts if count.metric.name == name), None)
        if known is not None:
            yield from [known] if known.known() else []
            continue
        metric: Metric[Any] = text_metric(name, settings)  # type: ignore[arg-type]  # the others are above
        begun(metric.title)
        yield Counts(
            metric, tuple(metric.statistics(said, what.references) for said in what.answers), right=what.right()
        )


def _count_labels(what: Evaluated, name: LabelMetric) -> Counts:
    if len(what.references) != 1:
        raise UserError(f"--metrics {name}: labels have one reference, not {len(what.references)}")
    *said, wanted = what.labels or _divided(what, name)
    metric = label_metric(name, wanted, (labels for system in said for labels in system))
    # a graph's nodes have labels alone, and no texts
    right = tuple(
        np.array([[*one] == [*other] for one, other in zip(labels, wanted, strict=True)], bool) for labels in said
    )
    return Counts(metric, tuple(metric.statistics(labels, [wanted]) for labels in said), right=right)


def _divided(what: Evaluated, name: str) -> tuple[Sequence[Labels], ...]:
    wanted = [text.split() for text in what.references[0]]
    said = [[text.split() for text in answers] for answers in what.answers]
    for number, rows in enumerate(said):
        for row, (one, other) in enumerate(zip(rows, wanted, strict=True)):
            if len(one) != len(other):
                answer, reference = what.files[number], what.files[len(what.systems)]
                raise UserError(
                    f"{answer}:{row + 1}: {counted(len(one), 'label')}, but {reference}:{row + 1} has {len(other)}; "
                    f"{name} compares label by label (whole lines: --metrics exact)"
                )
    return (*said, wanted)
