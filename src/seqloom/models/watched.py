"""What a plan for C was made of. It holds while all weights, modules and numbers are what they were and where, and
nobody listens."""

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from operator import attrgetter, is_
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

from seqloom.layers.native import PLAIN

READ = {"epsilon", "scale", "factor", "residual", "H", "G", "K", "project", "activates_nothing", "activation", "gated"}
READ |= {"settings", "causal", "base", "order", "width", "turning"}
"""Numbers and settings of modules that plans are made of, besides weights."""

CALLED = ("forward", "step", "scores")
"""Methods of a model that plans stand for: who puts another in their place is heard."""

_shape = attrgetter("shape")

Kept = tuple[dict[str, Any], str, object]
"""A thing, and where it is kept under which name."""


class OtherError(Exception):
    """It is built of something that C does not know."""


def need(is_so: object) -> None:
    if not is_so:
        raise OtherError


class Things:
    """As they were. It is asked before each step, hence without a loop in Python."""

    def __init__(self, kept: Sequence[Kept]) -> None:
        self.places = [place for place, _, _ in kept]
        self.names = [name for _, name, _ in kept]
        self.things = [thing for _, _, thing in kept]

    @property
    def same(self) -> bool:
        return all(map(is_, map(dict.get, self.places, self.names), self.things))


@dataclass
class Watched:
    made_of: Things
    dicts: Sequence[Sized]
    sizes: Sequence[int]
    """Of what modules keep: where there was nothing, something may come."""
    weights: Sequence[Tensor]
    """They are held, so that nobody frees them under C."""
    places: Sequence[int]
    """Where the weights' numbers were,"""
    strides: Sequence[tuple[int, ...]]
    """how they lay,"""
    shapes: Sequence[torch.Size]
    """and how many."""
    plain: bool
    """C can read all weights."""
    quiet: Things
    """No layer is training, or made to do something else."""
    hooks: Sequence[dict[int, Any]]

    @classmethod
    def of(cls, places: Iterable[tuple[dict[str, Any], str]]) -> "Watched":
        """Modules by where they are kept, with all that is in them; not who keeps them: it would keep itself alive."""
        roots: list[Kept] = [(kept, name, kept.get(name)) for kept, name in places]
        parts = [part for _, _, root in roots if isinstance(root, nn.Module) for part in root.modules()]
        kept, tensors, dicts = [*roots], list[Tensor](), list[Sized]()
        for part in parts:
            kept += [(part.__dict__, name, part.__dict__[name]) for name in READ & part.__dict__.keys()]
            for own in (part._modules, part._parameters, part._buffers):
                dicts.append(own)
                kept += [(own, name, thing) for name, thing in own.items()]
                tensors += [thing for thing in own.values() if isinstance(thing, Tensor)]
        weights = [tensor for tensor in tensors if type(tensor) in PLAIN]
        plain = len(weights) == len(tensors) and all(weight.is_cpu for weight in weights)
        quiet: list[Kept] = [
            (part.__dict__, *own) for part in parts for own in (("training", False), ("forward", None))
        ]
        quiet += [(part.__dict__, name, None) for part in parts for name in ("prepared", "turn") if hasattr(part, name)]
        hooks: list[dict[int, Any]] = [own for part in parts for own in (part._forward_hooks, part._forward_pre_hooks)]
        places_of = [weight.data_ptr() for weight in weights]
        forms = [weight.stride() for weight in weights], [weight.shape for weight in weights]
        return cls(
            Things(kept), dicts, [len(own) for own in dicts], weights, places_of, *forms, plain, Things(quiet), hooks
        )

    @property
    def stays(self) -> bool:
        """Whether all is still what it was, and where."""
        weights = self.weights
        return (
            self.made_of.same
            and list(map(len, self.dicts)) == self.sizes
            and list(map(Tensor.data_ptr, weights)) == self.places
            and list(map(Tensor.stride, weights)) == self.strides
            and list(map(_shape, weights)) == self.shapes
        )

    @property
    def holds(self) -> bool:
        """And nobody listens to a layer, or has it do something else."""
        listened = any(self.hooks) or _global_forward_hooks or _global_forward_pre_hooks
        return not listened and self.quiet.same and self.stays
