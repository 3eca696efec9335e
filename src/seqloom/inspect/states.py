"""What each layer of a stack hands to the next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from seqloom.models.stack import Stack


@contextmanager
def watch_states(stack: Stack) -> Iterator[list[Tensor]]:
    """While it is open, a call of the stack leaves its states: what it reads, and what each block and the end make.

    As many as blocks, and one: the last is behind the norm at the end, if there is one. The stack runs as always.
    """
    seen: list[Tensor] = []

    def reads(module: nn.Module, args: tuple[Any, ...]) -> None:
        seen[:] = [args[0]]

    def block(module: nn.Module, args: tuple[Any, ...], result: tuple[Any, ...]) -> None:
        seen.append(result[0])

    def end(module: nn.Module, args: tuple[Any, ...], result: tuple[Any, ...]) -> None:
        seen[-1] = result[0]

    hooks = [stack.register_forward_pre_hook(reads), stack.register_forward_hook(end)]
    hooks += [part.register_forward_hook(block) for part in stack.blocks]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
