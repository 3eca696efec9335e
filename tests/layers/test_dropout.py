"""Dropout: other units at each token, or the same in a whole sequence."""

import pytest
import torch

from seqloom.layers.dropout import Dropout
from seqloom.layers.layout import Layout, Packed, Padded


@pytest.mark.parametrize(("layout", "shape"), [(Packed.of([3, 5]), (8,)), (Padded.of([3, 5]), (2, 5))])
def test_locked_units_are_gone_in_the_whole_row(layout: Layout, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    y_BTD = layout.pad(Dropout(0.5, locked=True)(torch.ones(*shape, 64), layout))
    for row_TD, length in zip(y_BTD, [3, 5], strict=True):
        assert set(row_TD[:length].unique().tolist()) == {0.0, 2.0}
        assert (row_TD[:length] == row_TD[0]).all()
    assert not torch.equal(y_BTD[0, 0], y_BTD[1, 0])


def test_otherwise_each_token_has_its_own() -> None:
    torch.manual_seed(1)
    y = Dropout(0.5)(torch.ones(4, 64), Packed.of([4]))
    assert not torch.equal(y[0], y[1])


@pytest.mark.parametrize("locked", [True, False])
def test_nothing_is_dropped_in_evaluation_or_at_a_rate_of_zero(locked: bool) -> None:
    x, layout = torch.randn(4, 8), Packed.of([4])
    assert torch.equal(Dropout(0.5, locked).eval()(x, layout), x)
    assert torch.equal(Dropout(0.0, locked)(x, layout), x)
