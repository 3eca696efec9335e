"""The values of a box with the words that belong to their rows and columns."""

from collections.abc import Sequence

import torch
from torch import Tensor

from seqloom.inspect.values import Axis, Value
from seqloom.jobs.looking.documents import Place, ValueDocument
from seqloom.jobs.looking.subject import Subject

COLUMNS = 1024
"""Of a vocabulary that is larger, only what is likely somewhere is shown."""
LIKELY = 32
EMPTY = "∅"


def value_document(value: Value, subject: Subject) -> ValueDocument:
    matrix, columns = value.matrix, labels(value.columns, value.matrix.shape[-1], subject)
    if value.columns == "vocabulary" and matrix.shape[-1] > COLUMNS:
        kept = _likely(matrix, subject)
        matrix, columns = (
            matrix[..., kept],
            None if columns is None else tuple(columns[place] for place in kept.tolist()),
        )
    rows = labels(value.rows, matrix.shape[-2], subject)
    return ValueDocument(value.name, value.title, rows, columns, value.heads, matrix)


def labels(axis: Axis | None, size: int, subject: Subject) -> tuple[str, ...] | None:
    """What stands at each place of an axis; None: they are features without a name."""
    match axis:
        case None | "inputs":
            return None
        case "source":
            return _texts(subject.source, size, "step")
        case "target":
            return _texts(subject.target, size, "step")
        case "written":
            return _texts(subject.written, size, "step")
        case "vocabulary":
            names = tuple(subject.vocabulary())
            return names if len(names) == size else None
        case "groups":
            return _numbered("group", size)
        case "experts":
            return _numbered("expert", size)


def _texts(every: Sequence[Place], size: int, otherwise: str) -> tuple[str, ...]:
    """Behind a source that is unfolded stand empty steps."""
    if not every or len(every) > size:
        return _numbered(otherwise, size)
    return (*(place.text for place in every), *[EMPTY] * (size - len(every)))


def _numbered(name: str, size: int) -> tuple[str, ...]:
    return tuple(f"{name} {number + 1}" for number in range(size))


def _likely(matrix_TV: Tensor, subject: Subject) -> Tensor:
    """The columns that are among the highest of any row, and those of the goal."""
    rows = matrix_TV.reshape(-1, matrix_TV.shape[-1])
    best = rows.topk(LIKELY, -1).indices.flatten()
    goal = subject.example.goal
    if goal is not None:
        best = torch.cat((best, goal.to(best.device)))
    return best.unique()
