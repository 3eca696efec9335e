"""Who may see whom, rule by rule, on matrices small enough to read."""

import torch
from torch import Tensor

from seqloom.layers.masks import Sight

FOUR = torch.arange(4)[None]


def drawn(mask: Tensor | None) -> list[str]:
    """A row for each query; x: sees the key."""
    assert mask is not None
    assert mask.shape[0] == 1
    return ["".join("x" if seen else "." for seen in row) for row in mask[0].tolist()]


def test_everyone_sees_everything() -> None:
    assert Sight().mask(FOUR, 4) is None


def test_causal() -> None:
    assert drawn(Sight(causal=True).mask(FOUR, 4)) == ["x...", "xx..", "xxx.", "xxxx"]


def test_causal_with_steps_before() -> None:
    """Two new steps behind two old ones."""
    assert drawn(Sight(causal=True).mask(torch.tensor([[2, 3]]), 4)) == ["xxx.", "xxxx"]


def test_window() -> None:
    assert drawn(Sight(window=1).mask(FOUR, 4)) == ["x...", ".x..", "..x.", "...x"]
    assert drawn(Sight(window=2).mask(FOUR, 4)) == ["xx..", "xxx.", ".xxx", "..xx"]
    assert drawn(Sight(causal=True, window=2).mask(FOUR, 4)) == ["x...", "xx..", ".xx.", "..xx"]


def test_block() -> None:
    assert drawn(Sight(block=3).mask(FOUR, 4)) == ["xxx.", "xxx.", "xxx.", "...x"]
    assert drawn(Sight(causal=True, block=2).mask(FOUR, 4)) == ["x...", "xx..", "..x.", "..xx"]


def test_lengths() -> None:
    mask = Sight(lengths_B=torch.tensor([2, 0])).mask(FOUR, 4)
    assert mask is not None
    assert mask.shape == (2, 1, 4)
    assert mask[:, 0].tolist() == [[True, True, False, False], [False] * 4]


def test_structure() -> None:
    edges = torch.tensor([[[1, 1, 0], [1, 1, 0], [0, 0, 0]]], dtype=torch.bool)
    at = torch.arange(3)[None]
    assert drawn(Sight(structure_BTS=edges).mask(at, 3)) == ["xx.", "xx.", "..."]
    assert drawn(Sight(causal=True, structure_BTS=edges).mask(at, 3)) == ["x..", "xx.", "..."]


def test_all_rules_hold_at_once() -> None:
    sight = Sight(causal=True, window=3, lengths_B=torch.tensor([3]))
    assert drawn(sight.mask(torch.arange(5)[None], 5)) == ["x....", "xx...", "xxx..", ".xx..", "..x.."]


def test_each_row_at_its_own_position() -> None:
    mask = Sight(causal=True).mask(torch.tensor([[0], [2]]), 4)
    assert mask is not None
    assert mask[:, 0].tolist() == [[True, False, False, False], [True, True, True, False]]


def test_when_the_kernel_needs_no_mask() -> None:
    assert Sight(causal=True, from_start=True).kernel_causal
    assert Sight(causal=True, from_start=True, lengths_B=torch.tensor([1])).kernel_causal
    for sight in (
        Sight(causal=True),
        Sight(from_start=True),
        Sight(causal=True, from_start=True, window=2),
        Sight(causal=True, from_start=True, block=2),
        Sight(causal=True, from_start=True, structure_BTS=torch.ones(1, 1, 1, dtype=torch.bool)),
    ):
        assert not sight.kernel_causal
