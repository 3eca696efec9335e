"""What the modules of a model read and made while it ran once."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.inspect.values import Value
from seqloom.layers.attention_parts import AttentionParts


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
    values: dict[str, Sequence[Value]] = field(default_factory=dict)
    """What boxes made, as far as they were asked."""
    _parts: dict[str, AttentionParts] = field(default_factory=dict)

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
        """Of an attention layer, with its axis of rows."""
        if name not in self._parts:
            call = self.call(name)
            with torch.no_grad():
                self._parts[name] = self.attended(name, self.modules[name], call.args, call.kwargs)
        return self._parts[name]

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
