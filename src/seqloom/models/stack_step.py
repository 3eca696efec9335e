"""A step of a decoder's blocks, or an encoder's short sequences, on a CPU in one call of C: Python between layers can
take longer than they do.

It says what each `Block` says, layer by layer, and is compared with it. Only what is built of the usual parts can be
written down for it: attention by scaled products with rotary positions or none that are relative, dense layers, layer
and RMS norms. All else, and whoever looks at a layer through a hook, goes the plain way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from seqloom.layers.attention import SelfAttention
from seqloom.layers.cache import Cache
from seqloom.layers.cohorts import Cohorts
from seqloom.layers.cross_attention import MemoryAttention, SharedMemory
from seqloom.layers.dense import DenseFeedForward
from seqloom.layers.feed_forward import FeedForward
from seqloom.layers.forked_cache import ForkedCache
from seqloom.layers.heads import HeadProjections
from seqloom.layers.int8 import Int8Linear
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.linear import Linear
from seqloom.layers.mixer import State
from seqloom.layers.native import block as native
from seqloom.layers.native import readable, usable
from seqloom.layers.native.attention import SHORT, one_each
from seqloom.layers.native.compiler import MissingError
from seqloom.layers.native.eight import EIGHT
from seqloom.layers.norms import LayerNormalisation, NoNormalisation, RMSNormalisation
from seqloom.layers.positions.rotary import PLACES, RotaryRelative
from seqloom.layers.scores import DotScore
from seqloom.models.block import Around, Block, BlockState
from seqloom.models.watched import OtherError, Watched, need


@dataclass
class Plan:
    """Blocks as C reads them; None: they are built of something else."""

    blocks: native.Blocks | None
    watched: Watched


# for steps that see their past alone (True), and for whole sequences that see all of themselves
_plans: dict[bool, WeakKeyDictionary[nn.Module, Plan]] = {True: WeakKeyDictionary(), False: WeakKeyDictionary()}


def stepped(
    blocks: nn.ModuleList, x: Tensor, layout: Layout, states: Sequence[BlockState | None]
) -> tuple[Tensor, tuple[BlockState, ...]] | None:
    """What comes out of the last block, and all states; None where the plain lines are to do it."""
    if not one_each(layout) or not usable(x):
        return None
    layout.check(x)
    plan = plan_of(blocks, causal=True)
    lib = None if plan is None else native.BLOCK.get()
    if plan is None or lib is None or not layout.rows:
        return None
    if len(states) != len(blocks) or x.numel() != layout.rows * plan.width:
        raise ValueError(f"{len(states)} states of {len(blocks)} blocks, and {tuple(x.shape)} of {layout.rows} rows")
    past, memory, after = native.Parts([], []), native.Parts([], []), list[BlockState]()
    for state in states:
        if state is None or (mixer := _add(state.mixer, layout.rows, past)) is None:
            return None
        if plan.turns is not None and not after and _longest(state.mixer) >= plan.turns:
            return None  # of all blocks the first tells how far rows have come
        if state.cross is None:
            memory.counts.append(0)
        elif _add(state.cross, layout.rows, memory) is None:
            return None
        after.append(BlockState(mixer, state.cross))
    return plan.step(lib, x, past, memory), tuple(after)


def read(blocks: nn.ModuleList, x_ND: Tensor, layout: Layout) -> Tensor | None:
    """What comes out of the last block, of whole packed sequences, each over itself; None: the plain lines do it."""
    if not isinstance(layout, Packed) or layout.longest > SHORT or layout.real_N is not None:
        return None
    if layout.structure_BTT is not None or layout.edges is not None or not len(x_ND) or not usable(x_ND):
        return None
    plan = plan_of(blocks, causal=False)
    lib = None if plan is None else native.BLOCK.get()
    if plan is None or lib is None or x_ND.numel() != len(x_ND) * plan.width:
        return None
    if plan.turns is not None and layout.longest > plan.turns:
        return None
    layout.check(x_ND)
    return plan.read(lib, x_ND, layout.lengths_B.tolist())


def _longest(state: State) -> int:
    """Steps of the longest row."""
    each = state.parts if isinstance(state, Cohorts) else (state,)
    return max((part.longest for part in each if isinstance(part, Cache | ForkedCache)), default=0)


def _add(state: State, rows: int, to: native.Parts) -> State | None:
    """Its parts to those of other blocks; how it is afterwards."""
    each, after = state.parts if isinstance(state, Cohorts) else (state,), []
    if not all(isinstance(part, Cache | ForkedCache | SharedMemory) for part in each):
        return None
    if sum(part.rows for part in each) != rows:
        raise ValueError(f"{rows} rows of queries, but the state has {sum(part.rows for part in each)}")
    to.counts.append(len(each))
    for part in each:
        made = part.for_c()
        if made is None:
            return None
        to.numbers.extend(made[0])
        after.append(made[1])
    return Cohorts(tuple(after)) if isinstance(state, Cohorts) else after[0]


def plan_of(blocks: nn.ModuleList, causal: bool) -> native.Blocks | None:
    """Blocks as C reads them, made once; None where the plain lines are to do it."""
    plans = _plans[causal]
    plan = plans.get(blocks)
    if plan is not None and plan.watched.holds:
        return plan.blocks
    if native.BLOCK.get() is None or EIGHT.get() is None:
        return None  # not yet, or never
    if plan is None or not plan.watched.stays:
        plan = plans[blocks] = _made(blocks, causal)
    return plan.blocks if plan.watched.holds else None


def _made(blocks: nn.ModuleList, causal: bool) -> Plan:
    # one more than there are: that nothing is there is watched too
    watched = Watched.of((blocks._modules, str(number)) for number in range(len(blocks) + 1))
    try:
        need(watched.plain)
        return Plan(written_down(blocks, causal), watched)
    except (OtherError, MissingError):
        return Plan(None, watched)


def written_down(blocks: nn.ModuleList, causal: bool = True) -> native.Blocks:
    """An OtherError, where they are built of something else. causal: for steps; else for whole sequences."""
    held = read_of(blocks)
    made = [_block(block, causal, held) for block in blocks]
    need(made and all(block.width == made[0].width for block in made))
    return native.Blocks(made, held, PLACES if any(block.itself.cosines for block in made) else None)


def _block(block: nn.Module, causal: bool, held: list[object]) -> native.Block:
    """held: to which is added what C reads besides weights."""
    assert isinstance(block, Block)
    mixer, cross, feed_forward = block.mixer, block.cross, block.feed_forward
    need(type(mixer) is SelfAttention and (cross is None or type(cross) is MemoryAttention))
    assert isinstance(mixer, SelfAttention)
    usual = mixer.settings.output_activation == "identity" and mixer.causal == causal and not mixer.limited
    need(usual and (causal or cross is None) and block.mapped is None)
    itself = _heads(mixer.heads, mixer.heads.qkv if mixer.heads.project else None, block.around_mixer)
    held += _turn(itself, mixer.relative)
    other, dense = native.Heads(), native.Dense()
    if isinstance(cross, MemoryAttention) and block.around_cross is not None:
        other = _heads(cross.heads, cross.heads.q if cross.heads.project else None, block.around_cross)
    if feed_forward is not None and block.around_feed_forward is not None:
        dense = _dense(feed_forward, block.around_feed_forward)
    width = itself.asks.inputs
    longest = max(width, itself.asks.out, itself.heads * itself.width, other.asks.out, dense.inputs.out)
    return native.Block(native.products(), itself, other, dense, width, longest)


def _heads(heads: HeadProjections, asks: nn.Module | None, around: Around) -> native.Heads:
    score = heads.score
    need(isinstance(score, DotScore) and heads.project and heads.activates_nothing)
    assert isinstance(score, DotScore)
    out = native.Map() if heads.out is None else map_of(heads.out)
    norms = norm_of(heads.q_norm), norm_of(heads.k_norm)
    return native.Heads(_around(around), map_of(asks), out, heads.H, heads.G, heads.K, score.scale, *norms)


def _turn(heads: native.Heads, relative: nn.Module | None) -> Sequence[Tensor]:
    """What these heads then look up."""
    if relative is None:
        return ()
    need(type(relative) is RotaryRelative)
    assert isinstance(relative, RotaryRelative)
    table = relative.table()
    heads.cosines, heads.sines = (part.data_ptr() for part in table)
    heads.planes, heads.beside = relative.planes, relative.order == "interleaved"
    return table


def _dense(feed_forward: FeedForward, around: Around) -> native.Dense:
    layer = feed_forward.layer
    need(type(layer) is DenseFeedForward and layer.activation in native.ACTIVATIONS)
    assert isinstance(layer, DenseFeedForward)
    kind = native.ACTIVATIONS[layer.activation]
    return native.Dense(_around(around), map_of(layer.inputs), map_of(layer.out), kind, layer.gated)


def read_of(module: nn.Module) -> list[object]:
    """All weights that C reads, also those in eight bits. Held by whoever hands C their addresses: others may replace
    them while it reads."""
    packed = [part.packed() for part in module.modules() if isinstance(part, Int8Linear)]
    weights = [*module.parameters(), *module.buffers()]
    # what a weight holds now, too: if it were freed, another could come to lie in the same place and be taken for it
    return [*packed, *weights, *(weight.detach() for weight in weights)]


def map_of(module: nn.Module | None) -> native.Map:
    if type(module) is Int8Linear:
        packed = module.packed()
        need(packed is not None)
        assert packed is not None
        return native.mapped_in_eight(packed)
    need(type(module) is Linear)
    assert isinstance(module, Linear)
    bias = module._parameters["bias"]
    made = native.mapped(module.weight, bias)
    need(made is not None and module.weight.dtype is torch.float32 and (bias is None or readable(bias)))
    assert made is not None
    return made


def _around(around: Around) -> native.Around:
    need(around.residual is not None)
    assert around.residual is not None
    norms = (norm_of(norm) for norm in (around.norm_in, around.norm_out, around.norm_sum))
    return native.Around(*norms, around.residual.carry, around.residual.scale)


def norm_of(norm: nn.Module | None) -> native.Norm:
    if norm is None or type(norm) is NoNormalisation:
        return native.Norm()
    kinds = {LayerNormalisation: native.LAYER, RMSNormalisation: native.RMS}
    need(type(norm) in kinds)
    assert isinstance(norm, LayerNormalisation | RMSNormalisation)
    weights = norm.gain_D, norm.bias_D
    need(all(weight is None or readable(weight) for weight in weights))
    places = (None if weight is None else weight.data_ptr() for weight in weights)
    return native.Norm(*places, norm.epsilon, kinds[type(norm)])
