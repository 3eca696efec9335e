"""The hypotheses of all items that are being written, one step after the other; items join and leave."""
# A items  K hypotheses to each  R = A·K rows  C places that may end  E that do  S source positions

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
import torch
from torch import Tensor

from seqloom.generation.beam import NOTHING, Candidates, ranked
from seqloom.generation.choice import Choice, constrained, diverse, drawn, followed_up, searched, ways
from seqloom.generation.contract import Goal, Item, Ranker, Runner, Scorer, Written
from seqloom.generation.coverage import coverage
from seqloom.generation.draft import Draft, Found
from seqloom.generation.hypotheses import Hypotheses
from seqloom.generation.length import Penalties, penalty
from seqloom.generation.limits import limited
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.pace import STEPS, Pace
from seqloom.generation.phrases import Constraint, Phrases, Progress
from seqloom.generation.settings import LONGEST, GenerationSettings
from seqloom.generation.tree import Tree
from seqloom.layers.cohorts import alike, staying
from seqloom.layers.forked_cache import MOST
from seqloom.layers.mixer import State, fan_out, fork, join, reorder, roomy
from seqloom.layers.native.search import Search
from seqloom.settings import UserError

ROOM = 8  # steps by which the buffers of a state grow


class Writing:
    went, given = 1, 0  # steps, and tokens of all answers, when it was last asked for some
    hypotheses: Hypotheses
    last_R: Tensor
    state: State

    def __init__(self, scorer: Scorer, settings: GenerationSettings, attention: bool, tree: Tree | None = None) -> None:
        """tree: is told of every step, where one item alone is searched for."""
        self.scorer, self.settings, self.attention, self.tree = scorer, settings, attention, tree
        self.beam = settings.beam if settings.sample is None else 1
        self.samples = 1 if settings.sample is None else settings.n_best
        # groups may find the same answer, each of them once
        self.wanted = settings.n_best * settings.groups if settings.sample is None else 1
        self.trace = attention or settings.coverage > 0
        plain = settings.sample is None and settings.groups == 1 and not settings.no_repeat
        self.ranker = scorer if plain and isinstance(scorer, Ranker) else None
        # a tree is told of all that was considered
        self.runner = scorer if plain and tree is None and isinstance(scorer, Runner) else None
        self.pace = Pace(self.runner)
        self.drafts: list[Draft] = []  # one to each item and sample, in the order of the hypotheses
        self.steps: list[int] = []
        self.cohorts: list[int] = []  # of the drafts so many began together
        self.penalties = Penalties(settings.length)
        self._one = False  # the state has one row to an item: all its hypotheses are still the same
        self.phrases: Phrases | None = None
        self.progress: Progress | None = None

    @property
    def items(self) -> int:
        return len(self.drafts) if self.samples == 1 else len({id(draft) for draft in self.drafts})

    @torch.inference_mode()
    def begin(self, items: Sequence[Item]) -> None:
        """These join those that are being written."""
        if not items:
            return
        state, last_B = self.scorer.start(items)
        each = [draft for item in items for draft in [Draft(item, self.samples)] * self.samples]
        new = Hypotheses.begin(
            [draft.item for draft in each],
            list(range(self.samples)) * len(items),
            last_B.device,
            beam=self.beam,
            groups=1 if self.settings.sample is not None else self.settings.groups,
            keep=self.wanted,
            trace=self.trace,
        )
        if self.samples > 1:  # samples go their own ways, and end alone
            rows = torch.arange(len(items), device=last_B.device).repeat_interleave(self.samples)
            state, last_B = reorder(state, rows), last_B[rows]
        self._one = self.beam > 1 and self.ranker is not None and (self._one or not self.drafts)
        if self.beam > 1 and not self._one:
            state, last_B = fan_out(state, self.beam), last_B.repeat_interleave(self.beam)
        sizes = tuple(size * self.samples for size in alike([len(item.source) for item in items]))
        state = roomy(state, ROOM, sizes)
        self._begin_phrases([(draft.item.must, draft.item.must_not) for draft in each], last_B.device)
        if self.drafts:
            state, last_B = join([self.state, state]), torch.cat((self.last_R, last_B))
            new = Hypotheses.join([self.hypotheses, new])
        self.state, self.last_R, self.hypotheses = state, last_B, new
        self.pace.joined(len(self.drafts), len(self.drafts) + len(each))
        self.drafts += each
        self.steps += [0] * len(each)
        self.cohorts += sizes

    def _begin_phrases(self, constraints: Sequence[Constraint], device: torch.device) -> None:
        if not self.drafts:
            self.phrases = self.progress = None
        if self.phrases is None and not any(must or never for must, never in constraints):
            return
        if self.phrases is None or self.progress is None:
            self.phrases = Phrases([((), ())] * (len(self.drafts) * self.beam), device)
            self.progress = self.phrases.start()
        rows = [constraint for constraint in constraints for _ in range(self.beam)]
        self.phrases, self.progress = self.phrases.joined(self.progress, rows)

    @torch.inference_mode()
    def step(self, most: int = STEPS) -> list[Draft]:
        """One more token to each hypothesis, or up to so many; the drafts that are complete with the last."""
        if not self.drafts:
            return []
        self.went, self.given = 1, len(self.drafts)
        complete = self._run(min(most, self.pace.begin(len(self.drafts) * self.beam)))
        if complete is None:
            complete = self._stepped()
        self.pace.end(self.went)
        return complete

    def _run(self, most: int) -> list[Draft] | None:
        """Some steps at once of a search that has nothing to obey; None: one by one."""
        if self.runner is None or not 1 < self.beam <= MOST or not self.last_R.is_cpu or not self._free:
            return None
        longest = max(draft.item.longest for draft in self.drafts)
        if longest > LONGEST:  # a table of penalties has that many
            return None
        self._fan_out()
        left = [draft.item.longest - steps for draft, steps in zip(self.drafts, self.steps, strict=True)]
        h = self.hypotheses.roomier(max(self.steps) + most)
        parts = h.tokens_AKT, h.log_probs_AKT, h.total_AK, h.best_AN
        search = Search(*parts, self.steps, self.penalties.up_to(longest + 1))
        made = self.runner.run(self.last_R, self.state, Goal(left, most, search=search))
        if made is None:
            return None
        found, self.last_R, self.state = made
        if found.bad:
            raise NoNumbersError
        self.went, self.given = found.steps, sum(search.steps) - sum(self.steps) + len(search.done)
        self.hypotheses, self.steps = replace(h, step_A=torch.tensor(search.steps)), search.steps
        for one in search.ended:
            self.drafts[one.item].add(Found(one.score, one.tokens, one.log_probs, ended=True), self.wanted)
        for a in (a for a, stuck in search.done.items() if stuck and self._wants(a, False)):
            self._cut(self.hypotheses, a)
        complete = [self.drafts[a] for a in search.done]
        for draft in complete:
            draft.parts -= 1
        self.leave(set(search.done))
        return complete

    def _stepped(self) -> list[Draft]:
        """One step; the drafts that are complete with it."""
        h, choice, no_number_R = self._ranked() or self._considered()
        score_AC = self._score(h, choice.ended)
        if self.tree is not None:
            self.tree.step(choice.considered, choice.going, choice.ended, score_AC, self.settings.groups)
        best_AN = torch.cat((h.best_AN, score_AC), 1).topk(self.wanted).values
        # no log_prob to come is above 0, no coverage penalty either, and no length is worth more than the longest
        bound_A = choice.going.total_AC.amax(1) / penalty(self.settings.length, h.longest_A.double() + 1)
        no_number_A = no_number_R.view(h.count, -1).any(1)
        flags = (bound_A <= best_AN[:, -1])[:, None], (bound_A == NOTHING)[:, None], no_number_A[:, None]
        events = torch.cat((choice.ended.total_AC > NOTHING, *flags), 1).nonzero().tolist()
        if any(place == score_AC.shape[1] + len(flags) - 1 for _, place in events):
            raise NoNumbersError
        complete = self._record(h, choice.ended, score_AC, events)
        done = {a for a, place in events if place == score_AC.shape[1]}
        self._advance(replace(h, best_AN=best_AN), choice.going, done)
        return complete

    def _fan_out(self) -> None:
        """From now on each hypothesis has a row of its own."""
        if self._one:
            self.state, self.last_R = fan_out(self.state, self.beam), self.last_R.repeat_interleave(self.beam)
            self._one = False

    def _considered(self) -> tuple[Hypotheses, Choice, Tensor]:
        """With what the model says of all tokens; and in which rows that is no number."""
        self._fan_out()
        log_probs_RV, attention_RS, self.state = self.scorer.step(self.last_R, self.state, self.trace)
        h = self._attended(self.hypotheses, attention_RS)
        # one NaN among a row's scores makes all of them NaN; the end mark's stands for them
        return h, self._choice(h, log_probs_RV.float()), log_probs_RV[:, self.scorer.end].isnan()

    @property
    def _free(self) -> bool:
        """Nobody has wishes, or asks where the model looks."""
        h = self.hypotheses
        bound = self.trace or h.shortest or h.prefix_AP.shape[1] or self.phrases is not None
        return not bound and all(draft.item.refuses is None for draft in self.drafts)

    def _ranked(self) -> tuple[Hypotheses, Choice, Tensor] | None:
        """The same of a search that has nothing to obey, if the scorer can tell the best few of each row alone."""
        h, count = self.hypotheses, ways(self.beam)
        if self.ranker is None or not self._free:
            return None
        made = self.ranker.best(self.last_R, self.state, count)
        if made is None:
            return None
        log_prob_RC, token_RC, self.state = made
        if self._one:  # a first step: of an item's hypotheses only one can go on, and is asked for
            log_prob_RC, token_RC = (part.repeat_interleave(self.beam, 0) for part in (log_prob_RC, token_RC))
            self._fan_out()
        choice = followed_up(h, ranked(h.total_AK, token_RC, log_prob_RC, count), self.scorer.end)
        return h, choice, log_prob_RC[:, 0].isnan()

    def sure(self) -> list[int]:
        """What the best answer to the first item begins with, however it goes on: all that can still be it do so."""
        h, going_K = self.hypotheses, self.hypotheses.total_AK[0] > NOTHING
        rows = h.tokens_AKT[0, going_K, : self.steps[0]].tolist()
        rows += [found.tokens.tolist() for found in self.drafts[0].best()]
        return [each[0] for each in takewhile(lambda each: len(set(each)) == 1, zip(*rows, strict=False))]

    def answers(self, draft: Draft) -> list[Written]:
        """Of a draft that is complete, best first."""
        return draft.answers(self.settings.n_best, distinct=self.settings.sample is None)

    def so_far(self, places: Sequence[int]) -> list[Written]:
        """Of a beam of 1, and of samples: what these drafts have, which stays as it is."""
        if not places:
            return []
        at, found = torch.tensor(places, device=self.last_R.device), list[Written]()
        h = self.hypotheses
        parts = (part[at, 0].cpu().numpy() for part in (h.tokens_AKT, h.log_probs_AKT, h.total_AK))
        for place, tokens_T, log_probs_T, total in zip(places, *parts, strict=True):
            steps = self.steps[place]
            score = float(total / penalty(self.settings.length, float(max(1, steps))))
            log_probs = log_probs_T[:steps].astype(np.float64)
            tokens = tuple(tokens_T[:steps].tolist())
            found.append(Written(tokens, score, float(log_probs.sum()), tuple(log_probs.tolist()), ended=False))
        return found

    @torch.inference_mode()
    def leave(self, places: set[int]) -> None:
        """Drafts that nobody waits for any more; what they have found is lost."""
        if len(places) == len(self.drafts):
            self.drafts, self.steps, self.cohorts, self.state = [], [], [], None
        if not places or not self.drafts:
            return
        self._fan_out()
        device = self.last_R.device
        kept, self.cohorts = staying(self.cohorts, places)
        stay = torch.tensor(kept, device=device)
        rows = (stay[:, None] * self.beam + torch.arange(self.beam, device=device)).flatten()
        self.drafts, self.steps = [self.drafts[a] for a in kept], [self.steps[a] for a in kept]
        self.hypotheses, self.last_R = reorder(self.hypotheses, stay), self.last_R[rows]
        self.state = reorder(self.state, rows)
        if self.progress is not None:
            self.progress = reorder(self.progress, rows)

    def _choice(self, h: Hypotheses, given_RV: Tensor) -> Choice:
        """Where an item refuses what would be written, without that: the next best takes its place."""
        settings, end, phrases, progress = self.settings, self.scorer.end, self.phrases, self.progress
        allowed_RV = limited(given_RV, h, end, min(self.steps), settings.no_repeat, phrases, progress)
        choice = self._choose(h, allowed_RV)
        if all(draft.item.refuses is None for draft in self.drafts):
            return choice
        allowed_RV = allowed_RV.clone()
        while refused := self._refused(h, choice.going):
            allowed_RV[tuple(torch.tensor(refused, device=allowed_RV.device).unbind(1))] = NOTHING
            choice = self._choose(h, allowed_RV)
        return choice

    def _choose(self, h: Hypotheses, allowed_RV: Tensor) -> Choice:
        settings, end, phrases, progress = self.settings, self.scorer.end, self.phrases, self.progress
        if settings.sample is not None:
            items = [draft.item for draft in self.drafts]
            sampling = [item.sample or settings.sample for item in items]
            return drawn(h, allowed_RV, end, sampling, [_or(item.seed, settings.seed) for item in items])
        if settings.groups > 1:
            return diverse(h, allowed_RV, end, settings.groups, settings.diversity)
        if phrases is not None and progress is not None and any(draft.item.must for draft in self.drafts):
            return constrained(h, allowed_RV, end, phrases, progress)
        return searched(h, allowed_RV, end)

    def _refused(self, h: Hypotheses, going: Candidates) -> list[tuple[int, int]]:
        """Rows and tokens, in pairs. What an item begins with is not looked at: it was asked for."""
        found = []
        for a, (draft, steps) in enumerate(zip(self.drafts, self.steps, strict=True)):
            refuses = draft.item.refuses
            if refuses is None or steps < len(draft.item.prefix):
                continue
            before = h.tokens_AKT[a, :, :steps].tolist()
            each = zip(*(part[a].tolist() for part in (going.origin_AC, going.token_AC, going.total_AC)), strict=True)
            found += [
                (a * self.beam + origin, token)
                for origin, token, total in each
                if total > NOTHING and refuses([*before[origin], token])
            ]
        return found

    def _attended(self, h: Hypotheses, attention_RS: Tensor | None) -> Hypotheses:
        if not self.trace:
            return h
        if attention_RS is not None:
            return h.attended(attention_RS.float(), max(self.steps))
        if self.settings.coverage:
            raise UserError("generation.coverage: the model has no attention over what it reads; set coverage = 0")
        self.trace = False
        return replace(h, attention_AKTS=None, read_AKS=None)

    def _score(self, h: Hypotheses, ended: Candidates) -> Tensor:
        score_AC = ended.total_AC / penalty(self.settings.length, h.step_A.double() + 1)[:, None]
        if self.settings.coverage and h.read_AKS is not None:
            read_ACS = h.read_AKS.gather(1, ended.origin_AC[..., None].expand(-1, -1, h.read_AKS.shape[-1]))
            score_AC = score_AC + coverage(read_ACS, h.source_A[:, None], self.settings.coverage)
        return score_AC

    def _record(
        self, h: Hypotheses, ended: Candidates, score_AC: Tensor, events: Sequence[Sequence[int]]
    ) -> list[Draft]:
        """Keep what ended, and of items in which nothing goes on what is cut; the drafts that are complete.

        events: item and place; the places behind those of the scores say that it is done, and that nothing goes on.
        """
        C = score_AC.shape[1]
        ends = [(a, place) for a, place in events if place < C]
        if ends:
            at = torch.tensor(ends, device=score_AC.device).unbind(1)
            self._keep(h, [a for a, _ in ends], ended.origin_AC[at], score_AC[at], ended.log_prob_AC[at])
        now = {a for a, _ in ends}
        for a in (a for a, place in events if place == C + 1 and self._wants(a, a in now)):
            self._cut(h, a)
        complete = []
        for draft in (self.drafts[a] for a, place in events if place == C):
            draft.parts -= 1
            if not draft.parts:
                complete.append(draft)
        return complete

    def _cut(self, h: Hypotheses, a: int) -> None:
        """All hypotheses to an item as they stand."""
        held = (h.total_AK[a] > NOTHING).nonzero()[:, 0]
        score_E = h.total_AK[a, held] / penalty(self.settings.length, float(max(1, self.steps[a])))
        if self.settings.coverage and h.read_AKS is not None:
            score_E = score_E + coverage(h.read_AKS[a, held], h.source_A[a], self.settings.coverage)
        if self.tree is not None:
            self.tree.cut(held.tolist(), h.total_AK[a, held].tolist(), score_E.tolist(), self.steps[a])
        self._keep(h, [a] * len(held), held, score_E, None)

    def _wants(self, a: int, ended: bool) -> bool:
        """Too few have ended, so that those that are cut are needed, or these count as much. ended: one did in this
        very step."""
        if self.settings.sample is not None:
            return not ended
        item, full = self.drafts[a].item, len(self.drafts[a].found) >= self.wanted
        return not full or (item.cuts and self.beam > 1 and self.steps[a] >= item.longest)

    def _keep(
        self, h: Hypotheses, items: Sequence[int], origin_E: Tensor, score_E: Tensor, end_E: Tensor | None
    ) -> None:
        """Some hypotheses as they stand. end_E: the log_probs of their end marks; None: they are cut."""
        at = torch.tensor(items, device=origin_E.device), origin_E
        tokens_ET, log_probs_ET = h.tokens_AKT[at].cpu().numpy(), h.log_probs_AKT[at].cpu().numpy()
        traced = self.attention and h.attention_AKTS is not None
        attention_ETS = h.attention_AKTS[at].cpu().numpy() if traced and h.attention_AKTS is not None else None
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

    def _advance(self, h: Hypotheses, going: Candidates, done: set[int]) -> None:
        """Follow the candidates, and let go of the items that are done."""
        if len(done) == h.count:
            self.drafts, self.steps, self.cohorts, self.state = [], [], [], None
            return
        rows_AK = torch.arange(h.count, device=self.last_R.device)[:, None] * self.beam + going.origin_AC
        h, last_AK = h.extended(going, max(self.steps)), going.token_AC
        if done:
            kept, self.cohorts = staying(self.cohorts, done)
            self.drafts, self.steps = [self.drafts[a] for a in kept], [self.steps[a] for a in kept]
            stay = torch.tensor(kept, dtype=torch.int64, device=self.last_R.device)
            h, rows_AK, last_AK = reorder(h, stay), rows_AK[stay], last_AK[stay]
        self.hypotheses, self.last_R = h, last_AK.flatten()
        if done:
            self.state = reorder(self.state, rows_AK.flatten())
        elif self.beam > 1:
            self.state = fork(self.state, rows_AK.flatten())
        if self.phrases is not None and self.progress is not None:
            self.progress = self.phrases.advance(reorder(self.progress, rows_AK.flatten()), self.last_R)
        self.steps = [steps + 1 for steps in self.steps]


def _or(own: int | None, other: int) -> int:
    return other if own is None else own


def _real(attention_TS: np.ndarray) -> np.ndarray:
    """Without the padding, which nobody looks at."""
    seen = np.flatnonzero(attention_TS.any(0))
    return attention_TS[:, : seen[-1] + 1 if len(seen) else 0].copy()
