"""Always the likeliest token, with nothing else to obey: the shortest way through a step.

The same answers as a search with a beam of 1, which keeps its books in tensors; with one hypothesis to an item a list
is enough, and what a step costs besides the model is what counts where few are written together.
"""
# A items

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from seqloom.generation.contract import Goal, Item, Pointer, Runner, Scorer, Written
from seqloom.generation.draft import Draft, Found
from seqloom.generation.length import penalty
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.pace import STEPS, Pace
from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.writing import ROOM
from seqloom.layers.cohorts import alike, staying
from seqloom.layers.mixer import State, join, reorder, roomy
from seqloom.layers.shortlist import Shortlist


def is_greedy(settings: GenerationSettings, attention: bool) -> bool:
    """Whether nothing but the likeliest token is asked for. attention: where the model looked, too."""
    steered = settings.coverage or settings.no_repeat or settings.shortest or attention
    return settings.beam == 1 and settings.sample is None and not steered


def is_plain(item: Item) -> bool:
    """Whether it has no wishes for its answer."""
    return not (item.prefix or item.must or item.must_not or item.shortest) and item.refuses is None


@dataclass
class Line:
    """What is being written to one item."""

    draft: Draft
    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    key: int = 0
    """What its chance hangs on, where tokens are drawn."""
    by: Sampling | None = None
    """How they are."""

    def ended(self, settings: GenerationSettings, log_prob: float | None) -> Found:
        """log_prob: of the end mark; None: it is cut."""
        given = self.log_probs if log_prob is None else [*self.log_probs, log_prob]
        score = sum(given) / penalty(settings.length, float(max(1, len(given))))
        tokens, log_probs = np.array(self.tokens, np.int64), np.array(given, np.float32)
        return Found(score, tokens, log_probs, ended=log_prob is not None)

    def pointed(self, ended: bool) -> Found:
        """Nobody asked how likely it is."""
        return Found(math.nan, np.array(self.tokens, np.int64), None, ended)


class Greedy:
    """Items join, and leave when they are done, as in `Writing`; they have no wishes.

    likely: whether anybody asks how likely tokens are. shortlist: where nobody does.
    """

    beam = samples = 1
    state: State
    last_A: Tensor

    def __init__(
        self,
        scorer: Scorer | Pointer | Runner,
        settings: GenerationSettings,
        shortlist: Shortlist | None = None,
        likely: bool = True,
    ) -> None:
        self.scorer, self.settings, self.shortlist = scorer, settings, shortlist
        self.likely = likely and shortlist is None
        # asked once: to look whether something can do all that a protocol says takes as long as a layer
        self.runner = scorer if isinstance(scorer, Runner) else None
        self.pointer = scorer if shortlist is not None and isinstance(scorer, Pointer) else None
        self.lines: list[Line] = []
        self.went, self.given = 0, 0  # steps, and tokens of all lines, when it was last asked for some
        self.pace = Pace(self.runner)
        self.cohorts: list[int] = []  # of the lines so many began together, with sources of like length

    @property
    def items(self) -> int:
        return len(self.lines)

    @property
    def drafts(self) -> list[Draft]:
        """In the order of what is being written."""
        return [line.draft for line in self.lines]

    @torch.inference_mode()
    def begin(self, items: Sequence[Item]) -> None:
        """These join those that are being written."""
        if not items:
            return
        state, last_A = self.scorer.start(items)
        sizes = alike([len(item.source) for item in items])
        state = roomy(state, ROOM, sizes)
        if self.lines:
            state, last_A = join([self.state, state]), torch.cat((self.last_A, last_A))
        self.state, self.last_A = state, last_A
        before = len(self.lines)
        self.lines += [Line(Draft(item, 1)) for item in items]
        self.pace.joined(before, len(self.lines))
        self.cohorts += sizes

    @torch.inference_mode()
    def step(self, most: int = STEPS) -> list[Draft]:
        """One more token to each, or up to so many while all go on; the drafts that are complete with the last."""
        if not self.lines:
            return []
        self.went, self.given = 1, 0
        done = self._run(min(most, self.pace.begin(len(self.lines))))
        if done is None:
            done = self._written() if self.shortlist is None else self._pointed(self.shortlist)
        self.pace.end(self.went)
        complete = list({id(draft): draft for a in done if not (draft := self.lines[a].draft).parts}.values())
        self.leave(set(done))
        return complete

    def _run(self, most: int) -> list[int] | None:
        """The lines that are done with the last of some tokens; None where these are to be asked for one by one."""
        if self.runner is None:
            return None
        left = [line.draft.item.longest - len(line.tokens) for line in self.lines]
        made = self.runner.run(self.last_A, self.state, self._goal(left, most))
        if made is None:
            return None
        found, self.last_A, self.state = made
        if found.bad:
            raise NoNumbersError
        self.went, done = found.steps, list[int]()
        lines = list(enumerate(self.lines))
        for step, tokens in enumerate(found.tokens_TR):
            ended = self._added(lines, tokens, found.log_probs_TR[step] if self.likely else None)
            if ended:
                done += ended
                lines = [(a, line) for a, line in lines if a not in ended]
        return done

    def _goal(self, left: list[int], most: int) -> Goal:
        return Goal(left, most, self.likely, self.shortlist)

    @property
    def _kept(self) -> int:
        """Answers to an item."""
        return 1

    def _added(
        self, lines: Iterable[tuple[int, Line]], tokens: Sequence[int], log_probs: Sequence[float] | None
    ) -> list[int]:
        """One token to each of these; those that are done with it. log_probs: None: nobody asks."""
        done = []
        for a, line in lines:
            self.given += 1
            token, log_prob = tokens[a], 0.0 if log_probs is None else log_probs[a]
            if log_prob != log_prob:
                raise NoNumbersError
            nothing = log_prob == -np.inf
            if token != self.scorer.end and len(line.tokens) < line.draft.item.longest and not nothing:
                line.tokens.append(token)
                line.log_probs.append(log_prob)
                continue
            ends = token == self.scorer.end and not nothing
            found = line.ended(self.settings, log_prob if ends else None) if self.likely else line.pointed(ends)
            line.draft.add(found, self._kept)
            line.draft.parts -= 1
            done.append(a)
        return done

    def _pointed(self, shortlist: Shortlist) -> list[int]:
        """The lines that are done with the next token."""
        assert self.pointer is not None
        self.last_A, self.state = self.pointer.point(self.last_A, self.state, shortlist)
        return self._added(enumerate(self.lines), self.last_A.tolist(), None)

    def _written(self) -> list[int]:
        """The same, of all tokens, with how likely they are."""
        log_probs_AV, _, self.state = self.scorer.step(self.last_A, self.state, False)
        self.last_A, best_A = _likeliest(log_probs_AV)
        return self._added(enumerate(self.lines), self.last_A.tolist(), best_A.tolist())

    def answers(self, draft: Draft) -> list[Written]:
        """Of a draft that is complete: one."""
        return draft.answers(1, distinct=True)

    def so_far(self, places: Sequence[int]) -> list[Written]:
        """What these have, which stays as it is."""
        return [self.lines[place].ended(self.settings, None).written() for place in places]

    @torch.inference_mode()
    def leave(self, places: set[int]) -> None:
        """Those that are done, or that nobody waits for any more."""
        if len(places) == len(self.lines):
            self.lines, self.cohorts, self.state = [], [], None
        if not places or not self.lines:
            return
        kept, self.cohorts = staying(self.cohorts, places)
        self.lines = [self.lines[a] for a in kept]
        rows = torch.tensor(kept, device=self.last_A.device)
        self.last_A, self.state = self.last_A[rows], reorder(self.state, rows)


def _likeliest(scores_AV: Tensor) -> tuple[Tensor, Tensor]:
    if scores_AV.device.type != "cpu":
        best_A, place_A = scores_AV.max(-1)
        return place_A, best_A
    # numpy finds it ten times as fast; of equals it, too, takes the lower place
    place_A = torch.from_numpy(scores_AV.numpy().argmax(-1))
    return place_A, scores_AV.gather(1, place_A[:, None])[:, 0]
