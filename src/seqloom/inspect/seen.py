"""What the modules of a model read and made while it ran once."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from seqloom.inspect.values import Value
from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.layout import Layout, Padded

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


Attended = Callable[[str, nn.Module, tuple[Any, ...], dict[str, Any]], AttentionParts]
"""What an attention layer makes on the way, of its name and a call's arguments."""


@dataclass
class Seen:
    """Of one example: all that is taken out has no axis of rows any more."""

    attended: Attended
    calls: dict[str, list[Call]] = field(default_factory=dict)
    modules: dict[str, nn.Module] = field(default_factory=dict)
    goal_T: Tensor | None = None
    """What was to be written."""
    words: Sequence[int] | None = None
    """Positions that begin a word, where not all do."""
    values: dict[str, Sequence[Value]] = field(default_factory=dict)
    """What boxes made, as far as they were asked."""
    _made: dict[str, Any] = field(default_factory=dict)

    def call(self, name: str) -> Call:
        return self.calls[name][0]

    def read(self, name: str) -> Tensor:
        """What a module was given."""
        return self._one(self.call(name).args[0])

    def made(self, name: str) -> Tensor:
        """What a module returned."""
        result = self.call(name).result
        return self._one(result[0] if isinstance(result, tuple) else result)

    def parts(self, name: str) -> AttentionParts:
        """Of an attention layer, with its axis of rows. Where it was asked step by step, of all steps."""
        call = self.call(name)
        args = (*self._asked(name), *call.args[2:])
        return self.once(name, lambda: self.attended(name, self.modules[name], args, call.kwargs))

    def all_made(self, name: str) -> Tensor:
        """What a module returned in all its calls, one behind the other; with its axis of rows."""
        return torch.cat([call.result[0] for call in self.calls[name]], 1).detach()

    def _asked(self, name: str) -> tuple[Tensor, Layout]:
        first, *others = self.calls[name]
        if not others:
            return first.args[0], first.args[1]
        x_BTD = torch.cat([call.args[0] for call in self.calls[name]], 1)
        return x_BTD, Padded.whole(x_BTD.shape[0], x_BTD.shape[1], x_BTD.device)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What is made of a call by more than one box is made once."""
        if name not in self._made:
            with torch.no_grad():
                self._made[name] = make()
        found: T = self._made[name]
        return found

    @staticmethod
    def _one(x: Tensor) -> Tensor:
        return x.detach()[0]


@contextmanager
def watch_calls(model: nn.Module, attended: Attended) -> Iterator[Seen]:
    """While it is open, every call that this thread makes of a module within the model is kept."""
    seen = Seen(attended, modules=dict(model.named_modules()))
    hooks = [
        module.register_forward_hook(_keeper(name, seen, threading.get_ident()), with_kwargs=True)
        for name, module in seen.modules.items()
        if name
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _keeper(name: str, seen: Seen, owner: int) -> Any:
    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if threading.get_ident() == owner:
            seen.calls.setdefault(name, []).append(Call(args, kwargs, result))

    return keep
