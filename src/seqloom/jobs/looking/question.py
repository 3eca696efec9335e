"""What a look asks of a model that writes: the input as the search reads it, with the changes of its tokens."""

from collections.abc import Sequence
from dataclasses import replace

from seqloom.generation.search import impossible_item
from seqloom.inspect.changes import TokenChange
from seqloom.jobs.answering.reranking import candidates_of
from seqloom.jobs.answering.scorer import MARKS
from seqloom.jobs.answering.writing import Prepared, Writer
from seqloom.jobs.look import Look
from seqloom.jobs.looking.example import question_of, source_ids
from seqloom.settings import UserError
from seqloom.text import END


def prepared(look: Look, writer: Writer, prefix: Sequence[int] = ()) -> Prepared:
    """prefix: ids of tokens that the answer begins with. A UserError: nothing can be asked so."""
    asked = look.model.prepare(question_of(look.model, look.request.input), 0, look.settings)
    if asked.item is None:
        raise UserError("input is empty, so that there is nothing to look at")
    tokens = [one for one in look.request.changes if isinstance(one, TokenChange)]
    item = replace(asked.item, source=source_ids(writer, asked.item.source, tokens), number=0)
    if prefix:
        item = replace(item, prefix=_sayable(prefix, writer), longest=max(item.longest, len(prefix)))
        why = impossible_item(item, candidates_of(look.settings), lambda phrase: repr(writer.target.decode(phrase)))
        if why is not None:
            raise UserError(f"prefix: {why}")
    return replace(asked, item=item)


def _sayable(prefix: Sequence[int], writer: Writer) -> tuple[int, ...]:
    for place, id in enumerate(prefix):
        if not 0 <= id < len(writer.target):
            raise UserError(f"prefix.{place}: there is no token {id}; there are {len(writer.target)}, from 0 on")
        if id in (*MARKS, END):
            raise UserError(f"prefix.{place}: token {id} is a mark, which no answer holds")
    return tuple(prefix)


def changes_target(look: Look) -> bool:
    """Whether tokens of its answer are changed, which has to be written first."""
    return any(isinstance(one, TokenChange) and one.side == "target" for one in look.request.changes)
