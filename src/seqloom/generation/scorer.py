"""Built models as scorers: what follows, and where they look while they say it."""
# B items  R rows  V tokens  N tokens that are never written  H heads  S source positions

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.generation.contract import Goal, Item, Stretch
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.native.run import Wanted
from seqloom.layers.native.vocabulary import log_softmax_
from seqloom.layers.recurrent_cell import RecurrentCell
from seqloom.layers.shortlist import Shortlist, shortlist_if_faster
from seqloom.models.block import Block
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.heads import TokenHead
from seqloom.models.output import DecoderState, Output
from seqloom.models.stretch import in_c, ranking, stretch


@dataclass(frozen=True)
class PairState:
    decoder: DecoderState
    read_B: Tensor
    """Tokens of the source, without its end mark."""


class PairScorer:
    """Reads a source and writes an answer. The model should be in eval mode.

    never: tokens that are not written, however likely. reverse: sources are read backwards, as the model was trained.
    layer: which of the decoder's layers that look at the source tells where it looks; -1 is the last one. half: the
    precision of products, under autocast; see models/in_half.py.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        begin: int,
        end: int,
        *,
        never: Sequence[int] = (),
        reverse: bool = False,
        layer: int = -1,
        half: torch.dtype | None = None,
    ) -> None:
        self.model, self.begin, self.end, self.reverse, self.half = model, begin, end, reverse, half
        self.never_N = torch.tensor(never, dtype=torch.int64, device=self.device)
        self.size = model.sizes.target
        looking = looks(model)
        self.looks = looking[layer] if looking else None

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def start(self, items: Sequence[Item]) -> tuple[PairState, Tensor]:
        sources = [self.read(item) for item in items]
        # by way of numpy: torch reads long lists much more slowly
        tokens_N = torch.from_numpy(np.fromiter(chain.from_iterable(sources), np.int64)).to(self.device)
        layout = Packed.of([len(source) for source in sources], device=self.device)
        with _in(self.half, self.device):
            state = PairState(self.model.start(self.model.encode(tokens_N, layout)), layout.lengths_B - 1)
        return state, torch.full((len(items),), self.begin, device=self.device)

    def read(self, item: Item) -> list[int]:
        """The tokens that the encoder reads."""
        return [*(reversed(item.source) if self.reverse else item.source), self.end]

    @property
    def framed(self) -> bool:
        """Whether it can start items whose lengths only the device knows; a recurrence would go there step by step."""
        return not any(isinstance(part, RecurrentCell) for part in self.model.encoder.modules())

    @torch.inference_mode()
    def start_framed(self, tokens_N: Tensor, lengths_B: Tensor, longest: int) -> PairState:
        """As `start`, of rows of these lengths; rows of no tokens, and tokens behind the last row, fill it up."""
        layout = Packed.within(lengths_B, len(tokens_N), longest)
        with _in(self.half, self.device):
            return PairState(self.model.start(self.model.encode(tokens_N, layout)), lengths_B - 1)

    @torch.inference_mode()
    def step(self, last_R: Tensor, state: PairState, attention: bool) -> tuple[Tensor, Tensor | None, PairState]:
        with _in(self.half, self.device):
            with watched(self.looks if attention else None) as seen:
                output = self.model.step(last_R[:, None], _ones(last_R), state.decoder)
            scores_R1V = self.model.scores(output)
        assert output.state is not None
        log_probs_RV = log_probs_of(scores_R1V, self.never_N)
        attention_RS = self._in_order(seen[0].mean(1)[:, 0], state.read_B) if seen else None
        return log_probs_RV, attention_RS, PairState(output.state, state.read_B)

    @torch.inference_mode()
    def point(self, last_R: Tensor, state: PairState, shortlist: Shortlist) -> tuple[Tensor, PairState]:
        output = self.model.step(last_R[:, None], _ones(last_R), state.decoder)
        assert output.state is not None
        return _largest(self.model.head, output, shortlist), PairState(output.state, state.read_B)

    @torch.inference_mode()
    def scores(self, last_R: Tensor, state: PairState) -> tuple[Tensor, PairState]:
        with _in(self.half, self.device):
            output = self.model.step(last_R[:, None], _ones(last_R), state.decoder)
            scores_R1V = self.model.scores(output)
        assert output.state is not None
        return scores_R1V[:, 0], PairState(output.state, state.read_B)

    @torch.inference_mode()
    def run(self, last_R: Tensor, state: PairState, goal: Goal) -> tuple[Stretch, Tensor, PairState] | None:
        made = None if self.half is not None else stretch(self.model, last_R, state.decoder, self._wanted.of(goal))
        return None if made is None else (made, made.last_R, PairState(made.state, state.read_B))

    @torch.inference_mode()
    def best(self, last_R: Tensor, state: PairState, count: int) -> tuple[Tensor, Tensor, PairState] | None:
        ranks = None if self.half is not None else ranking(self.model, self._wanted.never_V, count)
        if ranks is None:
            return None
        output = self.model.step(last_R[:, None], _ones(last_R), state.decoder)
        assert output.state is not None
        return *ranks(output), PairState(output.state, state.read_B)

    @property
    @torch.inference_mode()
    def shared(self) -> bool:
        return self.half is None and in_c(self.model)

    @cached_property
    def _wanted(self) -> "_Wanted":
        return _Wanted(self.size, self.never_N, self.end)

    def needs(self, item: Item) -> tuple[int, int]:
        return item.longest + 1, len(item.source) + 1

    def _in_order(self, attention_RS: Tensor, read_R: Tensor) -> Tensor:
        """Over the source as it was given, not as it was read; its end mark comes last in both."""
        if not self.reverse:
            return attention_RS
        place_S = torch.arange(attention_RS.shape[1], device=read_R.device)
        last_R1 = read_R[:, None] - 1
        return attention_RS.gather(1, torch.where(place_S <= last_R1, last_R1 - place_S, place_S))


class TextScorer:
    """Goes on with a text. The model should be in eval mode. It has no attention over a source.

    framed: a text begins with the begin mark, as documents do; otherwise only an empty prompt does, as there must be
    something to go on from. never: tokens that are not written, however likely. separator: what stands between a prompt
    that is a source, and its answer; reverse: such sources are read backwards. half: as of PairScorer.
    """

    def __init__(
        self,
        model: DecoderOnly,
        begin: int,
        end: int,
        *,
        never: Sequence[int] = (),
        framed: bool = True,
        separator: int | None = None,
        reverse: bool = False,
        half: torch.dtype | None = None,
    ) -> None:
        self.model, self.begin, self.end, self.framed = model, begin, end, framed
        self.separator, self.reverse, self.half = separator, reverse, half
        self.never_N = torch.tensor(never, dtype=torch.int64, device=self.device)
        self.size = model.sizes.target

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def start(self, items: Sequence[Item]) -> tuple[DecoderState, Tensor]:
        prompts = [self._prompt(item) for item in items]
        state = self.model.start(len(items))
        last_B = torch.tensor([prompt[-1] for prompt in prompts], device=self.device)
        read = [prompt[:-1] for prompt in prompts]
        longest = max(map(len, read))
        if longest:
            tokens_BT = torch.tensor([[*tokens, *[0] * (longest - len(tokens))] for tokens in read], device=self.device)
            layout = Padded.of([len(tokens) for tokens in read], longest, device=self.device)
            with _in(self.half, self.device):
                output = self.model(tokens_BT, layout, state)
            assert output.state is not None
            state = output.state
        return state, last_B

    def _prompt(self, item: Item) -> list[int]:
        if self.separator is not None:
            return [*(reversed(item.source) if self.reverse else item.source), self.separator]
        return [self.begin, *item.source] if self.framed or not len(item.source) else list(item.source)

    @torch.inference_mode()
    def step(self, last_R: Tensor, state: DecoderState, attention: bool) -> tuple[Tensor, Tensor | None, DecoderState]:
        scores_RV, after = self.scores(last_R, state)
        return log_probs_of(scores_RV[:, None], self.never_N), None, after

    @torch.inference_mode()
    def point(self, last_R: Tensor, state: DecoderState, shortlist: Shortlist) -> tuple[Tensor, DecoderState]:
        output = self.model(last_R[:, None], _ones(last_R), state)
        assert output.state is not None
        return _largest(self.model.head, output, shortlist), output.state

    @torch.inference_mode()
    def scores(self, last_R: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        with _in(self.half, self.device):
            output = self.model(last_R[:, None], _ones(last_R), state)
            scores_R1V = self.model.scores(output)
        assert output.state is not None
        return scores_R1V[:, 0], output.state

    @torch.inference_mode()
    def run(self, last_R: Tensor, state: DecoderState, goal: Goal) -> tuple[Stretch, Tensor, DecoderState] | None:
        made = None if self.half is not None else stretch(self.model, last_R, state, self._wanted.of(goal))
        return None if made is None else (made, made.last_R, made.state)

    @torch.inference_mode()
    def best(self, last_R: Tensor, state: DecoderState, count: int) -> tuple[Tensor, Tensor, DecoderState] | None:
        ranks = None if self.half is not None else ranking(self.model, self._wanted.never_V, count)
        if ranks is None:
            return None
        output = self.model(last_R[:, None], _ones(last_R), state)
        assert output.state is not None
        return *ranks(output), output.state

    @property
    @torch.inference_mode()
    def shared(self) -> bool:
        return self.half is None and in_c(self.model)

    @cached_property
    def _wanted(self) -> "_Wanted":
        return _Wanted(self.size, self.never_N, self.end)

    def needs(self, item: Item) -> tuple[int, int]:
        return len(self._prompt(item)) + item.longest + 1, 0


class _Wanted:
    """What C is told of a scorer."""

    def __init__(self, size: int, never_N: Tensor, end: int) -> None:
        self.never_V = torch.zeros(size, dtype=torch.uint8).index_fill_(0, never_N.cpu(), 1)
        self.end, self.nothing = end, bool(self.never_V.all())

    def of(self, goal: Goal) -> Wanted:
        outputs = None if goal.shortlist is None or goal.log_probs else goal.shortlist.outputs()
        asked = goal.log_probs, outputs, goal.chance, self.nothing, goal.search
        return Wanted(goal.left, goal.most, self.never_V, self.end, *asked)


def _in(half: torch.dtype | None, device: torch.device) -> AbstractContextManager[object]:
    """Products in half precision, if so."""
    return nullcontext() if half is None else torch.autocast(device.type, half)


def _ones(last_R: Tensor) -> Padded:
    return Padded.whole(len(last_R), 1, device=last_R.device)


def log_probs_of(scores_R1V: Tensor, never_N: Tensor) -> Tensor:
    """What is never written keeps its share, so that an answer's log_prob is what the model says when it reads it.

    The scores may be spoilt by it.
    """
    return log_softmax_(scores_R1V[:, 0].float()).index_fill_(1, never_N, -torch.inf)


def shortlist_of(scorer: PairScorer | TextScorer) -> Shortlist | None:
    """Of what it may write; None where that is no faster. As long as the model's weights stay as they are."""
    head = scorer.model.head
    plain = isinstance(head, TokenHead) and head.product is None and head.bias_V is None
    if not plain or head.weight_VD.device.type != "cpu" or head.weight_VD.dtype != torch.float32:
        return None
    return shortlist_if_faster(head.weight_VD, scorer.never_N.tolist())


def _largest(head: nn.Module, output: Output, shortlist: Shortlist) -> Tensor:
    assert isinstance(head, TokenHead)
    x_RD = head.prepared(output.hidden, output.layout)[:, 0]
    if not bool(x_RD.sum().isfinite()):
        raise NoNumbersError
    return shortlist.largest(x_RD)


def looks(model: EncoderDecoder) -> list[MemoryAttention | AttentiveRecurrenceMixer]:
    """The decoder's layers that look at the source, the lowest first."""
    parts = [part for block in model.decoder.blocks if isinstance(block, Block) for part in (block.mixer, block.cross)]
    return [part for part in parts if isinstance(part, MemoryAttention | AttentiveRecurrenceMixer)]


@contextmanager
def watched(layer: nn.Module | None) -> Iterator[list[Tensor]]:
    """While it is open, each call of the layer leaves its weights w_BHTS."""
    seen: list[Tensor] = []
    if layer is None:
        yield seen
        return

    def keep(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append(module.weights(*args, **kwargs))

    hook = layer.register_forward_pre_hook(keep, with_kwargs=True)
    try:
        yield seen
    finally:
        hook.remove()
