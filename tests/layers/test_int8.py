"""Products in eight bits: nearly what they were, and of each row alone."""
# N rows  D inputs  E outputs

import pytest
import torch
import torch.nn.functional as F

from seqloom.layers import int8
from seqloom.layers.int8 import Int8Linear

SIZES = [(16, 24), (16, 128)]


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "AT_ONCE", 128 * 7)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_nearly_the_same_product(inputs: int, outputs: int, bias: bool) -> None:
    torch.manual_seed(1)
    weight_ED, bias_E = torch.randn(outputs, inputs), torch.randn(outputs) if bias else None
    for rows in (1, 7, 50):
        x_ND = torch.randn(rows, inputs) * torch.logspace(-3, 3, rows)[:, None]
        wanted, found = F.linear(x_ND, weight_ED, bias_E), Int8Linear(weight_ED, bias_E)(x_ND)
        apart_N = (found - wanted).norm(dim=1) / (wanted - (0 if bias_E is None else bias_E)).norm(dim=1)
        assert 0 < apart_N.max() < 0.03


@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_no_row_depends_on_its_neighbours(inputs: int, outputs: int) -> None:
    """The same bits, whoever stands beside it, however large its numbers are."""
    torch.manual_seed(1)
    linear = Int8Linear(torch.randn(outputs, inputs), torch.randn(outputs))
    few, others = torch.randn(6, inputs), torch.randn(40, inputs) * 1000 + 500
    assert torch.equal(linear(torch.cat((few, others)))[:6], linear(few))


def test_rows_of_zeros_and_any_shape() -> None:
    linear = Int8Linear(torch.randn(6, 4), torch.arange(6.0))
    y = linear(torch.zeros(2, 3, 4))
    assert y.shape == (2, 3, 6)
    assert torch.equal(y, torch.arange(6.0).expand(2, 3, 6))
    assert not torch.isnan(Int8Linear(torch.zeros(6, 4), None)(torch.randn(3, 4))).any()
