"""The largest tensor that a computation makes, its backward pass too: whether memory grows with the square."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class _Largest(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for part in tree_leaves(made):
            if isinstance(part, Tensor):
                # what is only expanded holds no more than it did
                held = part.untyped_storage().nbytes() // max(part.element_size(), 1)
                self.elements = max(self.elements, min(held, part.numel()))
        return made


def largest(run: Callable[[], Tensor]) -> int:
    """In elements."""
    with _Largest() as seen:
        run().sum().backward()
    return seen.elements
