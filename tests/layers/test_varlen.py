"""Ranges of keys say the same as a mask does."""

import pytest
import torch

from seqloom.layers.layout import Packed
from seqloom.layers.masks import Sight
from seqloom.layers.varlen import seen

LENGTHS, OTHERS = [5, 1, 7, 3], [2, 6, 1, 4]
SIGHTS = [
    Sight(),
    Sight(causal=True),
    Sight(causal=True, window=2),
    Sight(window=3),
    Sight(causal=True, block=3),
    Sight(block=2),
]


def _from_ranges(ranges: torch.Tensor, keys: int) -> torch.Tensor:
    key_M = torch.arange(keys)
    return (key_M >= ranges[0][:, None]) & (key_M < ranges[1][:, None])


def _from_mask(queries: Packed, keys: Packed, sight: Sight) -> torch.Tensor:
    same_NM = queries.row_N[:, None] == keys.row_N
    rule = sight.mask(queries.step_N[None], keys.longest)
    see_NM = same_NM if rule is None else same_NM & rule[0][:, keys.step_N]
    for layout, axis in (queries, 1), (keys, 0):
        if layout.real_N is not None:
            see_NM = see_NM & layout.real_N.unsqueeze(axis)
    return see_NM


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("sight", SIGHTS, ids=str)
def test_what_each_token_of_a_row_sees_and_by_whom_it_is_seen(sight: Sight, framed: bool) -> None:
    layout = Packed.of(LENGTHS, tokens=20, rows=6, longest=8) if framed else Packed.of(LENGTHS)
    wanted = _from_mask(layout, layout, sight)
    assert torch.equal(_from_ranges(seen(layout, layout, sight), len(layout.row_N)), wanted)
    assert torch.equal(_from_ranges(seen(layout, layout, sight, back=True), len(layout.row_N)), wanted.T)
    assert wanted.any()


def test_what_is_seen_of_another_sequence() -> None:
    queries, keys = Packed.of(LENGTHS), Packed.of(OTHERS, tokens=16, rows=4, longest=8)
    wanted = _from_mask(queries, keys, Sight())
    assert torch.equal(_from_ranges(seen(queries, keys, Sight()), len(keys.row_N)), wanted)
    assert torch.equal(_from_ranges(seen(keys, queries, Sight(), back=True), len(queries.row_N)), wanted.T)
