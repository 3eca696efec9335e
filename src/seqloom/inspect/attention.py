"""Attention weights on demand: recomputed by the equation for the very inputs that a layer gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.layers.attention import SelfAttention
from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.memory_compressed import MemoryCompressedAttention

_ATTENTIVE = (SelfAttention, MemoryAttention, MemoryCompressedAttention, AttentiveRecurrenceMixer)


@contextmanager
def watch_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """While it is open, each call of an attention layer leaves its weights w_BHTS under the layer's name.

    with watch_attention(model) as seen:
        model(x, layout)
    seen["decoder.blocks.0.cross"][0]

    The layers run as always, on their fast path; weights are without dropout, and of padded rows only the real steps
    mean something.
    """
    seen: dict[str, list[Tensor]] = {}
    hooks = [
        module.register_forward_pre_hook(_keeper(name, seen), with_kwargs=True) for name, module in _outermost(model)
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _outermost(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """Attention layers, but not those that are a part of another one."""
    found = [(name, module) for name, module in model.named_modules() if isinstance(module, _ATTENTIVE)]
    names = [name for name, _ in found]
    return [(name, module) for name, module in found if not any(name.startswith(f"{outer}.") for outer in names)]


def _keeper(name: str, seen: dict[str, list[Tensor]]) -> Any:
    def keep(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with torch.no_grad():
            seen.setdefault(name, []).append(module.weights(*args, **kwargs))

    return keep
