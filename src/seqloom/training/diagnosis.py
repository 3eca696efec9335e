"""Where a number that is none, or much too large, came from."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.data.cache import Examples

LINES = 8


@dataclass
class _Seen:
    """The first tensor that is not finite, in the order of the computation; and how large outputs got."""

    first: str | None = None
    largest: list[tuple[float, str]] = field(default_factory=list)

    def look(self, what: str, tensors: Any) -> None:
        for tensor in _tensors(tensors):
            if not tensor.is_floating_point() or not tensor.numel():
                continue
            top = tensor.detach().abs().max().item()
            if top != top or top == float("inf"):
                self.first = self.first or what
            else:
                self.largest.append((top, what))


def diagnose(model: nn.Module, backward: Callable[[], Tensor]) -> str:
    """Run a step's work again (`backward` gives the loss, its gradients taken) and say where it went wrong first."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return f"the weights {name} were not finite before the step"
    seen = _Seen()
    with _watched(model, seen):
        loss = backward()
    if seen.first is not None:
        return f"first in {seen.first}"
    if not loss.isfinite():
        return "first in the loss; every layer's output is finite"
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not parameter.grad.isfinite().all():
            return f"first in the gradient of {name}"
    top, where = max(seen.largest, default=(0.0, "none"))
    return f"the largest value of a layer, {top:.3g}, is in {where}"


def lines_of(examples: Examples, files: Sequence[str]) -> str:
    """`train.tsv:12, 15, 40 and 9 more`."""
    places = sorted(set(zip(examples.corpus_B.tolist(), examples.line_B.tolist(), strict=True)))
    shown, last = [], None
    for file, line in places[:LINES]:
        shown.append(f"{line}" if file == last else f"{files[file]}:{line}")
        last = file
    rest = len(places) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


@contextmanager
def _watched(model: nn.Module, seen: _Seen) -> Iterator[None]:
    hooks: list[Any] = []
    for name, module in model.named_modules():
        if any(True for _ in module.children()):
            continue  # its parts say it more exactly

        def after(module: nn.Module, given: Any, result: Any, name: str = name) -> None:
            kind = type(module).__name__
            seen.look(f"the input of {name} ({kind})", given)
            seen.look(f"the output of {name} ({kind})", result)
            # on the tensors: a module's own backward hook warns where its input needs no gradient
            for tensor in _tensors(result):
                if tensor.requires_grad:
                    what = f"the gradient of the output of {name} ({kind})"
                    tensor.register_hook(lambda gradient, what=what: seen.look(what, gradient))

        hooks.append(module.register_forward_hook(after))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _tensors(value: Any) -> Iterator[Tensor]:
    match value:
        case Tensor():
            yield value
        case tuple() | list():
            for inner in value:
                yield from _tensors(inner)
        case _:
            return


def finite(*values: float) -> bool:
    return all(torch.isfinite(torch.tensor(values)).tolist())
