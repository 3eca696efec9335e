"""Dropout: other units at each token, or the same in a whole sequence."""

import pytest
import torch

from seqloom.layers.dropout import FEW, LEVELS, Dropout, dropped, plus_dropped
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.paths import only_plain


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


def masks(count: int, size: int, rate: float) -> torch.Tensor:
    """Which numbers are dropped: count calls, one after the other."""
    torch.manual_seed(5)
    return torch.stack([dropped(torch.ones(size), rate) == 0 for _ in range(count)])


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9, 1 / LEVELS])
def test_the_rate_and_the_growth(rate: float) -> None:
    size = 1_000_000
    torch.manual_seed(3)
    y = dropped(torch.ones(size), rate)
    deviation = (rate * (1 - rate) / size) ** 0.5
    assert (y == 0).double().mean().item() == pytest.approx(rate, abs=5 * deviation + 0.5 / LEVELS)
    grown = y[y != 0].unique()
    assert len(grown) == 1
    assert grown.item() == pytest.approx(1 / (1 - rate), rel=1 / LEVELS / (1 - rate))


def test_neighbours_and_calls_know_nothing_of_each_other() -> None:
    """Four numbers come of one draw: places at any distance, and calls, agree as often as chance has it."""
    gone, rate = masks(4, 400_000, 0.3), 0.3
    both = rate**2
    bound = 5 * (both * (1 - both) / 390_000) ** 0.5
    for distance in (1, 2, 3, 4, 7, 16, 256):
        together = (gone[0, distance:] & gone[0, :-distance]).double().mean().item()
        assert together == pytest.approx(both, abs=bound), distance
    for other in gone[1:]:
        assert (gone[0] & other).double().mean().item() == pytest.approx(both, abs=bound)


def test_each_place_is_dropped_as_often_as_any_other() -> None:
    often = masks(400, FEW, 0.2).double().mean(0)
    assert often.mean().item() == pytest.approx(0.2, abs=0.002)
    assert often.std().item() == pytest.approx((0.2 * 0.8 / 400) ** 0.5, rel=0.1)


def test_chance_is_a_function_of_the_seed_not_of_the_threads() -> None:
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        torch.manual_seed(8)
        found += [dropped(torch.ones(100, 1000), 0.1), dropped(torch.ones(100, 1000), 0.1)]
    torch.set_num_threads(before)
    assert torch.equal(found[0], found[2])
    assert torch.equal(found[1], found[3])
    assert not torch.equal(found[0], found[1])


def test_after_a_state_of_chance_comes_what_came_after_it() -> None:
    torch.manual_seed(2)
    dropped(torch.ones(FEW), 0.5)
    state = torch.get_rng_state()
    wanted = dropped(torch.ones(FEW), 0.5)
    torch.set_rng_state(state)
    assert torch.equal(dropped(torch.ones(FEW), 0.5), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_gradient_goes_where_the_numbers_went(dtype: torch.dtype) -> None:
    x = torch.full((64, 128), 3.0, dtype=dtype, requires_grad=True)
    y = dropped(x, 0.25)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(y, x.grad * 3)
    assert set((y == 0).unique().tolist()) == {True, False}


@pytest.mark.parametrize("shape", [(64, 100), (2, 3)])
def test_a_sum_with_what_is_dropped(shape: tuple[int, ...]) -> None:
    x, y = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.manual_seed(4)
    total = plus_dropped(x, y, 0.4)
    torch.manual_seed(4)
    torch.testing.assert_close(total, x + dropped(y, 0.4))
    total.backward(torch.full(shape, 2.0, dtype=torch.float64))
    assert x.grad is not None
    assert y.grad is not None
    assert x.grad.unique().tolist() == [2.0]
    torch.testing.assert_close(y.grad * y.detach(), 2 * (total - x).detach())


def test_the_plain_path_is_that_of_torch() -> None:
    x = torch.ones(FEW)
    torch.manual_seed(1)
    with only_plain():
        y = dropped(x, 0.3)
    torch.manual_seed(1)
    assert torch.equal(y, torch.nn.functional.dropout(x, 0.3))


def test_strides_do_not_matter() -> None:
    x = torch.ones(100, 60, requires_grad=True)
    y = dropped(x.T, 0.5)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(y.T, x.grad)
