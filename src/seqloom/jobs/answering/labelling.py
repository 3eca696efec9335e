"""Answers out of a closed list: a tag for each word, or a class for the whole text."""
# N tokens of all rows  V tags or classes

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from seqloom.data.encoding import ClassEncoder, TagEncoder
from seqloom.data.ragged import Ragged
from seqloom.data.readings import Floats
from seqloom.generation.contract import Item
from seqloom.generation.no_numbers import refuse_no_numbers
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import CERTAIN, EMPTY, Answer, Piece, Question, Scored, settled
from seqloom.jobs.answering.tags_of import Tags, links_of, tags_of, together
from seqloom.jobs.answering.wishes import refuse_wishes
from seqloom.jobs.answering.writing import Prepared, part_empty, room
from seqloom.jobs.corpora.pictures import refuse_unknown
from seqloom.layers.chain import Links
from seqloom.models.build import Model as Network
from seqloom.models.encoder_only import EncoderOnly
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.tasks.batch import Side
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.tag import TagTask

TOKENS = 16_384  # that are read together
_PLAIN = GenerationSettings()


class Labeller:
    """networks: several name their labels together, by the mean of their probabilities; where one of them has a chain
    of tags, by that of their scores (docs/decisions/0029-a-chain-of-tags.md).

    others: who know the same labels, and read with vocabularies of their own; they have their say too.
    """

    def __init__(self, task: TagTask | ClassifyTask, networks: Sequence[Network], device: torch.device) -> None:
        self.task, self.networks, self.device = task, networks, device
        self.others: Sequence[Labeller] = ()
        assert isinstance(networks[0], EncoderOnly)
        marks = isinstance(task, ClassifyTask)
        self.reads = room(networks, "encoder") - marks

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        refuse_wishes(question, "a label is chosen")
        if not isinstance(question.source, str) and isinstance(self.task, ClassifyTask):
            raise UserError("the source should be text, but is a list")
        spelled = self.spelled or isinstance(self.task, TagTask)
        ids = self.words(question)[0] if spelled else self._text(str(question.source))
        most = self._most(question, len(ids))
        return Prepared(number, question, Item(ids[:most], number, 0) if ids else None, len(ids) - most)

    def _most(self, question: Question, tokens: int) -> int:
        """How many of its tokens are read; of spelled words, with all their letters, so many as there are positions."""
        if not self.spelled or self.reads >= tokens:
            return min(self.reads, tokens)
        return sum(word < self.reads for word in self.words(question)[1])

    @property
    def spelled(self) -> bool:
        return self.task.settings.spelled

    def _text(self, text: str) -> list[int]:
        ids = self.task.codecs.vocabulary.encode([text])[0] if text.strip() else []
        refuse_unknown(self.networks[0].settings, ids, text)
        return ids

    def words(self, question: Question) -> tuple[list[int], list[int]]:
        """The ids of a question's words, and of which word each is."""
        encoder = self.task.encoder
        if isinstance(encoder, ClassEncoder):
            return encoder.pieces(str(question.source))
        assert isinstance(encoder, TagEncoder)
        return encoder.pieces(words_of(question.source))

    def answer(
        self, asked: Sequence[Prepared], settings: GenerationSettings, attention: bool = False
    ) -> Iterator[tuple[int, list[Answer]]]:
        """Each number with its answers, best first: the likeliest classes, or all tags as one answer."""
        empty, rows = part_empty(asked, replace(EMPTY, score=1.0))
        yield from empty
        for read in self._batches(sorted(rows, key=self.length)):
            part = [replace(one, cut=self._cut(one)) for one in read]
            scores = self.log_probs(part)
            if isinstance(self.task, TagTask):
                for one, tags in zip(part, tags_of(scores, self.links), strict=True):
                    yield one.number, [self._tags(one, tags)]
            else:
                for one, scores_V in zip(part, scores, strict=True):
                    yield one.number, self._classes(one, scores_V, settings.n_best)

    @property
    def links(self) -> Links | None:
        """What tags that follow each other add to their scores: the mean of all networks; None: nothing."""
        return links_of(*(network for labeller in (self, *self.others) for network in labeller.networks))

    def log_probs(self, asked: Sequence[Prepared]) -> list[Tensor]:
        """Of each: one a class, or one a word and tag. Of a chain, the scores that it adds to."""
        chained = self.links is not None
        own = self._own_log_probs(asked, chained)
        if not self.others:
            return own
        every, voices = [own], [len(self.networks)]
        for other in self.others:
            read = [other._again(one) for one in asked]
            read = [replace(one, item=one.item or Item((), one.number, 0)) for one in read]
            every.append(other._own_log_probs(read, chained))
            voices.append(len(other.networks))
        return [_of_shared_words(each, voices, chained) for each in zip(*every, strict=True)]

    def _again(self, asked: Prepared) -> Prepared:
        """What another has prepared, as this one reads it."""
        return self.prepare(asked.question, asked.number, _PLAIN)

    def _cut(self, asked: Prepared) -> int:
        """Tokens that were left out by who left out most: tags are of the words that all of them read."""
        return max([asked.cut, *(other._again(asked).cut for other in self.others)])

    @torch.no_grad()
    def _own_log_probs(self, asked: Sequence[Prepared], chained: bool) -> list[Tensor]:
        read = self.side(asked).to(self.device)
        each = [network.scores(network(read.tokens_N, read.layout)).float() for network in self.networks]
        mean = together([scores.log_softmax(-1) for scores in each], [1] * len(each), chained)
        mean = mean if chained else mean.cpu()
        refuse_no_numbers(mean[..., 0])  # one NaN among a row's scores makes all of them NaN
        if isinstance(self.task, ClassifyTask):
            return list(mean)
        words = len(self.task.codecs.source)
        counts = [sum(id < words for id in one.tokens) if self.spelled else self.length(one) for one in asked]
        return [scores_NV[self.firsts(one)] for one, scores_NV in zip(asked, mean.split(counts), strict=True)]

    def length(self, asked: Prepared) -> int:
        """Of what is read."""
        return len(asked.tokens)

    def side(self, asked: Sequence[Prepared]) -> Side:
        rows = Ragged.rows([one.tokens for one in asked])
        return self.task.side(rows) if isinstance(self.task, ClassifyTask) else Side.of(rows)

    def _batches(self, rows: Sequence[Prepared]) -> Iterator[list[Prepared]]:
        """By tokens; a row that is longer than all may be goes alone."""
        batch, tokens = list[Prepared](), 0
        for row in rows:
            if batch and tokens + self.length(row) > TOKENS:
                yield batch
                batch, tokens = [], 0
            batch.append(row)
            tokens += self.length(row)
        if batch:
            yield batch

    def score(self, pairs: Sequence[tuple[str, str | Answer | None]]) -> list[Scored]:
        """Of a label, or of tags with spaces between them."""
        return [CERTAIN if settled(*pair) else self._scored(*pair) for pair in pairs]

    def _scored(self, source: str, target: str | Answer | None) -> Scored:
        if target is None:
            raise UserError("score needs a label too: score(source, label)")
        prepared = self.prepare(Question(source), 0, GenerationSettings())
        names = [str(target)] if isinstance(self.task, ClassifyTask) else str(target).split(" ")
        labels = self.task.labels.encode(names)
        if prepared.item is None:
            raise UserError("the source is empty: it has no label to be scored; give it a text")
        cut = self._cut(prepared)
        if cut:
            raise UserError(
                f"the source is longer than what the model reads, by {counted(cut, 'token')}; shorten it, or train "
                "with more learned positions (model.positions.length)"
            )
        (scores,) = self.log_probs([prepared])
        scores_WV = scores[None] if isinstance(self.task, ClassifyTask) else scores
        if len(scores_WV) != len(labels):
            raise UserError(f"{len(scores_WV)} words, but {len(labels)} tags; each word needs one")
        (found,) = tags_of([scores_WV], self.links, [labels])
        pieces = tuple(map(Piece, names, found.each))
        return Scored(found.log_prob, pieces)

    def firsts(self, asked: Prepared) -> list[int]:
        """Where words begin, among what is scored of those that are read: there stand their tags."""
        word_of = self.words(asked.question)[1][: self.length(asked)]
        word_of = list(dict.fromkeys(word_of)) if self.spelled else word_of
        return [place for place, word in enumerate(word_of) if not place or word != word_of[place - 1]]

    def _classes(self, asked: Prepared, scores_V: Tensor, n_best: int) -> list[Answer]:
        names = self.task.labels.names
        best = scores_V.topk(min(n_best, len(names)))
        return [
            Answer(
                names[label], math.exp(log_prob), log_prob, (Piece(names[label], log_prob),), (label,), cut=asked.cut
            )
            for log_prob, label in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]

    def _tags(self, asked: Prepared, found: Tags) -> Answer:
        """A word that did not fit in has none."""
        tags = self.task.labels.decode(found.tags)
        pieces = tuple(map(Piece, tags, found.each))
        return Answer(" ".join(tags), math.exp(found.log_prob), found.log_prob, pieces, found.tags, cut=asked.cut)


def _of_shared_words(each: Sequence[Tensor], voices: Sequence[int], chained: bool) -> Tensor:
    """Of classes, or of tags for the words that all of them read."""
    words = min(len(scores) for scores in each)
    return together([scores[:words] for scores in each], voices, chained)


def words_of(source: str | Sequence[str] | Floats) -> list[str]:
    """As in training: between single spaces, or split already."""
    if isinstance(source, np.ndarray):
        raise UserError("the source should be text, but is a series of numbers")
    if not isinstance(source, str):
        return list(source)
    return [word for word in source.split(" ") if word] if source.strip() else []
