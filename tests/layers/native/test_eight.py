"""Products in eight bits, in C: the same whole numbers as torch makes."""
# N rows  D inputs  E outputs

import copy
import math

import pytest
import torch
from torch import Tensor

from seqloom.layers.int8 import Int8Linear
from seqloom.layers.native import arena
from seqloom.layers.native.eight import EIGHT
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(EIGHT.wait() is None, reason="needs a C compiler")


def linear(inputs: int, outputs: int, bias: bool = True) -> Int8Linear:
    torch.manual_seed(0)
    return Int8Linear(torch.randn(outputs, inputs), torch.randn(outputs) if bias else None)


@torch.inference_mode()
def both(made: Int8Linear, x: Tensor) -> tuple[Tensor, Tensor]:
    found = made(x)
    with only_plain():
        return found, made(x)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("inputs", "outputs"), [(256, 768), (10, 70), (511, 33), (3, 1), (64, 64), (1024, 130)])
def test_as_torch_makes_them(inputs: int, outputs: int, bias: bool) -> None:
    made = linear(inputs, outputs, bias)
    for rows in (1, 2, 3, 4, 5, 6, 7, 13, 40):
        x_ND = torch.randn(rows, inputs) * torch.logspace(-3, 3, rows)[:, None]
        found, wanted = both(made, x_ND)
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert made._packed is not None


@pytest.mark.parametrize("inputs", [64, 192, 200])
@pytest.mark.parametrize("rows", [6, 7, 15, 16, 17, 31, 32, 33, 38, 64, 71, 96])
def test_whole_numbers_are_exact(rows: int, inputs: int) -> None:
    """Tiles take some rows at once, and what is left otherwise."""
    made = linear(inputs, 130)
    x_ND = torch.randint(-127, 128, (rows, inputs)).float()
    x_ND[:, 0] = 127
    found, wanted = both(made, x_ND)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("inputs", [200, 256])
@torch.inference_mode()
def test_no_row_depends_on_its_neighbours_or_on_threads(inputs: int) -> None:
    made, x_ND = linear(inputs, 300), torch.randn(50, inputs)
    alone = torch.cat([made(row[None]) for row in x_ND])
    assert torch.equal(made(x_ND), alone)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert torch.equal(made(x_ND), alone)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_spoils_its_row_and_no_other(bad: float) -> None:
    x_ND = torch.randn(7, 40)
    x_ND[3, 5] = bad
    found, _ = both(linear(40, 30, bias=False), x_ND)
    assert not found[3].isfinite().any()
    assert found[[0, 1, 2, 4, 5, 6]].isfinite().all()


def test_no_rows_and_any_shape() -> None:
    for shape in (0, 5), (2, 0, 5), (2, 3, 5):
        found, wanted = both(linear(5, 6), torch.randn(shape))
        assert found.shape == wanted.shape == (*shape[:-1], 6)


def test_rows_of_another_width_are_refused() -> None:
    with torch.inference_mode(), pytest.raises(RuntimeError):
        linear(20, 30)(torch.randn(4, 24))


@torch.inference_mode()
def test_a_copy_has_its_own_and_a_change_is_seen() -> None:
    made, x_ND = linear(20, 30), torch.randn(4, 20)
    before = made(x_ND)
    other = copy.deepcopy(made)
    assert torch.equal(other(x_ND), before)
    other.scale_E = other.scale_E * 2
    other.bias_E = None
    torch.testing.assert_close(other(x_ND), 2 * (before - made.bias_E))
    assert torch.equal(made(x_ND), before)


def test_large_pages_are_handed_out_once() -> None:
    first, second = arena.empty(9, torch.float32).fill_(1), arena.empty(9, torch.int32).fill_(0)
    assert (len(first), first.dtype, len(second), second.dtype) == (9, torch.float32, 9, torch.int32)
    assert first.data_ptr() % arena.ALIGNED == second.data_ptr() % arena.ALIGNED == 0
    assert float(first.sum()) == 9


def test_more_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "CHUNK", arena.PAGE)
    small, large = arena.empty(7, torch.int8).fill_(3), arena.empty(arena.PAGE + 100, torch.int8).fill_(5)
    assert set(small.tolist()) == {3}
    assert set(large.tolist()) == {5}
