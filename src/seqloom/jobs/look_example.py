"""From an input of any task to what is looked at."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from seqloom.generation.contract import Item
from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changes import Change, TokenChange
from seqloom.jobs.answer import Answer, Question
from seqloom.jobs.look_subject import Subject
from seqloom.jobs.look_writing import written, written_subject
from seqloom.jobs.model import Model
from seqloom.jobs.writing import Prepared, Writer
from seqloom.settings import UserError
from seqloom.settings.words import show
from seqloom.text import END, Vocabulary


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
        return _written(model, model.writer, given, target, changes, tokens, settings)
    raise NotImplementedError


def _written(
    model: Model,
    writer: Writer,
    given: Any,
    target: Any,
    changes: Sequence[Change],
    tokens: Sequence[TokenChange],
    settings: GenerationSettings,
) -> Subject:
    if not isinstance(given, str):
        raise UserError(f"input should be text, but is {show(given)}")
    asked = model.prepare(Question(given), 0, settings)
    if asked.item is None:
        raise UserError("input is empty, so that there is nothing to look at")
    source = replace_tokens(asked.item.source, tokens, "source", writer.task.codecs.vocabulary)
    asked = replace(asked, item=replace(asked.item, source=source))
    own = [one for one in tokens if one.side == "target"]
    if target is not None:
        answer = _as_answer(writer, given, target)
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
    ids = replace_tokens(answer.tokens, changes, "target", writer.target)
    prefix = ids[: max(one.place for one in changes) + 1]
    assert asked.item is not None
    item: Item = replace(asked.item, prefix=prefix, longest=max(asked.item.longest, len(prefix)))
    return replace(asked, item=item)


def replace_tokens(
    ids: Sequence[int], changes: Sequence[TokenChange], side: str, vocabulary: Vocabulary
) -> tuple[int, ...]:
    """Tokens of one side, some of them changed. A UserError: there is no such place, or no such piece."""
    found = list(ids)
    for change in changes:
        if change.side != side:
            continue
        if change.place >= len(found):
            raise UserError(f"token: the {side} has {len(found)} tokens, 0 to {len(found) - 1}, and no {change.place}")
        found[change.place] = piece_id(change.text, vocabulary)
    return tuple(found)


def piece_id(text: str, vocabulary: Vocabulary) -> int:
    """Of a piece as it is shown, or of a text that is one piece."""
    shown = vocabulary.pieces(range(len(vocabulary)))
    if text in shown:
        return shown.index(text)
    (ids,) = vocabulary.encode([text])
    if len(ids) != 1:
        cut = " ".join(vocabulary.pieces(ids)) or "nothing"
        raise UserError(f"token: {text!r} is no single piece of the vocabulary: it is cut into {cut}")
    return ids[0]
