"""One engine for every way of writing: greedy, beam, diverse beam, sampling; it knows scores and states only."""
# A items that are being written  K hypotheses to each  R = A·K rows  C candidates  V tokens  S source positions

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.generation.ahead import Ahead
from seqloom.generation.beam import Candidates, followed, forks
from seqloom.generation.contract import Item, Scorer, Written
from seqloom.generation.coverage import coverage
from seqloom.generation.draft import Draft, Found
from seqloom.generation.hypotheses import NOTHING, Hypotheses
from seqloom.generation.length import penalty
from seqloom.generation.limits import limited
from seqloom.generation.settings import GenerationSettings
from seqloom.layers.mixer import State, join, reorder
from seqloom.settings import UserError

WINDOW = 16  # batches read ahead, to write together what is of like length
FREE = 0.25  # share of a batch that must be free before others join: each joining copies the states
ROOM = 16  # tokens by which the hypotheses' tensors grow


def write(
    scorer: Scorer, items: Iterable[Item], settings: GenerationSettings, *, attention: bool = False
) -> Iterator[tuple[int, list[Written]]]:
    """Each item's number and its answers, best first, in the order in which they are done. Reads a few items ahead.

    An answer ends with the end mark, or is cut at the item's `longest`; what was cut stands behind all that ended, so
    that there is always an answer. A beam of 1 is greedy. A wider one goes on until no hypothesis can become better
    than the answers that have ended, however long it grew. With `sample` as many answers as `n_best` are drawn, the
    same one perhaps more than once.
    """
    ahead = Ahead((_possible(item) for item in items), WINDOW * settings.batch)
    search = _Search(scorer, settings, attention)
    more = True
    while more or search.drafts:
        free = settings.batch - search.items
        if more and free >= max(1, FREE * settings.batch):
            new = ahead.take(free)
            more = len(new) == free
            search.begin(new)
        for draft in search.step():
            yield draft.item.number, draft.answers(settings.n_best, distinct=settings.sample is None)


def _possible(item: Item) -> Item:
    if item.shortest > item.longest:
        raise UserError(
            f"input {item.number + 1}: an answer of {item.shortest} tokens at least and {item.longest} at most; "
            "change shortest or longest"
        )
    if len(item.prefix) > item.longest:
        raise UserError(
            f"input {item.number + 1}: its prefix has {len(item.prefix)} tokens, and an answer has {item.longest} at "
            "most; raise longest or shorten the prefix"
        )
    return item


class _Search:
    def __init__(self, scorer: Scorer, settings: GenerationSettings, attention: bool) -> None:
        self.scorer, self.settings, self.attention = scorer, settings, attention
        self.beam = 1 if settings.sample is not None else settings.beam
        self.samples = 1 if settings.sample is None else settings.n_best
        # groups may find the same answer, each of them once
        self.keep = 1 if settings.sample is not None else settings.n_best * settings.groups
        self.trace = attention or settings.coverage > 0
        self.drafts: list[Draft] = []  # one each item and sample, in the order of the hypotheses
        self.steps: list[int] = []
        self.state: State = None

    @property
    def items(self) -> int:
        return len({id(draft) for draft in self.drafts})

    @torch.no_grad()
    def begin(self, items: Sequence[Item]) -> None:
        """These join those that are being written."""
        if not items:
            return
        state, last_B = self.scorer.start(items)
        rows = torch.arange(len(items), device=last_B.device).repeat_interleave(self.samples * self.beam)
        if len(rows) > len(items):
            state, last_B = reorder(state, rows), last_B[rows]
        each = [draft for item in items for draft in [Draft(item, self.samples)] * self.samples]
        hypotheses = Hypotheses.begin(
            [draft.item for draft in each],
            list(range(self.samples)) * len(items),
            self.beam,
            self.keep,
            last_B.device,
            trace=self.trace,
        )
        if self.drafts:
            state, last_B = join([self.state, state]), torch.cat((self.last_R, last_B))
            hypotheses = Hypotheses.join([self.hypotheses, hypotheses])
        self.state, self.last_R, self.hypotheses = state, last_B, hypotheses
        self.drafts += each
        self.steps += [0] * len(each)

    @torch.no_grad()
    def step(self) -> list[Draft]:
        """One more token for each hypothesis; the drafts that are complete with it."""
        if not self.drafts:
            return []
        h = self.hypotheses
        log_probs_RV, attention_RS, self.state = self.scorer.step(self.last_R, self.state, self.trace)
        if self.trace:
            h = _attended(h, attention_RS, self.settings.coverage)
        allowed_RV = limited(log_probs_RV.float(), h, self.scorer.end, min(self.steps))
        going, ended = self._chosen(h, allowed_RV)
        score_AC = self._score(h, ended)
        best_AN = torch.cat((h.best_AN, score_AC), 1).topk(self.keep).values
        # no log_prob to come is above 0, no penalty above that of the longest answer
        bound_A = going.total_AC.amax(1) / penalty(self.settings.length, h.longest_A.double() + 1)
        done_A = bound_A <= best_AN[:, -1]
        stuck_A = bound_A == NOTHING
        happened = torch.cat((ended.total_AC > NOTHING, done_A[:, None], stuck_A[:, None]), 1)
        complete = self._record(h, ended, score_AC, happened.nonzero().tolist())
        self._advance(replace(h, best_AN=best_AN), going, happened[:, -2])
        return complete

    def _chosen(self, h: Hypotheses, allowed_RV: Tensor) -> tuple[Candidates, Candidates]:
        """The hypotheses that go on, and those that end: these rank among the best so many candidates."""
        groups = self.settings.groups if self.settings.sample is None else 1
        size = self.beam // groups
        allowed_AKV = allowed_RV.view(h.count, self.beam, -1)
        used_AV = allowed_RV.new_zeros(h.count, allowed_RV.shape[1]) if groups > 1 else None
        going, ended = [], []
        for first in range(0, self.beam, size):
            part = slice(first, first + size)
            costs_AV = None if first == 0 or used_AV is None else used_AV * self.settings.diversity
            # twice as many as needed: half of them may be ends
            candidates = forks(
                h.total_AK[:, part], allowed_AKV[:, part].flatten(0, 1), 2 * size if self.beam > 1 else 1, costs_AV
            ).shifted(first)
            ends_AC = candidates.token_AC == self.scorer.end
            goes_AC = ~ends_AC & (candidates.total_AC > NOTHING) & (h.step_A < h.longest_A)[:, None]
            going.append(followed(candidates, goes_AC, size))
            top = candidates.first(size)
            ended.append(replace(top, total_AC=torch.where(ends_AC[:, :size], top.total_AC, NOTHING)))
            if used_AV is not None:
                used_AV.scatter_add_(1, going[-1].token_AC, (going[-1].total_AC > NOTHING).to(used_AV.dtype))
        return Candidates.beside(going), Candidates.beside(ended)

    def _score(self, h: Hypotheses, ended: Candidates) -> Tensor:
        score_AC = ended.total_AC / penalty(self.settings.length, h.step_A.double() + 1)[:, None]
        if self.settings.coverage and h.read_AKS is not None:
            read_ACS = h.read_AKS.gather(1, ended.origin_AC[..., None].expand(-1, -1, h.read_AKS.shape[-1]))
            score_AC = score_AC + coverage(read_ACS, self.settings.coverage)
        return score_AC

    def _record(
        self, h: Hypotheses, ended: Candidates, score_AC: Tensor, happened: Sequence[Sequence[int]]
    ) -> list[Draft]:
        """Keep what ended, and, of items in which nothing goes on, what was cut; the drafts that are complete."""
        C = score_AC.shape[1]
        ends = [(a, c) for a, c in happened if c < C]
        if ends:
            at = torch.tensor(ends, device=score_AC.device).unbind(1)
            self._keep(h, [a for a, _ in ends], ended.origin_AC[at], score_AC[at], ended.log_prob_AC[at])
        now = {a for a, _ in ends}
        for a in (a for a, c in happened if c == C + 1 and self._wanting(a, a in now)):
            held = (h.total_AK[a] > NOTHING).nonzero()[:, 0]
            score = h.total_AK[a][held] / penalty(self.settings.length, float(max(1, self.steps[a])))
            if self.settings.coverage and h.read_AKS is not None:
                score = score + coverage(h.read_AKS[a][held], self.settings.coverage)
            self._keep(h, [a] * len(held), held, score, None)
        complete = []
        for a in (a for a, c in happened if c == C):
            self.drafts[a].parts -= 1
            if not self.drafts[a].parts:
                complete.append(self.drafts[a])
        return complete

    def _wanting(self, a: int, ended: bool) -> bool:
        """Too little has ended, so that what was cut is needed. ended: something did in this very step."""
        if self.settings.sample is not None:
            return not ended
        return len(self.drafts[a].found) < self.keep

    def _keep(
        self, h: Hypotheses, items: Sequence[int], origin_E: Tensor, score_E: Tensor, end_E: Tensor | None
    ) -> None:
        """Some hypotheses as they stand. end_E: the log_probs of their end marks; None: they were cut."""
        at = torch.tensor(items, device=origin_E.device), origin_E
        tokens_ET, log_probs_ET = h.tokens_AKT[at].cpu().numpy(), h.log_probs_AKT[at].cpu().numpy()
        attention_ETS = None if h.attention_AKTS is None or not self.attention else h.attention_AKTS[at].cpu().numpy()
        ends = None if end_E is None else end_E.cpu().numpy()
        for e, (a, score) in enumerate(zip(items, score_E.tolist(), strict=True)):
            steps, draft = self.steps[a], self.drafts[a]
            log_probs = log_probs_ET[e, :steps]
            found = Found(
                score,
                tokens_ET[e, :steps].copy(),
                log_probs.copy() if ends is None else np.append(log_probs, ends[e]),
                ended=ends is not None,
                attention=None if attention_ETS is None else _real(attention_ETS[e, : steps + (ends is not None)]),
            )
            draft.add(draft.judged(found), self.settings.n_best * self.settings.groups)

    def _advance(self, h: Hypotheses, going: Candidates, done_A: Tensor, some: bool) -> None:
        """Follow the candidates, and let go of the items that are done. some: there are such."""
        origin_AK = going.origin_AC
        rows_AK = torch.arange(h.count, device=origin_AK.device)[:, None] * self.beam + origin_AK
        h = _extended(h, going, max(self.steps))
        last_AK = going.token_AC
        if some:
            stay = (~done_A).nonzero()[:, 0]
            kept = stay.tolist()
            self.drafts, self.steps = [self.drafts[a] for a in kept], [self.steps[a] for a in kept]
            h, rows_AK, last_AK = h.rows(stay), rows_AK[stay], last_AK[stay]
        if self.beam > 1 or some:
            self.state = reorder(self.state, rows_AK.flatten())
        self.hypotheses, self.last_R = h, last_AK.flatten()
        self.steps = [steps + 1 for steps in self.steps]


def _attended(h: Hypotheses, attention_RS: Tensor) -> Hypotheses:
    """With what this step reads, which belongs to the token that is to come."""
    attention_AKS = attention_RS.float().view(h.count, h.beam, -1)
    S = attention_AKS.shape[-1]  # nobody's source is longer, so what was wider may be cut
    assert h.attention_AKTS is not None
    assert h.read_AKS is not None
    attention_AKTS = _wide(h.attention_AKTS, S)
    ...
