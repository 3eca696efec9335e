"""What writing needs: things to answer, the scores of the next token, and the answers that come of it."""
# B items  R rows (hypotheses that are being written)  V tokens  T written tokens  S source positions

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from seqloom.generation.sampling import Sampling
from seqloom.layers.mixer import State
from seqloom.layers.native.run import Chance
from seqloom.layers.native.search import Search
from seqloom.layers.shortlist import Shortlist


@dataclass(frozen=True)
class Item:
    """One thing to write an answer to. Lengths are in tokens of the answer, without the end mark."""

    source: Sequence[int]
    """What is read, as the scorer's `start` takes it; a prompt for a language model."""
    number: int
    """Its place in the input. What comes back carries it, and chance is drawn from it."""
    longest: int
    shortest: int = 0
    prefix: tuple[int, ...] = ()
    """The answer begins with it."""
    must: tuple[tuple[int, ...], ...] = ()
    """Phrases that the answer holds."""
    must_not: tuple[tuple[int, ...], ...] = ()
    """Phrases that it does not hold."""
    refuses: Callable[[Sequence[int]], bool] | None = None
    """Whether an answer must not begin with these tokens, which `must_not` allows: other tokens can spell the same."""
    sample: Sampling | None = None
    """How its tokens are drawn, where the settings say that tokens are; None: as they say."""
    seed: int | None = None
    """Of its own chance; None: the settings'."""
    cuts: bool = False
    """Whether `longest` is a wish: what is cut there is ranked with what has ended. Else it keeps a search from going
    on for ever, and what has ended comes first."""


@dataclass(frozen=True)
class Written:
    """One answer."""

    tokens: tuple[int, ...]
    """Without the end mark."""
    score: float
    """What it was ranked by: log_prob with the penalties of length and coverage. NaN where nobody asked for it."""
    log_prob: float
    """Of all its tokens, and of the end mark if it ended: what the model says of it when it reads it; or NaN."""
    log_probs: tuple[float, ...]
    """One a token, and one for the end mark if it ended."""
    ended: bool
    """False: it was cut at the item's `longest`."""
    attention_TS: Tensor | None = None
    """On request: one row a token, the end mark included, over the positions of what was read."""
    unmet: tuple[tuple[int, ...], ...] = ()
    """Phrases that it had to hold and does not, because no answer up to `longest` was found that holds them all."""


class Scorer(Protocol):
    """What the search knows of a model. A state has one row a hypothesis; see layers/mixer.py, reorder and join."""

    begin: int
    end: int
    size: int
    """Tokens in all."""

    def start(self, items: Sequence[Item]) -> tuple[State, Tensor]:
        """The state before the first token of each answer, and last_B: the token behind which to go on."""

    def step(self, last_R: Tensor, state: State, attention: bool) -> tuple[Tensor, Tensor | None, State]:
        """Behind the last tokens: log_probs_RV (normalised), the state behind them, and, on request, attention_RS.

        attention_RS is flush left over each row's source and its end mark, zero behind it; None if the model has none.
        """


@runtime_checkable
class Pointer(Scorer, Protocol):
    """One that can also say what is likeliest without saying how likely, which is faster."""

    def point(self, last_R: Tensor, state: State, shortlist: Shortlist) -> tuple[Tensor, State]:
        """Behind the last tokens: the likeliest of the shortlist's for each row, and the state behind them."""


class Stretch(Protocol):
    """Some steps at once. bad: some number was none, and nothing holds."""

    @property
    def steps(self) -> int: ...

    @property
    def tokens_TR(self) -> list[list[int]]:
        """-1 of rows that were done before. Empty where rows were searched: the search knows."""
        ...

    @property
    def log_probs_TR(self) -> list[list[float]]:
        """Empty where nobody asked."""
        ...

    @property
    def bad(self) -> bool: ...


@dataclass(frozen=True)
class Goal:
    """What some steps at once are to write.

    left: tokens that each row, or each item of a search, may still get. log_probs: somebody asks how likely they are.
    shortlist: where nobody does. chance: None: the likeliest token. most: steps. search: rows are hypotheses, and go
    on as `Writing` has them; items that are done must leave.
    """

    left: list[int]
    most: int
    log_probs: bool = True
    shortlist: Shortlist | None = None
    chance: Chance | None = None
    search: Search | None = None


@runtime_checkable
class Runner(Scorer, Protocol):
    """One that can write several steps in one call, which is faster."""

    def run(self, last_R: Tensor, state: State, goal: Goal) -> tuple[Stretch, Tensor, State] | None:
        """So many steps, or fewer; the last tokens, and the state behind them. Rows that are done (an end mark, or one
        token more than they may get) take no further part, and must leave. None: it cannot be so; `step` can always."""


@runtime_checkable
class Shared(Scorer, Protocol):
    """One that several threads may ask, each with states of its own."""

    @property
    def shared(self) -> bool:
        """Whether they may now: nobody records what is done, or listens to a layer."""
        ...


@runtime_checkable
class Ranker(Scorer, Protocol):
    """One that can say the best few tokens without the scores of all, which is faster."""

    def best(self, last_R: Tensor, state: State, count: int) -> tuple[Tensor, Tensor, State] | None:
        """Behind the last tokens: log_prob_RC (NaN where some number is none) and token_RC, best first, of equals the
        lower token; and the state behind them. None: it cannot be so, and nothing was done; `step` can always."""


@runtime_checkable
class StaticScorer(Scorer, Protocol):
    """One whose states can be static, so that a GPU does a step by heart; see layers/static_state.py."""

    never_N: Tensor
    """Tokens that are not written, however likely."""

    @property
    def device(self) -> torch.device: ...

    def needs(self, item: Item) -> tuple[int, int]:
        """Steps that its decoder may have to remember, and positions of a memory."""

    def scores(self, last_R: Tensor, state: State) -> tuple[Tensor, State]:
        """Behind the last tokens: scores_RV before the softmax, and the state behind them."""
