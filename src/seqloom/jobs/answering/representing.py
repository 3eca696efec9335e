"""Vectors from inside a model: what its encoder, or its only stack, makes of a text."""
# N tokens of all rows  L layers  D width

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from seqloom.data.encoding import ClassEncoder
from seqloom.inspect.states import watch_states
from seqloom.jobs.answering.labelling import words_of
from seqloom.jobs.answering.represented import Represented
from seqloom.jobs.answering.writing import room
from seqloom.layers.layout import Packed
from seqloom.models.build import Model as Network
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.settings import UserError
from seqloom.settings.words import whole
from seqloom.tasks import Task
from seqloom.tasks.classify import ClassifyTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END, SEPARATOR, Vocabulary

TOKENS = 8192  # that are read together

Layer = int | Literal["all"]


@dataclass(frozen=True)
class _Row:
    """ids: as the model reads them, with marks before and behind. The other fields are of the steps between them."""

    ids: list[int]
    before: int
    behind: int
    names: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Of the stack: as many as ids, or, of spelled words, as words."""
        return self.before + len(self.names) + self.behind


class Representer:
    def __init__(self, task: Task, network: Network, device: torch.device) -> None:
        self.task, self.network, self.device = task, network, device
        self.stack = network.decoder if isinstance(network, DecoderOnly) else network.encoder
        self.most = room([network], "decoder" if isinstance(network, DecoderOnly) else "encoder")

    def represent(self, texts: Sequence[str | Sequence[str]], layer: Layer) -> Iterator[Represented]:
        """Each text, in order. layer: 0 is what the stack reads, depth or -1 what it says at the end."""
        at = self._place(layer)
        rows = [self._checked(number, text) for number, text in enumerate(texts, 1)]
        begin = 0
        while begin < len(rows):
            end, tokens = begin + 1, len(rows[begin].ids)
            while end < len(rows) and tokens + len(rows[end].ids) <= TOKENS:
                tokens += len(rows[end].ids)
                end += 1
            yield from self._together(rows[begin:end], at)
            begin = end

    def _place(self, layer: Layer) -> int | None:
        """Its number from 0; None: all."""
        depth = len(self.stack.blocks)
        if layer == "all":
            return None
        if isinstance(layer, bool) or not whole(layer, -depth - 1) or int(layer) > depth:
            raise UserError(
                f"layer should be 0 (what the first block reads) to {depth} (the last), -1, or 'all', not {layer!r}"
            )
        return int(layer) % (depth + 1)

    def _checked(self, number: int, text: str | Sequence[str]) -> _Row:
        row = self._row(text)
        if not row.names:
            raise UserError(f"text {number}: is empty, so that there is nothing to represent")
        if row.steps > self.most:
            raise UserError(f"text {number}: {row.steps} tokens, but the model's learned positions end at {self.most}")
        return row

    def _row(self, text: str | Sequence[str]) -> _Row:
        task, vocabulary = self.task, self.task.codecs.source
        if not isinstance(vocabulary, Vocabulary):
            raise UserError("this model reads series of readings: there are no words to represent")
        if isinstance(task, TagTask):
            words = tuple(words_of(text))
            ids, word_of = task.encoder.pieces(words)
            if task.settings.spelled:
                return _Row(ids, 0, 0, words, words, tuple(range(len(words))))
            return _Row(ids, 0, 0, tuple(vocabulary.pieces(ids)), words, tuple(word_of))
        if not isinstance(text, str):
            raise UserError("a text is needed, not a list of words: only a tagger's words are split already")
        before, behind = self._marks()
        if isinstance(task.encoder, ClassEncoder) and task.encoder.spelled:
            words = tuple(text[begin:end] for begin, end in vocabulary.words(text))
            spelt = task.encoder.pieces(text)[0]
            return _Row([*spelt, *behind], 0, len(behind), words, words, tuple(range(len(words))))
        ids = vocabulary.encode([text])[0] if text.strip() else []
        word_of, parts = vocabulary.word_of(ids), text.split()
        if len(parts) != max(word_of, default=-1) + 1:  # what the vocabulary takes for a space is none here
            parts = vocabulary.decode(ids).split()
        read = ids[::-1] if self._reversed else ids
        names = tuple(vocabulary.pieces(ids))
        return _Row([*before, *read, *behind], len(before), len(behind), names, tuple(parts), tuple(word_of))

    @property
    def _reversed(self) -> bool:
        return isinstance(self.task, TranslateTask) and self.task.settings.reverse

    def _marks(self) -> tuple[list[int], list[int]]:
        """What stands before and behind a text in training."""
        match self.task:
            case MaskedTask():
                return [BEGIN], [SEPARATOR]
            case LanguageTask():
                return self.task.encoder.before, []
            case ClassifyTask():
                return [], [END]
            case TranslateTask() if isinstance(self.network, EncoderDecoder):
                return [], [END]
            case _:
                return [], []

    @torch.no_grad()
    def _together(self, rows: Sequence[_Row], at: int | None) -> Iterator[Represented]:
        layout = Packed.of([len(row.ids) for row in rows], device=self.device)
        tokens_N = torch.tensor([id for row in rows for id in row.ids], device=self.device)
        with watch_states(self.stack) as seen:
            if isinstance(self.network, EncoderDecoder):
                steps = self.network.encode(tokens_N, layout).layout
            else:
                steps = self.network(tokens_N, layout).layout
        chosen = seen if at is None else [seen[at]]
        if at is None and len({x.shape[-1] for x in chosen}) > 1:
            raise UserError("layer = 'all': the layers have other widths than each other; name one of them")
        padded = [steps.pad(x).float().cpu() for x in chosen]
        for number, row in enumerate(rows):
            if int(steps.lengths_B[number]) < row.steps:
                raise UserError("the model joins several tokens to one step, so that a token has no vector of its own")
            own = [x_BTD[number, row.before : row.before + len(row.names)] for x_BTD in padded]
            own = [x_TD.flip(0) for x_TD in own] if self._reversed else own
            vectors = own[0] if at is not None else torch.stack(own)
            yield Represented(row.names, row.words, row.word_of, vectors.clone())
