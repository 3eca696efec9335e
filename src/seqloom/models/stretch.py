"""Some steps of a decoder on a CPU, from the last tokens to the next ones, in one call of C.

With few rows a step's products take less time than to call them from Python. As `stack_step` it says what the modules
say, is compared with them, and steps aside for all that it cannot say, and for whoever listens.
"""
# R rows  V tokens  T steps

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from seqloom.layers.cache import Cache
from seqloom.layers.cohorts import Cohorts
from seqloom.layers.cross_attention import SharedMemory
from seqloom.layers.embedding import TokenEmbedding
from seqloom.layers.forked_cache import ForkedCache
from seqloom.layers.mixer import State
from seqloom.layers.native import block as native
from seqloom.layers.native import readable, usable
from seqloom.layers.native.compiler import MissingError
from seqloom.layers.native.eight import EIGHT
from seqloom.layers.native.run import RUN, Decoder, Wanted, best, ran
from seqloom.layers.positions.absolute import LearnedPositions, SinusoidalPositions
from seqloom.models.block import BlockState
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.heads import TokenHead
from seqloom.models.input import Input
from seqloom.models.output import DecoderState, Output
from seqloom.models.stack import Stack
from seqloom.models.stack_step import map_of, norm_of, plan_of, read_of, written_down
from seqloom.models.watched import CALLED, OtherError, Watched, need

PLACES = 512  # positions that are written down, where a model has no end of them


@dataclass
class Written:
    """A decoder as C reads it."""

    form: Decoder
    blocks: native.Blocks
    positions_PD: Tensor | None
    known: int
    """Tokens that it has vectors of."""
    held: Sequence[object]
    """What C reads besides, and must live as long as this does."""
    head: native.Panels

    @property
    def places(self) -> int | None:
        """Positions that it knows; None: it needs none."""
        known = [self.blocks.turns, None if self.positions_PD is None else len(self.positions_PD)]
        return min((count for count in known if count is not None), default=None)


@dataclass
class Plan:
    """None: it is built of something else."""

    written: Written | None
    watched: Watched


class Stretch(NamedTuple):
    """What came next: tokens of each step, -1 where a row was done before, and none of a search; and the state behind
    them, for rows that are not. bad: some number was none, and nothing holds."""

    steps: int
    tokens_TR: list[list[int]]
    log_probs_TR: list[list[float]]
    last_R: Tensor
    state: DecoderState
    bad: bool


_plans: WeakKeyDictionary[nn.Module, Plan] = WeakKeyDictionary()


def stretch(model: EncoderDecoder | DecoderOnly, last_R: Tensor, state: DecoderState, wanted: Wanted) -> Stretch | None:
    """Some steps, in which rows that are done take no further part; None where the plain lines are to do it, one by
    one."""
    if not usable() or not len(last_R) or not last_R.is_cpu or not _quiet(model):
        return None
    plan, lib = _plan(model), RUN.get()
    if plan is None or lib is None or len(state.layers) != len(plan.blocks.blocks):
        return None
    if wanted.nothing or not 0 <= int(last_R.min()) <= int(last_R.max()) < plan.known:
        return None  # the plain lines say what is to be said
    search, fan = wanted.search, 1 if wanted.search is None else wanted.search.fan
    if search is not None and search.ways > plan.form.tokens:
        return None
    rows, steps = len(last_R), min(wanted.steps, max(wanted.left) + 1)
    if len(state.lengths_B) != rows or len(wanted.left) * fan != rows:
        raise ValueError(f"{rows} rows of tokens, but the state has {len(state.lengths_B)}")
    if plan.places is not None and int(state.lengths_B.max()) + steps > plan.places:
        steps = plan.places - int(state.lengths_B.max())
        if steps < 1:
            return None
    steps = min(steps, _free(state) or steps)  # buffers grow only when they are full: all is copied then
    past, memory = _Given(rows, fan), _Given(rows, fan)
    for layer in state.layers:
        if layer is None or not past.add(layer.mixer, steps):
            return None
        if layer.cross is None:
            memory.parts.counts.append(0)
        elif not memory.add(layer.cross, steps):
            return None
    plan.blocks.panels.ready()
    if wanted.outputs is None:
        plan.head.ready()
    found = ran(lib, plan.form, plan.blocks, steps, last_R, state.lengths_B, past.parts, memory.parts, wanted)
    layers = tuple(
        BlockState(_ahead(own, found.steps), layer.cross)
        for own, layer in zip(past.wide, state.layers, strict=True)
        if layer is not None
    )
    after = DecoderState(state.lengths_B + found.steps, layers)
    return Stretch(found.steps, found.tokens_TR, found.log_probs_TR, found.last_R, after, found.bad)


def in_c(model: EncoderDecoder | DecoderOnly) -> bool:
    """Whether steps are made so now."""
    return usable() and _quiet(model) and _plan(model) is not None


def _quiet(model: nn.Module) -> bool:
    """Nobody listens to the whole, or has it do something else."""
    patched = any(name in model.__dict__ for name in CALLED)
    return not (model._forward_hooks or model._forward_pre_hooks or patched)


def ranking(
    model: EncoderDecoder | DecoderOnly, never_V: Tensor, count: int
) -> Callable[[Output], tuple[Tensor, Tensor]] | None:
    """What tells the best so many tokens of each row, of an output of one step each; None: the plain lines do it."""
    plan, lib, head = _plan(model) if usable() else None, RUN.get(), model.head
    if plan is None or lib is None or count > len(never_V) or not isinstance(head, TokenHead):
        return None

    def ranked(output: Output) -> tuple[Tensor, Tensor]:
        x_RD = head.prepared(output.hidden, output.layout)[:, 0].contiguous()
        plan.head.ready()
        return best(lib, plan.form, x_RD, never_V, count)

    return ranked


def _free(state: DecoderState) -> int:
    """Steps for which all buffers have room."""
    mixers = [layer.mixer for layer in state.layers if layer is not None]
    parts = [part for mixer in mixers for part in (mixer.parts if isinstance(mixer, Cohorts) else (mixer,))]
    return min((part.free for part in parts if isinstance(part, Cache | ForkedCache)), default=0)


class _Given:
    """What rows of several blocks remember, as C reads it. fan: so many after each other fork, and share a memory."""

    def __init__(self, rows: int, fan: int) -> None:
        self.rows, self.fan, self.parts = rows, fan, native.Parts([], [])
        self.wide: list[State] = []
        self.held: list[Tensor | None] = []

    def add(self, state: State, steps: int) -> bool:
        each: Sequence[State] = state.parts if isinstance(state, Cohorts) else (state,)
        kinds = (Cache, SharedMemory) if self.fan == 1 else (ForkedCache, SharedMemory)
        if not all(isinstance(part, kinds) and self.fan == getattr(part, "fan", 1) for part in each):
            return False
        if sum(part.rows for part in each) != self.rows:
            raise ValueError(f"{self.rows} rows of tokens, but the state has {sum(part.rows for part in each)}")
        self.parts.counts.append(len(each))
        wide = list[State]()
        for part in each:
            if isinstance(part, SharedMemory):
                read = part.for_c()
                made = None if read is None else (*read, None)
            else:
                made = part.for_a_run(steps)
            if made is None:
                return False
            numbers, after, lengths = made
            self.parts.numbers.extend(numbers)
            self.held.append(lengths)
            wide.append(after)
        self.wide.append(Cohorts(tuple(wide)) if isinstance(state, Cohorts) else wide[0])
        return True


def _ahead(state: State, steps: int) -> State:
    if isinstance(state, Cohorts):
        return Cohorts(tuple(part.after(steps) for part in state.parts))
    assert isinstance(state, Cache | ForkedCache)
    return state.after(steps)


def _plan(model: EncoderDecoder | DecoderOnly) -> Written | None:
    plan = _plans.get(model)
    if plan is not None and plan.watched.holds:
        return plan.written
    if RUN.get() is None or EIGHT.get() is None:
        return None  # not yet, or never
    if plan is None or not plan.watched.stays:
        plan = _plans[model] = _made(model)
    return plan.written if plan.watched.holds else None


def _made(model: EncoderDecoder | DecoderOnly) -> Plan:
    entry = "target" if isinstance(model, EncoderDecoder) else "input"
    blocks = model.decoder.blocks._modules
    places = [(model._modules, name) for name in (entry, "decoder", "head")]
    # one more than there are: that nothing is there is watched too
    watched = Watched.of([*places, (blocks, str(len(blocks)))])
    try:
        need(watched.plain and type(model) in (EncoderDecoder, DecoderOnly))
        return Plan(_written_down(model, getattr(model, entry)), watched)
    except (OtherError, MissingError):
        return Plan(None, watched)


def _written_down(model: EncoderDecoder | DecoderOnly, given: nn.Module) -> Written:
    stack, head = model.decoder, model.head
    need(type(given) is Input and type(stack) is Stack and type(head) is TokenHead and stack.out is None)
    assert isinstance(given, Input)
    assert isinstance(head, TokenHead)
    need(head.transform is None and head.narrow is None and not given.concat)
    embedding, blocks = given.embedding, plan_of(stack.blocks, causal=True) or written_down(stack.blocks)
    need(type(embedding) is TokenEmbedding and embedding.segment_SD is None and readable(embedding.weight_VD))
    assert isinstance(embedding, TokenEmbedding)
    known = len(embedding.weight_VD)
    need(embedding.weight_VD.shape[1] == blocks.width and len(head.weight_VD) <= known)
    held = [*read_of(head), *read_of(given)]
    positions_PD = _positions(given.positions)
    form = Decoder(
        embedding.weight_VD.data_ptr(), None if positions_PD is None else positions_PD.data_ptr(), embedding.factor,
        norm_of(given.norm), norm_of(stack.norm), blocks.places.buffer_info()[0], len(blocks.blocks), blocks.width,
        len(head.weight_VD), native.products(), _head(head), head.factor,
    )  # fmt: skip
    return Written(form, blocks, positions_PD, known, held, native.Panels([form.head], held))


def _head(head: TokenHead) -> native.Map:
    if head.product is not None:
        return map_of(head.product)
    bias_V = head.bias_V
    made = native.mapped(head.weight_VD, bias_V)
    need(made is not None and head.weight_VD.dtype is torch.float32 and (bias_V is None or readable(bias_V)))
    assert made is not None
    return made


def _positions(positions: nn.Module | None) -> Tensor | None:
    if positions is None:
        return None
    if type(positions) is LearnedPositions:
        need(readable(positions.weight_PD))
        return positions.weight_PD
    need(type(positions) is SinusoidalPositions)
    assert isinstance(positions, SinusoidalPositions)
    with torch.inference_mode(False), torch.no_grad():
        return positions(torch.arange(PLACES), torch.float32).contiguous()
