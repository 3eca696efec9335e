"""Lower layers learn more slowly: what they know is general (Howard and Ruder 2018, discriminative fine-tuning)."""

from torch import nn

from seqloom.models.stack import Stack
from seqloom.training.roles import trained

ABOVE = {"input": ("encoder", "decoder"), "source": ("encoder",), "target": ("decoder",)}
"""The stacks that stand on an input."""


def layer_rates(model: nn.Module, decay: float) -> dict[str, float]:
    """A factor to the rate of each trained parameter.

    1 for heads and what stands behind a stack; decay for its top block, decay² for the next, and so on down to what it
    reads. Each stack counts for itself. What is tied to an input goes with the input.
    """
    depths = {name: len(part.blocks) for name, part in model.named_children() if isinstance(part, Stack)}
    return {name: decay ** _below(name.split("."), depths) for name in trained(model)}


def _below(path: list[str], depths: dict[str, int]) -> int:
    """How many layers above it are slowed less."""
    part = path[0]
    if part in depths and path[1] == "blocks":
        return depths[part] - int(path[2])
    return max((depths[stack] + 1 for stack in ABOVE.get(part, ()) if stack in depths), default=0)
