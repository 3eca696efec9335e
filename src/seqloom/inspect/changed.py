"""A model with parts of it changed, while it runs and in one thread: by hooks, never by its weights."""
# B rows  H heads  T queries  S keys

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.inspect.changes import (
    Change,
    HeadChange,
    LayerChange,
    MaskChange,
    PositionsChange,
    TokenChange,
    WeightChange,
)
from seqloom.layers.attention import SelfAttention
from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.layers.positions import Relative
from seqloom.models.block import Around, Block
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.input import Input
from seqloom.settings import UserError

Attentive = SelfAttention | MemoryAttention | MemoryCompressedAttention


@dataclass
class Altered:
    """What is changed in one attention layer."""

    heads: list[int]
    weights: list[WeightChange]
    masked: bool = True
    placed: bool = True
    step: int = 0
    """Rows that went before in this pass, of a layer that is asked step by step."""

    def parts(self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AttentionParts:
        match layer:
            case SelfAttention():
                parts = layer.parts(*args, **kwargs, masked=self.masked, placed=self.placed)
            case MemoryCompressedAttention():
                parts = layer.parts(*args, **kwargs, masked=self.masked)
            case _:
                parts = layer.parts(*args, **kwargs)  # type: ignore[operator]
        if self.weights:
            parts = parts.weighing(_weighed(parts.weights_BHTS, parts.see_BTS, self.weights, self.step))
        return _without(parts, self.heads)


class Changed:
    """The changes that hold at the moment, for those who look on."""

    def __init__(self, altered: dict[str, Altered]) -> None:
        self._altered = altered

    def attended(self, name: str, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AttentionParts:
        """What an attention layer makes on the way, with all changes."""
        altered = self._altered.get(name) or Altered([], [])
        return replace(altered, step=0).parts(layer, args, kwargs)


@contextmanager
def changed(model: Model, changes: Sequence[Change] = ()) -> Iterator[Changed]:
    """While it is open, whole sequences that this thread sends through the model go through a changed one.

    Nothing of it stays behind, whatever happens; other threads see the model as it is. A change that the model cannot
    have raises a UserError. Tokens are not its business: who makes the ids changes them.
    """
    modules, owner = dict(model.named_modules()), threading.get_ident()
    altered: dict[str, Altered] = {}
    with ExitStack() as hooks:

        def hook(module: nn.Module, act: Callable[..., Any]) -> None:
            def mine(module: nn.Module, args: Any, kwargs: Any, result: Any) -> Any:
                return act(module, args, kwargs, result) if threading.get_ident() == owner else None

            hooks.callback(module.register_forward_hook(mine, with_kwargs=True).remove)

        for change in changes:
            _collect(change, model, modules, altered, hook)
        for name, one in altered.items():
            _attach(name, one, modules, hooks, hook)
        yield Changed(altered)


Hook = Callable[[nn.Module, Callable[..., Any]], None]


def _collect(
    change: Change, model: Model, modules: dict[str, nn.Module], altered: dict[str, Altered], hook: Hook
) -> None:
    match change:
        case HeadChange():
            _of(change.layer, change.head, modules, altered).heads.append(change.head)
        case WeightChange():
            _of(change.layer, change.head, modules, altered).weights.append(change)
        case LayerChange():
            _leave_out(change.box, modules, hook)
        case PositionsChange():
            _misplace(change.side, model, modules, altered, hook)
        case MaskChange():
            hidden = [name for name in modules if _hides(name, modules[name])]
            if not hidden:
                raise UserError("mask: no layer of this model hides the future by a mask")
            for name in hidden:
                altered.setdefault(name, Altered([], [])).masked = False
        case TokenChange():
            raise UserError("token: a model reads numbers; the token is changed where they are made")


def _hides(name: str, module: nn.Module) -> bool:
    return (
        name.startswith("decoder.") and isinstance(module, SelfAttention | MemoryCompressedAttention) and module.causal
    )


def _of(name: str, head: int, modules: dict[str, nn.Module], altered: dict[str, Altered]) -> Altered:
    """The attention of that name; of a recurrent decoder, the one within."""
    layer = modules.get(name)
    name = f"{name}.attention" if isinstance(layer, AttentiveRecurrenceMixer) else name
    layer = modules.get(name)
    if not isinstance(layer, Attentive):
        known = [each for each, module in modules.items() if isinstance(module, Attentive)]
        raise UserError(f"layer: there is no attention of the name {name!r}; there are {', '.join(known) or 'none'}")
    _refuse_head(name, head, layer.heads.H)
    return altered.setdefault(name, Altered([], []))


def _refuse_head(name: str, head: int, heads: int) -> None:
    if head >= heads:
        raise UserError(f"head: {name} has {heads} heads, 0 to {heads - 1}, and no head {head}")


def _attach(name: str, altered: Altered, modules: dict[str, nn.Module], hooks: ExitStack, hook: Hook) -> None:
    def act(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: tuple[Any, Any]) -> tuple[Any, Any]:
        parts = altered.parts(module, args, kwargs)
        altered.step += parts.weights_BHTS.shape[2]
        after = (args[2],) if isinstance(module, MemoryAttention) else ()
        return module.output(parts, args[1], *after), result[1]

    hook(modules[name], act)
    outer = modules[name.rpartition(".")[0]]

    def anew(module: nn.Module, args: Any) -> None:
        altered.step = 0

    # who asks step by step calls it once for each row of a pass
    begins = outer if isinstance(outer, AttentiveRecurrenceMixer) else modules[name]
    hooks.callback(begins.register_forward_pre_hook(anew).remove)


def _leave_out(box: str, modules: dict[str, nn.Module], hook: Hook) -> None:
    if isinstance(modules.get(box), Block):
        for part in "mixer", "cross", "feed_forward":
            if modules.get(f"{box}.{part}") is not None:
                _leave_out(f"{box}.{part}", modules, hook)
        return
    above, _, part = box.rpartition(".")
    block = modules.get(above)
    if not isinstance(block, Block) or part not in ("mixer", "cross", "feed_forward") or box not in modules:
        raise UserError(
            f"box: {box!r} is no layer that can be left out; a mixer or a feed-forward layer is: encoder.blocks.0.mixer"
        )
    around = getattr(block, f"around_{part}")
    assert isinstance(around, Around)
    if around.norm_out is not None:
        hook(around.norm_out, lambda module, args, kwargs, result: torch.zeros_like(result))
    else:
        hook(modules[box], lambda module, args, kwargs, result: (torch.zeros_like(result[0]), *result[1:]))


def _misplace(side: str, model: Model, modules: dict[str, nn.Module], altered: dict[str, Altered], hook: Hook) -> None:
    part = {"encoder": "source", "decoder": "target"}[side] if isinstance(model, EncoderDecoder) else "input"
    found = False
    reads = modules.get(part)
    if f"{side}" in modules and isinstance(reads, Input) and reads.positions is not None:
        hook(reads.positions, lambda module, args, kwargs, result: torch.zeros_like(result))
        found = True
    for name, module in modules.items():
        if name.startswith(f"{side}.") and isinstance(module, SelfAttention) and isinstance(module.relative, Relative):
            altered.setdefault(name, Altered([], [])).placed = False
            found = True
    if not found:
        raise UserError(f"positions: the {side} of this model has none, so that none can be taken away")


def _without(parts: AttentionParts, heads: Sequence[int]) -> AttentionParts:
    if not heads:
        return parts
    mixed_BHTV = parts.mixed_BHTV.clone()
    mixed_BHTV[:, list(heads)] = 0
    return replace(parts, mixed_BHTV=mixed_BHTV)


def _weighed(weights_BHTS: Tensor, see_BTS: Tensor | None, changes: Sequence[WeightChange], step: int) -> Tensor:
    """Rows of which several weights are changed keep all of them; the others share what is left."""
    weights_BHTS = weights_BHTS.clone()
    rows: dict[tuple[int, int], dict[int, float]] = {}
    for change in changes:
        rows.setdefault((change.head, change.row), {})[change.column] = change.value
    T, S = weights_BHTS.shape[2:]
    for (head, row), columns in rows.items():
        if not 0 <= row - step < T:
            continue  # a step that is not asked now, or was not written
        if max(columns) >= S:
            raise UserError(f"weight: column {max(columns)}: there are {S} columns, 0 to {S - 1}")
        see_BS = None if see_BTS is None else see_BTS[:, row - step]
        weights_BHTS[:, head, row - step] = _row(weights_BHTS[:, head, row - step], see_BS, columns)
    return weights_BHTS


def _row(row_BS: Tensor, see_BS: Tensor | None, columns: dict[int, float]) -> Tensor:
    given, left = torch.zeros_like(row_BS), 1 - sum(columns.values())
    for column, value in columns.items():
        given[:, column] = value
    if left < -1e-6:
        raise UserError(f"weight: the weights given to one row sum to {1 - left:g}; a row sums to 1")
    rest_BS = row_BS.clone()
    rest_BS[:, list(columns)] = 0
    if not bool((rest_BS.sum(-1) > 0).all()):  # all was at the changed ones: the others share it evenly
        rest_BS = torch.ones_like(row_BS) if see_BS is None else see_BS.to(row_BS.dtype).expand_as(row_BS).clone()
        rest_BS[:, list(columns)] = 0
    total_B1 = rest_BS.sum(-1, keepdim=True)
    if left > 1e-6 and not bool((total_B1 > 0).all()):
        raise UserError("weight: this row sees nothing else that could take the rest; its weight stays 1")
    return given + rest_BS / total_B1.clamp(min=1e-30) * max(left, 0.0)
