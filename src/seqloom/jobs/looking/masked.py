"""Gaps that are filled, looked at."""
# T positions  K gaps  V vocabulary

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changed import changed
from seqloom.inspect.changes import Change, TokenChange
from seqloom.inspect.trace import Example
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.filling import Filler
from seqloom.jobs.looking.documents import AnswerDocument
from seqloom.jobs.looking.notes import unread
from seqloom.jobs.looking.subject import Subject, places, steps, tokens
from seqloom.jobs.looking.tokens import replace_tokens
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.text import BEGIN, MASK, SEPARATOR


def masked_subject(
    model: Model,
    filler: Filler,
    question: Question,
    target: object,
    changes: Sequence[Change],
    others: Sequence[TokenChange],
    settings: GenerationSettings,
) -> Subject:
    """The gaps as the model fills them; of a changed model, as that one does."""
    if target is not None:
        raise UserError("target: a masked model fills gaps; write the words themselves instead of [MASK]")
    asked = model.prepare(question, 0, settings)
    if asked.item is None:
        raise UserError("input is empty, so that there is nothing to look at")
    vocabulary = filler.task.vocabulary
    framed = replace_tokens([BEGIN, *asked.item.source, SEPARATOR], others, "source", vocabulary)
    ids = framed[1:-1]
    if MASK not in ids:
        raise UserError("token: no gap is left to fill")
    asked = replace(asked, item=replace(asked.item, source=ids))
    with model.named(), changed(model.networks[0], changes):
        ((_, (answer, *_)),) = model.answer([asked], settings)
    whole = [BEGIN, *ids, SEPARATOR]
    gaps = [place for place, id in enumerate(whole) if id == MASK]
    seen = places(whole, vocabulary)

    def said(scores_TV: Tensor) -> AnswerDocument:
        filled = list(answer.tokens)
        made = steps(scores_TV[gaps].cpu(), filled, vocabulary)
        return AnswerDocument(answer.text, answer.score, seen, places(filled, vocabulary), made)

    def names() -> Sequence[str]:
        return vocabulary.pieces(range(len(vocabulary)))

    return Subject(Example(tokens(whole)), said, names, seen, notes=unread(asked, vocabulary), rows=tuple(gaps))
