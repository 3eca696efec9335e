"""One attention layer with some of its heads off, some of its weights set, without its mask or its positions."""
# B rows  H heads  T queries  S keys

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.inspect.changes import WeightChange
from seqloom.layers.attention import SelfAttention
from seqloom.layers.attention_parts import AttentionParts
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.settings import UserError


@dataclass
class Altered:
    """What is changed in one attention layer."""

    heads: list[int] = field(default_factory=list)
    weights: list[WeightChange] = field(default_factory=list)
    masked: bool = True
    placed: bool = True
    step: int = 0
    """Rows that went before in this pass, of a layer that is asked step by step."""

    def parts(self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AttentionParts:
        match layer:
            case SelfAttention():
                parts = layer.parts(*args, **kwargs, masked=self.masked, placed=self.placed)
            case MemoryCompressedAttention():
                parts = layer.parts(*args, **kwargs, masked=self.masked)
            case _:
                parts = layer.parts(*args, **kwargs)  # type: ignore[operator]
        if self.weights:
            parts = parts.weighing(_weighed(parts.weights_BHTS, parts.see_BTS, self.weights, self.step))
        return _without(parts, self.heads)


def _without(parts: AttentionParts, heads: Sequence[int]) -> AttentionParts:
    if not heads:
        return parts
    mixed_BHTV = parts.mixed_BHTV.clone()
    mixed_BHTV[:, list(heads)] = 0
    return replace(parts, mixed_BHTV=mixed_BHTV)


def _weighed(weights_BHTS: Tensor, see_BTS: Tensor | None, changes: Sequence[WeightChange], step: int) -> Tensor:
    """Rows of which several weights are changed keep all of them; the others share what is left."""
    weights_BHTS = weights_BHTS.clone()
    rows: dict[tuple[int, int], dict[int, float]] = {}
    for change in changes:
        rows.setdefault((change.head, change.row), {})[change.column] = change.value
    T, S = weights_BHTS.shape[2:]
    for (head, row), columns in rows.items():
        if not 0 <= row - step < T:
            continue  # a step that is not asked now, or was not written
        if max(columns) >= S:
            raise UserError(f"weight: column {max(columns)}: there are {S} columns, 0 to {S - 1}")
        see_BS = None if see_BTS is None else see_BTS[:, row - step]
        weights_BHTS[:, head, row - step] = _row(weights_BHTS[:, head, row - step], see_BS, columns)
    return weights_BHTS


def _row(row_BS: Tensor, see_BS: Tensor | None, columns: dict[int, float]) -> Tensor:
    given, left = torch.zeros_like(row_BS), 1 - sum(columns.values())
    for column, value in columns.items():
        given[:, column] = value
    if left < -1e-6:
        raise UserError(f"weight: the weights given to one row sum to {1 - left:g}; a row sums to 1")
    rest_BS = row_BS.clone()
    rest_BS[:, list(columns)] = 0
    if not bool((rest_BS.sum(-1) > 0).all()):  # all was at the changed ones: the others share it evenly
        rest_BS = torch.ones_like(row_BS) if see_BS is None else see_BS.to(row_BS.dtype).expand_as(row_BS).clone()
        rest_BS[:, list(columns)] = 0
    total_B1 = rest_BS.sum(-1, keepdim=True)
    if left > 1e-6 and not bool((total_B1 > 0).all()):
        raise UserError("weight: this row sees nothing else that could take the rest; its weight stays 1")
    return given + rest_BS / total_B1.clamp(min=1e-30) * max(left, 0.0)
