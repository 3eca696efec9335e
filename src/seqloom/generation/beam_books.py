"""What a search keeps of each item, on the device: its hypotheses, and the best answers that have ended."""
# A items  K hypotheses to each  R = A·K rows  C candidates  N answers that are wanted  T tokens that fit, and an end

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seqloom.generation.beam import NOTHING, Candidates, ranked
from seqloom.generation.choice import split
from seqloom.generation.contract import Item, Written
from seqloom.generation.draft import Draft, Found
from seqloom.generation.length import penalty
from seqloom.generation.no_numbers import refuse_bad
from seqloom.generation.on_its_way import OnItsWay
from seqloom.generation.settings import GenerationSettings, LengthSettings


@dataclass(frozen=True)
class BeamBooks:
    """Written in place. An item that is done stays as it is, until another takes its place."""

    tokens_AKT: Tensor
    log_probs_AKT: Tensor
    total_AK: Tensor
    last_AK: Tensor
    best_AN: Tensor
    """Scores of answers that have ended, best first; what they say follows."""
    best_tokens_ANT: Tensor
    best_log_probs_ANT: Tensor
    best_step_AN: Tensor
    step_A: Tensor
    longest_A: Tensor
    done_A: Tensor
    stuck_A: Tensor
    """It is done because nothing can go on."""
    bad_A: Tensor
    """Some score of it was no number: it has no answer."""
    length: LengthSettings

    @classmethod
    def empty(cls, items: int, settings: GenerationSettings, steps: int, device: torch.device) -> "BeamBooks":
        K, N = settings.beam, settings.n_best

        def full(value: float, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.full((items, *shape), value, dtype=dtype, device=device)

        return cls(
            tokens_AKT=full(0, K, steps + 1),
            log_probs_AKT=full(0, K, steps + 1, dtype=torch.float32),
            total_AK=full(NOTHING, K, dtype=torch.float64),
            last_AK=full(0, K),
            best_AN=full(NOTHING, N, dtype=torch.float64),
            best_tokens_ANT=full(0, N, steps + 1),
            best_log_probs_ANT=full(0, N, steps + 1, dtype=torch.float32),
            best_step_AN=full(0, N),
            step_A=full(0),
            longest_A=full(0),
            done_A=full(True, dtype=torch.bool),
            stuck_A=full(False, dtype=torch.bool),
            bad_A=full(False, dtype=torch.bool),
            length=settings.length,
        )

    @property
    def last_R(self) -> Tensor:
        return self.last_AK.flatten()

    def begin(self, items_A: Tensor, longest_A: Tensor, last_A: Tensor) -> None:
        """One empty hypothesis to each item."""
        self.longest_A.index_copy_(0, items_A, longest_A)
        self.last_AK.index_copy_(0, items_A, last_A[:, None].expand(-1, self.last_AK.shape[1]))
        for part in (self.step_A, self.done_A, self.stuck_A, self.bad_A):
            part.index_fill_(0, items_A, 0)
        for part in (self.total_AK, self.best_AN):
            part.index_fill_(0, items_A, NOTHING)
        self.total_AK[:, 0].index_fill_(0, items_A, 0)

    def choose(self, log_prob_RC: Tensor, token_RC: Tensor, end: int) -> tuple[Tensor, Tensor]:
        """One more token to each hypothesis: which rows go on, and the row that each one continues.

        As `Writing` searches: the best so many go on, what ends ranks among them, and an item is done when nothing
        that goes on can become better than the answers that have ended, however long it grew.
        """
        A, K = self.total_AK.shape
        candidates = ranked(self.total_AK, token_RC, log_prob_RC, 2 * K)
        choice = split(candidates, self.step_A < self.longest_A, end, K)
        here_A = ~self.done_A
        self.bad_A.logical_or_(log_prob_RC.isnan().view(A, -1).any(1) & here_A)
        self._keep(choice.ended, here_A)
        bound_A = choice.going.total_AC.amax(1) / penalty(self.length, self.longest_A.double() + 1)
        goes_A = here_A & (bound_A > self.best_AN[:, -1])
        self.stuck_A.logical_or_(here_A & (bound_A == NOTHING))
        self.done_A.logical_or_(~goes_A)
        own_AK = torch.arange(K, device=goes_A.device).expand(A, -1)
        origin_AK = torch.where(goes_A[:, None], choice.going.origin_AC, own_AK)
        self._extend(choice.going, origin_AK, goes_A)
        rows_AK = torch.arange(A, device=goes_A.device)[:, None] * K + origin_AK
        return goes_A[:, None].expand(-1, K).flatten(), rows_AK.flatten()

    def _keep(self, ended: Candidates, here_A: Tensor) -> None:
        """The best answers, of those so far and those that end now."""
        K, N = self.total_AK.shape[1], self.best_AN.shape[1]
        score_AC = ended.total_AC / penalty(self.length, self.step_A.double() + 1)[:, None]
        score_AC = torch.where(here_A[:, None], score_AC, NOTHING)
        best_AN, pick_AN = torch.cat((self.best_AN, score_AC), 1).sort(dim=1, descending=True, stable=True)
        best_AN, pick_AN = best_AN[:, :N], pick_AN[:, :N]
        at_AK1 = self.step_A[:, None, None].expand(-1, K, 1)
        log_probs_AKT = _taken(self.log_probs_AKT, ended.origin_AC).scatter(2, at_AK1, ended.log_prob_AC[..., None])
        for kept, new in (
            (self.best_tokens_ANT, _taken(self.tokens_AKT, ended.origin_AC)),
            (self.best_log_probs_ANT, log_probs_AKT),
            (self.best_step_AN, self.step_A[:, None].expand(-1, K)),
        ):
            kept.copy_(_taken(torch.cat((kept, new), 1), pick_AN))
        self.best_AN.copy_(best_AN)

    def _extend(self, going: Candidates, origin_AK: Tensor, goes_A: Tensor) -> None:
        """Behind these candidates; who does not go on writes where nobody reads."""
        room, K = self.tokens_AKT.shape[2] - 1, self.total_AK.shape[1]
        at_AK1 = torch.where(goes_A, self.step_A, room)[:, None, None].expand(-1, K, 1)
        for part, new_AK in (self.tokens_AKT, going.token_AC), (self.log_probs_AKT, going.log_prob_AC):
            part.copy_(_taken(part, origin_AK).scatter(2, at_AK1, new_AK[..., None]))
        self.total_AK.copy_(torch.where(goes_A[:, None], going.total_AC, self.total_AK))
        self.last_AK.copy_(torch.where(goes_A[:, None], going.token_AC, self.last_AK))
        self.step_A.add_(goes_A)

    def leave(self, items_A: Tensor, most: int) -> OnItsWay:
        """All that the answers to items that are done are made of. most: steps of the longest."""
        best = (self.best_AN, self.best_step_AN, self.best_tokens_ANT[:, :, : most + 1])
        held = (self.bad_A, self.stuck_A, self.step_A, self.total_AK, self.tokens_AKT[:, :, : most + 1])
        log_probs = self.best_log_probs_ANT[:, :, : most + 1], self.log_probs_AKT[:, :, : most + 1]
        return OnItsWay([part[items_A] for part in (*best, *held, *log_probs)])

    def written(self, left: OnItsWay, settings: GenerationSettings, items: Sequence[Item]) -> Iterator[list[Written]]:
        """The answers to these items, which left, best first, made when they are asked for. Waits for the device."""
        score_AN, step_AN, tokens_ANT, bad_A, stuck_A, *held, log_probs_ANT, held_log_probs_AKT = left.read()
        refuse_bad(bad_A)
        real_ANT = torch.arange(tokens_ANT.shape[2]) <= step_AN[..., None]
        total_AN = torch.where(real_ANT, log_probs_ANT.double(), 0).sum(2)
        parts = (score_AN, total_AN, step_AN, tokens_ANT, log_probs_ANT)
        for a, (stuck, *one) in enumerate(zip(*(part.tolist() for part in (stuck_A, *parts)), strict=True)):
            found = [
                Written(tuple(ids[:step]), score, total, tuple(given[: step + 1]), ended=True)
                for score, total, step, ids, given in zip(*one, strict=True)
                if score > NOTHING
            ]
            cuts = items[a].cuts and int(held[0][a]) >= items[a].longest
            if stuck and (cuts or len(found) < settings.n_best):
                cut = self._cut(*(part[a] for part in (*held, held_log_probs_AKT)))
                found = _joined(found, cut, cuts)
            yield found[: settings.n_best]

    def _cut(self, step: Tensor, total_K: Tensor, tokens_KT: Tensor, log_probs_KT: Tensor) -> list[Written]:
        """Hypotheses as they stand, best first."""
        steps, draft = int(step), Draft(_NOBODY, 1)
        for total, ids, given in zip(total_K.tolist(), tokens_KT.numpy(), log_probs_KT.numpy(), strict=True):
            if total > NOTHING:
                score = total / penalty(self.length, float(max(1, steps)))
                draft.add(Found(score, ids[:steps], given[:steps], ended=False), len(total_K))
        return draft.answers(len(total_K), distinct=True)


def _joined(ended: list[Written], cut: list[Written], alike: bool) -> list[Written]:
    """No text twice. What was cut stands behind all that ended; alike: by its score, among them."""
    both, texts = [*ended, *cut], dict[tuple[int, ...], Written]()
    for one in sorted(both, key=lambda one: -one.score) if alike else both:
        texts.setdefault(one.tokens, one)
    return list(texts.values())


_NOBODY = Item((), 0, 0)


def _taken(x_AK: Tensor, places_AN: Tensor) -> Tensor:
    return x_AK.gather(1, places_AN.view(*places_AN.shape, *(1,) * (x_AK.dim() - 2)).expand(-1, -1, *x_AK.shape[2:]))
