"""torch's optimisers without its compiler, which they would import at their first step: two seconds for nothing."""

import inspect
from typing import TypeVar

import torch

T = TypeVar("T", bound=torch.optim.Optimizer)


def uncompiled(kind: type[T]) -> type[T]:
    """The same optimiser; its methods as they are below the wrappers that talk to the compiler."""
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in ("add_param_group", "zero_grad")}
    return type(kind.__name__, (kind,), {"step": torch.no_grad()(inspect.unwrap(kind.step)), **methods})
