"""From an input of any task to what is looked at."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import series_of
from seqloom.data.readings import Readings
from seqloom.generation.contract import Item
from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changes import Change, TokenChange
from seqloom.jobs.answering.answer import Answer, Question
from seqloom.jobs.answering.writing import Prepared, Writer
from seqloom.jobs.looking.forecast import forecast_subject
from seqloom.jobs.looking.labels import labels_subject
from seqloom.jobs.looking.masked import masked_subject
from seqloom.jobs.looking.nodes import node_subject
from seqloom.jobs.looking.subject import Subject
from seqloom.jobs.looking.tokens import piece_id, replace_tokens
from seqloom.jobs.looking.writing import written, written_subject
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.settings.words import show
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import END

__all__ = ["piece_id", "question_of", "replace_tokens", "source_ids", "subject_of"]


def subject_of(
    model: Model,
    given: Any,
    target: Any,
    changes: Sequence[Change],
    tokens: Sequence[TokenChange],
    settings: GenerationSettings,
) -> Subject:
    """changes: within the model. tokens: of what is read, or was written."""
    if model.writer is not None:
        return _written(model, model.writer, question_of(model, given), target, changes, tokens, settings)
    if any(one.side == "target" for one in tokens):
        raise UserError("token: this model writes no tokens; only those of the source can be changed")
    if model.filler is not None:
        return masked_subject(model, model.filler, question_of(model, given), target, changes, tokens, settings)
    if model.labeller is not None:
        return labels_subject(model, model.labeller, question_of(model, given), target, tokens, settings)
    if tokens:
        raise UserError("token: this model reads numbers, not tokens; change the input itself")
    if isinstance(model.task, NodesTask):
        return node_subject(model, model.task, given, target, changes)
    return forecast_subject(model, given, target, changes)


def question_of(model: Model, given: Any) -> Question:
    """As /v1/predict takes it: a text, words, readings; or an object with `source` and wishes, or with `values`."""
    if isinstance(given, Question):
        return given
    if isinstance(given, dict):
        if "values" in given:
            return Question(_series(model, given["values"]))
        known = {"source", "prefix", "must", "must_not", "longest", "id"}
        if "source" not in given or set(given) - known:
            raise UserError(f"input should be text, or an object with a source, but is {show(given)}")
        wishes = given.get("prefix", ""), tuple(given.get("must", ())), tuple(given.get("must_not", ()))
        return replace(question_of(model, given["source"]), prefix=wishes[0], must=wishes[1], must_not=wishes[2])
    if model.reads_series:
        return Question(_series(model, given))
    if isinstance(given, str):
        return Question(given)
    if isinstance(given, list | tuple) and given and all(isinstance(word, str) for word in given):
        return Question(tuple(given))
    raise UserError(f"input should be text, but is {show(given)}")


def _series(model: Model, given: Any) -> Any:
    """values_TC, or values_RCC of a picture."""
    if isinstance(given, np.ndarray):
        return given
    readings = model.task.codecs.source
    if isinstance(readings, Readings) and readings.columns is not None and isinstance(given, list | tuple):
        rows = [series_of(row) for row in given]
        for number, row in enumerate(rows, 1):
            if isinstance(row, Broken):
                raise UserError(f"input: row {number}: {row.what}")
        if len({row.shape for row in rows if not isinstance(row, Broken)}) > 1:
            raise UserError("input: the rows of a picture have as many pixels each")
        return np.stack([row for row in rows if not isinstance(row, Broken)])
    found = series_of(given)
    if isinstance(found, Broken):
        raise UserError(f"input: {found.what}")
    return found


def source_ids(writer: Writer, ids: Sequence[int], tokens: Sequence[TokenChange]) -> tuple[int, ...]:
    """What a writer reads, with its changed tokens, whose places are counted as they are read."""
    reverse = isinstance(writer.task, TranslateTask) and writer.task.settings.reverse
    return replace_tokens(ids, tokens, "source", writer.task.codecs.vocabulary, reverse)


def _written(
    model: Model,
    writer: Writer,
    question: Question,
    target: Any,
    changes: Sequence[Change],
    tokens: Sequence[TokenChange],
    settings: GenerationSettings,
) -> Subject:
    asked = model.prepare(question, 0, settings)
    if asked.item is None:
        raise UserError("input is empty, so that there is nothing to look at")
    asked = replace(asked, item=replace(asked.item, source=source_ids(writer, asked.item.source, tokens)))
    own = [one for one in tokens if one.side == "target"]
    if target is not None:
        answer = _as_answer(writer, str(question.source), target)
        forced = replace_tokens(answer.tokens, own, "target", writer.target)
        return written_subject(writer, asked, _told(writer, asked, answer, forced), forced=True)
    with model.named():
        answer = written(writer, asked, settings, changes)
        if own:
            answer = written(writer, _from(asked, answer, own, writer), settings, changes)
    return written_subject(writer, asked, answer, forced=False)


def _as_answer(writer: Writer, given: str, target: Any) -> Answer:
    if not isinstance(target, str):
        raise UserError(f"target should be text, but is {show(target)}")
    ids = writer.target_ids(given, target)
    ended = bool(ids) and ids[-1] == END
    return Answer(target, tokens=tuple(ids[:-1] if ended else ids), ended=ended)


def _told(writer: Writer, asked: Prepared, answer: Answer, ids: tuple[int, ...]) -> Answer:
    if ids == answer.tokens:
        return answer
    assert asked.item is not None
    return replace(answer, tokens=ids, text=writer.text(asked.item, ids))


def _from(asked: Prepared, answer: Answer, changes: Sequence[TokenChange], writer: Writer) -> Prepared:
    """The same question, where the answer begins as it was, up to the last changed token; the model goes on."""
    # the end mark can become a token too: then the answer goes on behind it
    tokens = (*answer.tokens, END) if answer.ended else answer.tokens
    ids = replace_tokens(tokens, changes, "target", writer.target)
    prefix = ids[: max(one.place for one in changes) + 1]
    if END in prefix:
        raise UserError("token: an end mark within an answer ends it; change another place")
    assert asked.item is not None
    item: Item = replace(asked.item, prefix=prefix, longest=max(asked.item.longest, len(prefix)))
    return replace(asked, item=item)
