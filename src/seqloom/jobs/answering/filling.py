"""Answers that fill the gaps of a text: what a masked language model puts where [MASK] stands."""
# K gaps  V tokens of the vocabulary

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from seqloom.generation.contract import Item
from seqloom.generation.no_numbers import refuse_no_numbers
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Answer, Piece, Question, Scored, TextError
from seqloom.jobs.answering.wishes import refuse_wishes
from seqloom.jobs.answering.writing import Prepared, part_empty, room
from seqloom.layers.layout import Packed
from seqloom.models.build import Model as Network
from seqloom.models.encoder_only import EncoderOnly
from seqloom.settings import UserError
from seqloom.tasks.masked import MaskedTask
from seqloom.text import BEGIN, BPE, MASK, SEPARATOR, SPECIALS, Unigram

MARK = "[MASK]"
TOKENS = 8192  # that are read together


class Filler:
    """networks: several fill a gap together, by the mean of their probabilities."""

    def __init__(self, task: MaskedTask, networks: Sequence[Network], device: torch.device) -> None:
        self.task, self.networks, self.device = task, networks, device
        self.reads = min(room(networks, "encoder"), task.settings.context) - 2  # marks at both ends

    def prepare(self, question: Question, number: int, settings: GenerationSettings) -> Prepared:
        refuse_wishes(question, "a gap is filled")
        if not isinstance(question.source, str):
            raise UserError("the source should be text, but is a list")
        if not question.source.strip():
            return Prepared(number, question, None)
        if MARK not in question.source:
            raise UserError(f"there is no gap to fill; write {MARK} where something is missing")
        return Prepared(number, question, Item(self._fitting(self.ids(question.source)), number, 0))

    def ids(self, text: str) -> list[int]:
        """With a mask at each gap."""
        first, *others = text.split(MARK)
        ids = self._before(first)
        for number, part in enumerate(others, 1):
            behind = part if number == len(others) else self._without_space(part)
            ids += [MASK, *self._behind(behind)]
        return ids

    @property
    def _subwords(self) -> bool:
        """Their pieces hold the space before a word, and so does what fills a gap."""
        return isinstance(self.task.vocabulary.settings, BPE | Unigram)

    def _without_space(self, part: str) -> str:
        return part.removesuffix(" ") if self._subwords else part

    def _before(self, part: str) -> list[int]:
        return self.task.vocabulary.encode([self._without_space(part)])[0]

    def _behind(self, part: str) -> list[int]:
        """Subwords that stand at a gap without a space are not those that begin a word."""
        vocabulary = self.task.vocabulary
        (alone,) = vocabulary.encode([part.removeprefix(" ") if self._subwords else part])
        if not self._subwords or part[:1].isspace():
            return alone
        letter, glued = vocabulary.encode(["x", "x" + part])
        return glued[len(letter) :] if glued[: len(letter)] == letter else alone

    def _fitting(self, ids: list[int]) -> list[int]:
        if len(ids) > self.reads:
            raise UserError(f"{len(ids)} tokens, but the model reads {self.reads} at once; give a shorter text")
        return ids

    def answer(
        self, asked: Sequence[Prepared], settings: GenerationSettings, attention: bool = False
    ) -> Iterator[tuple[int, list[Answer]]]:
        """Each number with its answers, likeliest first; gaps are filled independently of each other."""
        empty, rows = part_empty(asked)
        yield from empty
        texts = [list(one.tokens) for one in rows]
        gaps = [[place for place, id in enumerate(text) if id == MASK] for text in texts]
        for one, text, places, scores_KV in zip(rows, texts, gaps, self._log_probs(texts, gaps), strict=True):
            fitting_KV = scores_KV.masked_fill(~self._allowed(str(one.question.source)), -torch.inf)
            yield one.number, self._filled(text, places, fitting_KV, settings.n_best)

    def _allowed(self, text: str) -> Tensor:
        """Which tokens fit each gap, fits_KV: no marks; of subwords, those that begin a word behind a space."""
        before = text.split(MARK)[:-1]
        begins_K1 = torch.tensor([[part[-1:].isspace() or not (number or part)] for number, part in enumerate(before)])
        fits_KV = self._begins_V == begins_K1 if self._subwords else torch.ones(len(before), len(self._begins_V)).bool()
        fits_KV[:, : len(SPECIALS)] = False
        fits_KV[~fits_KV.any(1), len(SPECIALS) :] = True  # a vocabulary that has no such piece
        return fits_KV

    @cached_property
    def _begins_V(self) -> Tensor:
        """The pieces of subwords that begin a word."""
        vocabulary = self.task.vocabulary
        return torch.tensor([piece.startswith("▁") for piece in vocabulary.pieces(range(len(vocabulary)))])

    def _filled(self, text: list[int], places: list[int], scores_KV: Tensor, n_best: int) -> list[Answer]:
        """scores_KV: -inf for what does not fit."""
        best = scores_KV.topk(min(n_best, scores_KV.shape[1] - len(SPECIALS)), -1)
        beam: list[tuple[float, tuple[tuple[int, float], ...]]] = [(0.0, ())]
        for ids, log_probs in zip(best.indices.tolist(), best.values.tolist(), strict=True):
            each = [(id, log_prob) for id, log_prob in zip(ids, log_probs, strict=True) if log_prob > -math.inf]
            beam = [(total + one[1], (*chosen, one)) for total, chosen in beam for one in each]
            beam = sorted(beam, key=lambda entry: -entry[0])[:n_best]
        return [self._answer(text, places, total, chosen) for total, chosen in beam]

    def _answer(
        self, text: list[int], places: list[int], total: float, chosen: tuple[tuple[int, float], ...]
    ) -> Answer:
        whole, vocabulary = list(text), self.task.vocabulary
        for place, (id, _) in zip(places, chosen, strict=True):
            whole[place] = id
        names = vocabulary.pieces([id for id, _ in chosen])
        pieces = tuple(Piece(name, log_prob) for name, (_, log_prob) in zip(names, chosen, strict=True))
        return Answer(vocabulary.decode(whole), total, total, pieces, tuple(id for id, _ in chosen))

    def score(self, pairs: Sequence[tuple[str, str | Answer | None]]) -> list[Scored]:
        """Of a text: the sum over its tokens, each as if it were a gap (Salazar et al. 2020, pseudo-log-likelihood)."""
        return [self._scored(number, *pair) for number, pair in enumerate(pairs, 1)]

    def _scored(self, number: int, text: str, target: str | Answer | None) -> Scored:
        if target is not None:
            raise UserError("a masked model scores a text as a whole: score(text)")
        try:
            ids = self._fitting(self.task.vocabulary.encode([text])[0])
        except UserError as error:
            raise TextError(number, str(error)) from None
        rows = [[*ids[:place], MASK, *ids[place + 1 :]] for place in range(len(ids))]
        found = self._log_probs(rows, [[place] for place in range(len(ids))])
        each = [float(scores_KV[0, id]) for scores_KV, id in zip(found, ids, strict=True)]
        pieces = zip(self.task.vocabulary.pieces(ids), each, strict=True)
        return Scored(math.fsum(each), tuple(Piece(name, log_prob) for name, log_prob in pieces))

    def _log_probs(self, rows: Sequence[list[int]], gaps: Sequence[list[int]]) -> Iterator[Tensor]:
        """Of each row, at its gaps: log_probs_KV."""
        begin = 0
        while begin < len(rows):
            end, tokens = begin + 1, len(rows[begin])
            while end < len(rows) and tokens + len(rows[end]) <= TOKENS:
                tokens += len(rows[end])
                end += 1
            yield from self._together(rows[begin:end], gaps[begin:end])
            begin = end

    @torch.no_grad()
    def _together(self, rows: Sequence[list[int]], gaps: Sequence[list[int]]) -> tuple[Tensor, ...]:
        marked = [[BEGIN, *row, SEPARATOR] for row in rows]
        layout = Packed.of([len(row) for row in marked], device=self.device)
        tokens_N = torch.tensor([token for row in marked for token in row], device=self.device)
        begins = accumulate((len(row) for row in marked), initial=1)  # the first token is a mark
        places = [begin + gap for begin, row in zip(begins, gaps, strict=False) for gap in row]
        place_M = torch.tensor(places, dtype=torch.int64, device=self.device)
        each: list[Tensor] = []
        for network in self.networks:
            assert isinstance(network, EncoderOnly)
            each.append(network.scores(network(tokens_N, layout).at(place_M)).float().log_softmax(-1))
        mean_MV = torch.stack(each).logsumexp(0).sub(math.log(len(each))).cpu()
        refuse_no_numbers(mean_MV[:, 0])  # one NaN among a row's scores makes all of them NaN
        return mean_MV.split([len(row) for row in gaps])
