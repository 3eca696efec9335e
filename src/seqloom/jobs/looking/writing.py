"""Written answers, looked at: translations and continuations, token by token."""
# R rows  T tokens so far  S source positions  V vocabulary

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from seqloom.generation.contract import Item, Scorer
from seqloom.generation.rereading import RereadingScorer
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changed import changed
from seqloom.inspect.changes import Change
from seqloom.inspect.trace import Example
from seqloom.jobs.answering.answer import Answer
from seqloom.jobs.answering.reranking import candidates_of
from seqloom.jobs.answering.scorer import MARKS
from seqloom.jobs.answering.writing import Prepared, Writer
from seqloom.jobs.looking.documents import AnswerDocument
from seqloom.jobs.looking.notes import cut_short, unread
from seqloom.jobs.looking.subject import Subject, places, steps, tokens
from seqloom.layers.layout import Padded
from seqloom.models.build import Model as Network
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.settings import UserError
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END, SEPARATOR, UNKNOWN


@dataclass(frozen=True)
class Reading:
    """What one network reads before and while it writes. source: what an encoder reads, with its end mark; None: there
    is no encoder. first: what stands before the answer in what is read back."""

    source: tuple[int, ...] | None
    first: tuple[int, ...]


def reading_of(writer: Writer, item: Item) -> Reading:
    """As the scorers of jobs/answering/scorer.py read it."""
    if not isinstance(writer.task, TranslateTask):
        return Reading(None, tuple(item.source) or (BEGIN,))
    source = tuple(item.source)[::-1] if writer.task.settings.reverse else tuple(item.source)
    return Reading(None, (*source, SEPARATOR)) if writer.task.joined else Reading((*source, END), (BEGIN,))


def changed_scorer(writer: Writer, item: Item, settings: GenerationSettings, changes: Sequence[Change]) -> Scorer:
    """What the search asks of a changed model, for one item; without changes, what it always asks.

    The changed model reads all that was written anew in each step.
    """
    if not changes:
        return writer.scorer(settings)
    network, reading = writer.networks[0], reading_of(writer, item)
    never = MARKS if settings.replace_unknown else (*MARKS, UNKNOWN)

    def scores(tokens_RT: Tensor) -> Tensor:
        with changed(network, changes):
            return _scores(network, reading, tokens_RT)

    size, device = network.sizes.target, next(network.parameters()).device
    return RereadingScorer(scores, reading.first, begin=BEGIN, end=END, size=size, never=never, device=device)


def _scores(network: Network, reading: Reading, tokens_RT: Tensor) -> Tensor:
    rows, size = tokens_RT.shape
    layout = Padded.whole(rows, size, tokens_RT.device)
    if not isinstance(network, EncoderDecoder):
        return network.scores(network(tokens_RT, layout))
    assert reading.source is not None
    source_RS = torch.tensor(reading.source, device=tokens_RT.device).expand(rows, -1)
    source_layout = Padded.whole(rows, len(reading.source), tokens_RT.device)
    return network.scores(network(source_RS, source_layout, tokens_RT, layout))


def written(writer: Writer, asked: Prepared, settings: GenerationSettings, changes: Sequence[Change] = ()) -> Answer:
    """The best answer, as the search finds it in the model as it is changed."""
    assert asked.item is not None
    scorer = changed_scorer(writer, asked.item, settings, changes)
    item = replace(asked.item, number=0)
    ((_, found),) = write(scorer, iter([item]), candidates_of(settings))
    return writer.said(asked, found, settings)[0]


def written_subject(writer: Writer, asked: Prepared, answer: Answer, forced: bool) -> Subject:
    """An answer, or a target as one, read back by the model that is to write it."""
    assert asked.item is not None
    reading = reading_of(writer, asked.item)
    goal = [*answer.tokens, END] if answer.ended else list(answer.tokens)
    if not goal:
        raise UserError("the answer is empty, so that there is nothing to look at; give a target")
    read_back = [*reading.first, *goal[:-1]]
    source, target = writer.task.codecs.vocabulary, writer.target
    begins = len(reading.first) - 1
    whole = [*reading.first[1:], *goal]  # what comes behind each place

    def said(scores_TV: Tensor) -> AnswerDocument:
        asked_ids = reading.source if reading.source is not None else reading.first
        return AnswerDocument(
            answer.text,
            _log_prob(scores_TV[begins:], goal) if forced else answer.score,
            places(asked_ids, source),
            places(goal, target),
            steps(scores_TV[begins:].cpu(), goal, target),
        )

    if reading.source is None:
        example = Example(tokens(read_back), goal=tokens(whole))
    else:
        example = Example(tokens(reading.source), tokens(read_back), tokens(whole))
    return Subject(
        example,
        said,
        _names(writer),
        () if reading.source is None else places(reading.source, source),
        places(read_back, target),
        places(whole, target),
        begins,
        forced,
        (*unread(asked, source), *cut_short(answer, asked)),
    )


def _log_prob(scores_TV: Tensor, goal: Sequence[int]) -> float:
    log_probs_TV = scores_TV.float().log_softmax(-1)
    return float(log_probs_TV.gather(-1, torch.tensor(goal, device=scores_TV.device)[:, None]).double().sum())


def _names(writer: Writer) -> Callable[[], Sequence[str]]:
    return lambda: writer.target.pieces(range(len(writer.target)))
