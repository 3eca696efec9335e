"""What a plan for C was made of. It holds while all weights and modules are where they were, and nobody listens."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

from seqloom.layers.int8 import Int8Linear
from seqloom.layers.native import PLAIN


class OtherError(Exception):
    """It is built of something that C does not know."""


def need(is_so: object) -> None:
    if not is_so:
        raise OtherError


@dataclass
class Watched:
    weights: list[tuple[dict[str, Any], str, Tensor, int]]
    """Where each weight is kept, and where its numbers were. They are held, so that nobody frees them under C."""
    modules: list[tuple[dict[str, Any], str, nn.Module]]
    """Where each module is kept."""

    @classmethod
    def of(cls, places: Iterable[tuple[dict[str, Any], str]]) -> "Watched":
        """Modules by where they are kept, with all that is in them; not who keeps them: it would keep itself alive."""
        modules = list[tuple[dict[str, Any], str, nn.Module]]()
        for kept, name in places:
            if (module := kept[name]) is not None:
                modules.append((kept, name, module))
                inside = [part._modules for part in module.modules()]
                modules += [(of, key, part) for of in inside for key, part in of.items() if part is not None]
        weights = list[tuple[dict[str, Any], str, Tensor, int]]()
        for _, _, part in modules:
            each: list[dict[str, Any]] = [part._parameters, *[part._buffers] * isinstance(part, Int8Linear)]
            for own in each:
                for name, weight in own.items():
                    if weight is not None:
                        weights.append((own, name, weight, weight.data_ptr()))
                        need(weight.is_cpu and type(weight) in PLAIN)
        return cls(weights, modules)

    @property
    def holds(self) -> bool:
        """Whether all is still where it was, and nobody listens."""
        for kept, name, weight, at in self.weights:
            if kept.get(name) is not weight or weight.data_ptr() != at:
                return False
        for kept, name, part in self.modules:
            if kept.get(name) is not part or part.training or part._forward_hooks or part._forward_pre_hooks:
                return False
            if "forward" in part.__dict__:
                return False
        return not (_global_forward_hooks or _global_forward_pre_hooks)
