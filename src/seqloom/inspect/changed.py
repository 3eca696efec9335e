"""A model with parts of it changed, while it runs and in one thread: by hooks, never by its weights."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.inspect.altered import Altered
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
from seqloom.layers.gated_linear import GatedLinearMixer
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.models.block import Around, Block
from seqloom.models.build import Model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.input import Input
from seqloom.settings import UserError

Attentive = SelfAttention | MemoryAttention | MemoryCompressedAttention


class Changed:
    """The changes that hold at the moment, for those who look on."""

    def __init__(self, altered: dict[str, Altered]) -> None:
        self._altered = altered

    def attended(self, name: str, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AttentionParts:
        """What an attention layer makes on the way, with all changes."""
        altered = self._altered.get(name) or Altered()
        return replace(altered, step=0).parts(layer, args, kwargs)


@contextmanager
def changed(model: Model, changes: Sequence[Change] = ()) -> Iterator[Changed]:
    """While it is open, whole sequences that this thread sends through the model go through a changed one.

    Nothing of it stays behind, whatever happens; other threads see the model as it is. A change that the model cannot
    have raises a UserError. Tokens are not its business: who makes the ids changes them.
    """
    with ExitStack() as closing:
        work = _Work(model, _Hooks(closing, threading.get_ident()))
        for change in changes:
            work.take(change)
        work.attach()
        yield Changed(work.altered)


def rules(model: Model) -> tuple[PositionsChange | MaskChange, ...]:
    """Of the changes that are of the whole model, those that it can have."""
    every = PositionsChange(side="encoder"), PositionsChange(side="decoder"), MaskChange()
    return tuple(change for change in every if _possible(model, change))


def _possible(model: Model, change: Change) -> bool:
    try:
        with changed(model, [change]):
            return True
    except UserError:
        return False


@dataclass(frozen=True)
class _Hooks:
    """Those of one thread; the calls of others pass them by."""

    closing: ExitStack
    owner: int

    def after(self, module: nn.Module, act: Callable[[Any, Any, Any, Any], Any]) -> None:
        """act: of module, arguments and result; its result takes that one's place."""

        def mine(module: nn.Module, args: Any, kwargs: Any, result: Any) -> Any:
            return act(module, args, kwargs, result) if threading.get_ident() == self.owner else None

        self.closing.callback(module.register_forward_hook(mine, with_kwargs=True).remove)

    def before(self, module: nn.Module, act: Callable[[tuple[Any, ...]], tuple[Any, ...] | None]) -> None:
        """act: of the arguments; what it returns takes their place, None leaves them."""

        def mine(module: nn.Module, args: tuple[Any, ...]) -> Any:
            return act(args) if threading.get_ident() == self.owner else None

        self.closing.callback(module.register_forward_pre_hook(mine).remove)


class _Work:
    """What is to be done to a model; attention layers are gathered first, as several changes may meet in one."""

    def __init__(self, model: Model, hooks: _Hooks) -> None:
        self.model, self.hooks = model, hooks
        self.modules: dict[str, nn.Module] = dict(model.named_modules())
        self.altered: dict[str, Altered] = {}

    def take(self, change: Change) -> None:
        match change:
            case HeadChange() if isinstance(self.modules.get(change.layer), GatedLinearMixer):
                self._blank(change)
            case HeadChange():
                self._attention(change.layer, change.head).heads.append(change.head)
            case WeightChange():
                self._attention(change.layer, change.head).weights.append(change)
            case LayerChange():
                self._leave_out(change.box)
            case PositionsChange():
                self._misplace(change.side)
            case MaskChange():
                self._unmask()
            case TokenChange():
                raise UserError("token: a model reads numbers; the token is changed where they are made")

    def attach(self) -> None:
        """Hooks for all attention layers that were gathered."""
        for name, altered in self.altered.items():
            self.hooks.after(self.modules[name], _acting(altered))
            outer = self.modules[name.rpartition(".")[0]]
            # who asks step by step calls it once for each row of a pass
            begins = outer if isinstance(outer, AttentiveRecurrenceMixer) else self.modules[name]
            self.hooks.before(begins, _counting_anew(altered))

    def _attention(self, name: str, head: int) -> Altered:
        """The attention of that name; of a recurrent decoder, the one within."""
        inner = f"{name}.attention" if isinstance(self.modules.get(name), AttentiveRecurrenceMixer) else name
        layer = self.modules.get(inner)
        if not isinstance(layer, Attentive):
            known = [each for each, module in self.modules.items() if isinstance(module, Attentive)]
            there = ", ".join(known) or "none"
            raise UserError(f"layer: there is no attention of the name {name!r}; there are {there}")
        _refuse_head(name, head, layer.heads.H)
        return self.altered.setdefault(inner, Altered())

    def _blank(self, change: HeadChange) -> None:
        layer = self.modules[change.layer]
        assert isinstance(layer, GatedLinearMixer)
        _refuse_head(change.layer, change.head, layer.ahead.H)
        begin, end = change.head * layer.ahead.V, (change.head + 1) * layer.ahead.V

        def blank(args: tuple[Any, ...]) -> tuple[Any, ...]:
            joined = args[0].clone()
            joined[..., begin:end] = 0
            return (joined,)

        self.hooks.before(layer.out, blank)

    def _leave_out(self, box: str) -> None:
        if isinstance(self.modules.get(box), Block):
            for part in "mixer", "cross", "feed_forward":
                if f"{box}.{part}" in self.modules:
                    self._leave_out(f"{box}.{part}")
            return
        above, _, part = box.rpartition(".")
        block = self.modules.get(above)
        if not isinstance(block, Block) or part not in ("mixer", "cross", "feed_forward") or box not in self.modules:
            raise UserError(
                f"box: {box!r} is no layer that can be left out; a mixer or a feed-forward layer is: "
                "encoder.blocks.0.mixer"
            )
        around = getattr(block, f"around_{part}")
        assert isinstance(around, Around)
        # a norm behind the layer would make something of nothing
        self.hooks.after(around.norm_out or self.modules[box], _nothing)

    def _misplace(self, side: str) -> None:
        part = {"encoder": "source", "decoder": "target"}[side] if isinstance(self.model, EncoderDecoder) else "input"
        reads, found = self.modules.get(part), False
        if side in self.modules and isinstance(reads, Input) and reads.positions is not None:
            self.hooks.after(reads.positions, _nothing)
            found = True
        for name, module in self.modules.items():
            if name.startswith(f"{side}.") and isinstance(module, SelfAttention) and module.relative is not None:
                self.altered.setdefault(name, Altered()).placed = False
                found = True
        if not found:
            raise UserError(f"positions: the {side} of this model has none, so that none can be taken away")

    def _unmask(self) -> None:
        hidden = [
            name
            for name, module in self.modules.items()
            if name.startswith("decoder.")
            and isinstance(module, SelfAttention | MemoryCompressedAttention)
            and module.causal
        ]
        if not hidden:
            raise UserError("mask: no layer of this model hides the future by a mask")
        for name in hidden:
            self.altered.setdefault(name, Altered()).masked = False


def _refuse_head(name: str, head: int, heads: int) -> None:
    if head >= heads:
        raise UserError(f"head: {name} has {heads} heads, 0 to {heads - 1}, and no head {head}")


def _acting(altered: Altered) -> Callable[[Any, Any, Any, Any], Any]:
    def act(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: tuple[Any, Any]) -> tuple[Any, Any]:
        parts = altered.parts(module, args, kwargs)
        altered.step += parts.weights_BHTS.shape[2]
        after = (args[2],) if isinstance(module, MemoryAttention) else ()
        return module.output(parts, args[1], *after), result[1]

    return act


def _counting_anew(altered: Altered) -> Callable[[tuple[Any, ...]], None]:
    def anew(args: tuple[Any, ...]) -> None:
        altered.step = 0

    return anew


def _nothing(module: nn.Module, args: Any, kwargs: Any, result: Any) -> Any:
    if isinstance(result, Tensor):
        return torch.zeros_like(result)
    return torch.zeros_like(result[0]), *result[1:]
