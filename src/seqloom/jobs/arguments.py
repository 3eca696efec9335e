"""What Python programs hand over. Python checks no types, and what comes of a wrong one much later is hard to read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import series_of
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Question, text_fault
from seqloom.settings import UserError
from seqloom.settings.words import counted, nearest

Pair = tuple[str, str | Answer | None]


def texts_of(texts: object) -> list[str | Question]:
    """One or several, as a list."""
    if isinstance(texts, str | Question):
        return [texts]
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping | bytes):
        raise TypeError(f"predict takes a text, a seqloom.Question or a list of them, not {type(texts).__name__}")
    many = list(texts)
    for number, text in enumerate(many, 1):
        if not isinstance(text, str | Question):
            raise TypeError(f"text {number}: should be a text or a seqloom.Question, but is {type(text).__name__}")
    return many


def series_of_arguments(series: object, picture: bool) -> tuple[list[Question], bool]:
    """One array or several, and whether it is a single one. picture: it has rows, columns and channels."""
    if isinstance(series, np.ndarray) and series.ndim <= (3 if picture else 2):
        grey = picture and series.ndim == 2
        return [Question(series[..., None] if grey else series)], True
    if isinstance(series, Question):
        return [series], True
    if isinstance(series, str | bytes | Mapping) or not isinstance(series, Iterable):
        raise TypeError(f"predict takes an array of readings or a list of them, not {type(series).__name__}")
    return [question for one in series for question in series_of_arguments(_as_array(one), picture)[0]], False


def _as_array(series: Any) -> Any:
    """Lists of lists of numbers are arrays too."""
    if not isinstance(series, list | tuple):
        return series
    found = series_of(series)
    if isinstance(found, Broken):
        raise UserError(f"{found.what}; a list of series is a list of arrays, or of lists of steps")
    return found


def pairs_of(
    source: str | Sequence[str], target: str | Answer | Sequence[str | Answer] | None
) -> tuple[list[Pair], bool]:
    """What is to be scored, and whether it is a single one. One source goes with each of many targets, and likewise."""
    sources = [source] if isinstance(source, str) else list(source)
    targets = [target] if target is None or isinstance(target, str | Answer) else list(target)
    one = isinstance(source, str) and (target is None or isinstance(target, str | Answer))
    if isinstance(source, str):
        sources = sources * len(targets)
    elif target is None or isinstance(target, str | Answer):
        targets = targets * len(sources)
    if len(sources) != len(targets):
        raise UserError(
            f"{counted(len(sources), 'source')}, but {counted(len(targets), 'target')}; each source needs one"
        )
    pairs = list(zip(sources, targets, strict=True))
    for number, pair in enumerate(pairs, 1):
        _refuse_no_pair(pair, number)
    return pairs, one


def refuse_arguments(known: Iterable[str], other: Mapping[str, Any]) -> None:
    """Arguments that `predict` does not have: settings are said otherwise."""
    for name, value in other.items():
        if name in GenerationSettings.model_fields:
            fix = f'it is a setting: changes=["generation.{name}={value}"]'
        else:
            near = nearest(name, known)
            fix = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
        raise TypeError(f"predict has no argument {name!r}; {fix}")


def _refuse_no_pair(pair: Pair, number: int) -> None:
    source, target = pair
    if not isinstance(source, str):
        raise TypeError(f"text {number}: should be a text, but is {type(source).__name__}")
    if target is not None and not isinstance(target, str | Answer):
        raise TypeError(f"text {number}: its target should be a text or an Answer, but is {type(target).__name__}")
    for text in source, target:
        wrong = text_fault(text) if isinstance(text, str) else None
        if wrong:
            raise UserError(f"text {number}: {wrong}")
