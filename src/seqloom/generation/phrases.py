"""Phrases that an answer must hold, and phrases that it must not hold."""
# R rows  U sets of phrases  P phrases of a set  L tokens of a phrase  S = L + 1 states of a phrase  X crossings
# M which phrases come later, a bit each

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seqloom.generation.automaton import Phrase, automaton, crossing
from seqloom.generation.overlap import MOST, savings

Constraint = tuple[tuple[Phrase, ...], tuple[Phrase, ...]]
"""What must be there, and what must not."""


@dataclass(frozen=True)
class Progress:
    """How far each row is. It can be reordered; rows of new items come by `Phrases.joined`."""

    set_R: Tensor
    at_RP: Tensor
    """So many of the phrase's first tokens are the last that were written; all: it is complete just now."""
    met_RP: Tensor
    """The phrase must be there, and is. What is met stays met."""


class Phrases:
    """The phrases of the items that are being written, one set of them an item.

    Each phrase has a small automaton, so that a beginning that overlaps itself is not
    lost: "a a b" is found in "a a a b". The same phrase twice is the same as once, and a phrase that stands within
    another that must be there need not be there a second time.
    """

    def __init__(self, constraints: Sequence[Constraint], device: torch.device | str = "cpu") -> None:
        reduced = {one: (maximal(one[0]), tuple(dict.fromkeys(one[1]))) for one in dict.fromkeys(constraints)}
        self.sets = list(dict.fromkeys(reduced.values()))
        number = {one: place for place, one in enumerate(self.sets)}
        self._set_of = [number[reduced[one]] for one in constraints]
        self.device = torch.device(device)
        phrases = [(*must, *never) for must, never in self.sets]
        wide = max(map(len, phrases), default=0)
        long = max((len(phrase) for one in phrases for phrase in one), default=1)
        # no token is -1, and no phrase is so long
        tokens_UPL = np.full((len(phrases), wide, long), -1, np.int64)
        next_UPSL = np.zeros((len(phrases), wide, long + 1, long), np.int64)
        length_UP = np.full((len(phrases), wide), -1, np.int64)
        must_UP = np.zeros((len(phrases), wide), np.bool_)
        for row, one in enumerate(phrases):
            must_UP[row, : len(self.sets[row][0])] = True
            for place, phrase in enumerate(one):
                length_UP[row, place] = len(phrase)
                tokens_UPL[row, place, : len(phrase)] = phrase
                next_UPSL[row, place, : len(phrase) + 1, : len(phrase)] = automaton(phrase)
        tables = (torch.from_numpy(table).to(self.device) for table in (tokens_UPL, next_UPSL, length_UP, must_UP))
        self._tokens_UPL, self._next_UPSL, self._length_UP, self._must_UP = tables
        self._crossings(long)
        self._overlaps()

    def _crossings(self, long: int) -> None:
        """Where writing a phrase that must be there completes one that must not, begun before it."""
        found = [
            [
                (place, len(must) + other, table)
                for place, phrase in enumerate(must)
                for other, forbidden in enumerate(never)
                if (table := crossing(phrase, forbidden)) is not None
            ]
            for must, never in self.sets
        ]
        wide = max(map(len, found), default=0)
        pair_UX2 = np.zeros((len(found), wide, 2), np.int64)
        bad_UXSS = np.zeros((len(found), wide, long + 1, long + 1), np.bool_)
        for row, one in enumerate(found):
            for place, (must_place, never_place, table) in enumerate(one):
                pair_UX2[row, place] = must_place, never_place
                bad_UXSS[row, place, : len(table), : len(table[0])] = table
        self._pair_UX2, self._bad_UXSS = (torch.from_numpy(each).to(self.device) for each in (pair_UX2, bad_UXSS))

    def _overlaps(self) -> None:
        """What phrases that must be there share, by which comes first and which later; and what all take at least."""
        each = [savings(must) for must, _ in self.sets]
        later = max((one.shape[1] for one in each), default=1)
        saved_UPM = np.zeros((*self._length_UP.shape, later), np.int64)
        for row, one in enumerate(each):
            saved_UPM[row, : len(one), : one.shape[1]] = one
        self._saved_UPM = torch.from_numpy(saved_UPM).to(self.device)
        nothing_UP = torch.zeros_like(self._length_UP)
        rows_U = torch.arange(len(self.sets), device=self.device)
        self._least_U = self.needed(Progress(rows_U, nothing_UP, nothing_UP.bool()))

    def start(self) -> Progress:
        """Before the first token: one row an item."""
        set_R = torch.tensor(self._set_of, dtype=torch.long, device=self.device)
        at_RP = torch.zeros(len(set_R), self._tokens_UPL.shape[1], dtype=torch.long, device=self.device)
        return Progress(set_R, at_RP, torch.zeros_like(at_RP, dtype=torch.bool))

    def joined(self, progress: Progress, constraints: Sequence[Constraint]) -> tuple["Phrases", Progress]:
        """For new items one row each, behind the rows of the progress. Sets that no row has any more are dropped."""
        before = [self.sets[number] for number in progress.set_R.tolist()]
        phrases = Phrases([*before, *constraints], self.device)
        fresh = phrases.start()
        # a set keeps its order, so that only the width may change
        kept = min(progress.at_RP.shape[1], fresh.at_RP.shape[1])
        fresh.at_RP[: len(before), :kept] = progress.at_RP[:, :kept]
        fresh.met_RP[: len(before), :kept] = progress.met_RP[:, :kept]
        return phrases, fresh

    def advance(self, progress: Progress, tokens_R: Tensor) -> Progress:
        """Behind one more token in each row."""
        next_RPL = self._next(progress)
        is_RPL = self._tokens_UPL[progress.set_R] == tokens_R[:, None, None]
        at_RP = (next_RPL * is_RPL).amax(2)  # the same token leads to the same state, wherever it stands in the phrase
        whole_RP = at_RP == self._length_UP[progress.set_R]
        return Progress(progress.set_R, at_RP, progress.met_RP | whole_RP & self._must_UP[progress.set_R])

    def forbidden(self, progress: Progress) -> tuple[Tensor, Tensor]:
        """Rows and tokens, in pairs: each token that would complete a phrase that must not be there."""
        whole_RPL = self._next(progress) == self._length_UP[progress.set_R][:, :, None]
        return self._pairs(progress, whole_RPL & ~self._must_UP[progress.set_R][:, :, None])

    def wanted(self, progress: Progress) -> tuple[Tensor, Tensor]:
        """Rows and tokens, in pairs: each token that begins a phrase that must still come, or goes on with it."""
        open_RP = self._must_UP[progress.set_R] & ~progress.met_RP
        return self._pairs(progress, (self._next(progress) > 0) & open_RP[:, :, None])

    def met(self, progress: Progress) -> Tensor:
        """met_R, how many tokens of what must be there are, or need not be written any more: of phrases that are met,
        and of the open one that is best gone on with (Post and Vilar 2018). Behind a token that breaks off an open
        phrase it falls."""
        return self._least_U[progress.set_R] - self.needed(progress)

    def needed(self, progress: Progress) -> Tensor:
        """needed_R, so many more tokens are enough to meet all: an open phrase to its end, then the others, each from
        where the one before it leaves off.

        As long as the answer has so much room and takes no token that leaves too little, there is a token to go on
        with, except where a phrase that must not be there stands between: see `safely_needed`.
        """
        open_RP = self._must_UP[progress.set_R] & ~progress.met_RP
        bit_P = 1 << torch.arange(open_RP.shape[1], device=self.device).clamp(max=MOST)
        later_RP = (open_RP * bit_P).sum(1, keepdim=True) & ~bit_P
        later_RP = later_RP % self._saved_UPM.shape[2]  # what is not in the table shares nothing
        shared_RP = self._saved_UPM[progress.set_R].gather(2, later_RP[:, :, None])[:, :, 0]
        saved_RP = (progress.at_RP + shared_RP) * open_RP
        most_R = saved_RP.amax(1) if saved_RP.shape[1] else torch.zeros_like(progress.set_R)
        return (self._length_UP[progress.set_R] * open_RP).sum(1) - most_R

    def safely_needed(self, progress: Progress) -> Tensor:
        """The same, enough also where a phrase that must not be there stands between.

        Where one would be completed across the border, a token comes before that parts the two. As long as there is
        so much room, and some token that no such phrase has, there is always a token to go on with.
        """
        open_RP = self._must_UP[progress.set_R] & ~progress.met_RP
        parted_R1 = (~self._must_UP & (self._length_UP > 0)).any(1)[progress.set_R, None].long()
        saved_RP = (progress.at_RP + parted_R1) * (open_RP & self._can_follow(progress))
        most_R = saved_RP.amax(1) if saved_RP.shape[1] else torch.zeros_like(progress.set_R)
        parted_R = ((self._length_UP[progress.set_R] + parted_R1) * open_RP).sum(1) - most_R
        return torch.where(parted_R1[:, 0] > 0, parted_R, self.needed(progress))

    def _can_follow(self, progress: Progress) -> Tensor:
        """can_RP: going on with the phrase to its end completes none that must not be there."""
        crosses_RP = torch.zeros_like(progress.at_RP)
        if self._pair_UX2.shape[1]:
            must_RX, never_RX = self._pair_UX2[progress.set_R].unbind(2)
            at = progress.at_RP.gather(1, must_RX), progress.at_RP.gather(1, never_RX)
            place_X = torch.arange(must_RX.shape[1], device=self.device)
            bad_RX = self._bad_UXSS[progress.set_R[:, None], place_X, *at]
            crosses_RP.scatter_add_(1, must_RX, bad_RX.long())
        return crosses_RP == 0

    def all_met(self, progress: Progress) -> Tensor:
        """all_met_R: only then may the end mark come."""
        return (progress.met_RP | ~self._must_UP[progress.set_R]).all(1)

    def _next(self, progress: Progress) -> Tensor:
        """next_RPL: the state behind each token of each phrase."""
        place_P = torch.arange(progress.at_RP.shape[1], device=self.device)
        return self._next_UPSL[progress.set_R[:, None], place_P, progress.at_RP]

    def _pairs(self, progress: Progress, chosen_RPL: Tensor) -> tuple[Tensor, Tensor]:
        tokens_RPL = self._tokens_UPL[progress.set_R]
        chosen_RPL = chosen_RPL & (tokens_RPL >= 0)
        return chosen_RPL.nonzero()[:, 0], tokens_RPL[chosen_RPL]


def maximal(phrases: Sequence[Phrase]) -> tuple[Phrase, ...]:
    """Without repeats, and without what stands within another."""
    once = tuple(dict.fromkeys(phrases))
    return tuple(one for one in once if not any(one != other and holds(other, one) for other in once))


def holds(tokens: Phrase, phrase: Phrase) -> bool:
    return any(tokens[at : at + len(phrase)] == phrase for at in range(len(tokens) - len(phrase) + 1))


def conflict(
    must: Sequence[Phrase],
    must_not: Sequence[Phrase],
    longest: int,
    prefix: Phrase = (),
    shown: Callable[[Phrase], object] = list,
) -> str | None:
    """Why no answer of at most `longest` tokens that begins with the prefix can be had, or None.

    None is no promise: a phrase that must not be there may stand between those that must, which only a search finds.
    shown: a phrase as whoever asked knows it.
    """
    if any(not phrase for phrase in (*must, *must_not)):
        return "a phrase is empty; leave it out"
    for never in must_not:
        if holds(prefix, never):
            return f"the prefix holds {shown(never)}, which must not be there"
        for phrase in must:
            if holds(phrase, never):
                return f"{shown(phrase)} must be there, but holds {shown(never)}, which must not"
    phrases = Phrases([(tuple(must), ())])
    progress = phrases.start()
    for token in prefix:
        progress = phrases.advance(progress, torch.tensor([token]))
    needed = len(prefix) + int(phrases.needed(progress))
    if needed > longest:
        return f"what must be there takes {needed} tokens, but the answer has at most {longest}"
    return None
