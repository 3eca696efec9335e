"""Rotary positions: what a turn is, and that only the distance counts."""

import math
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers.positions import Rotary, RotaryRelative, rotary
from tests.examples import many

KINDS = [
    Rotary(),
    Rotary(order="interleaved"),
    Rotary(fraction=0.5),
    Rotary(order="interleaved", fraction=0.5, base=100.0),
]


def turned(settings: Rotary, x: torch.Tensor, at: int) -> torch.Tensor:
    return RotaryRelative(settings, 8).turn(x[None, None], torch.tensor([at]))[0, 0]


@pytest.mark.parametrize("settings", KINDS)
@many
@given(at=st.integers(0, 2000), away=st.integers(0, 2000), shift=st.integers(0, 2000), seed=st.integers(0, 99))
def test_products_depend_on_the_distance_only(settings: Rotary, at: int, away: int, shift: int, seed: int) -> None:
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    here = turned(settings, q, at) @ turned(settings, k, at + away)
    there = turned(settings, q, at + shift) @ turned(settings, k, at + away + shift)
    torch.testing.assert_close(there, here, atol=1e-9, rtol=0)
    torch.testing.assert_close(turned(settings, q, at).norm(), q.norm())


def test_products_do_depend_on_the_distance() -> None:
    q = torch.ones(8).double()
    products = [float(turned(Rotary(), q, 0) @ turned(Rotary(), q, away)) for away in range(4)]
    assert products[0] == pytest.approx(8)
    assert products == sorted(products, reverse=True)
    assert len(set(products)) == 4


@pytest.mark.parametrize(("order", "partner"), [("halves", 4), ("interleaved", 1)])
def test_a_turn_in_one_plane(order: str, partner: int) -> None:
    """The first plane turns by one radian a step; its second axis is i + K/2 or 2i + 1."""
    x = torch.zeros(8).double()
    x[0] = 1
    y = turned(Rotary.model_validate({"order": order}), x, 3)
    expected = torch.zeros(8).double()
    expected[0], expected[partner] = math.cos(3), math.sin(3)
    torch.testing.assert_close(y, expected)


def test_the_slowest_plane() -> None:
    x = torch.zeros(8).double()
    x[6] = 1
    y = turned(Rotary(order="interleaved", base=100.0), x, 5)
    angle = 5 / 100 ** (6 / 8)
    torch.testing.assert_close(y[6:], torch.tensor([math.cos(angle), math.sin(angle)]).double())


def test_a_fraction_turns_and_the_rest_stays() -> None:
    x = torch.randn(8, generator=torch.Generator().manual_seed(0)).double()
    y = turned(Rotary(fraction=0.5), x, 7)
    assert torch.equal(y[4:], x[4:])
    assert (y[:4] != x[:4]).all()
    torch.testing.assert_close(y[:4], RotaryRelative(Rotary(), 4).turn(x[None, None, :4], torch.tensor([7]))[0, 0])


def test_position_zero_stays() -> None:
    x = torch.randn(8).double()
    assert torch.equal(turned(Rotary(), x, 0), x)


def test_heads_and_rows_by_their_own_positions() -> None:
    x_BTHK = torch.randn(2, 3, 4, 8).double()
    at_BT = torch.tensor([[0, 1, 2], [5, 6, 7]])
    y = RotaryRelative(Rotary(), 8).turn(x_BTHK, at_BT)
    for b in range(2):
        for t in range(3):
            for h in range(4):
                torch.testing.assert_close(y[b, t, h], turned(Rotary(), x_BTHK[b, t, h], int(at_BT[b, t])))


def test_half_precision_can_tell_far_positions_apart() -> None:
    x = torch.ones(8)
    for at in 256, 257, 1001:
        exact = turned(Rotary(), x.double(), at)
        torch.testing.assert_close(turned(Rotary(), x.bfloat16(), at).double(), exact, atol=0.03, rtol=0)


def test_threads_that_ask_first_get_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """C keeps its address: what somebody was given must not be freed for what another made at the same time."""
    made, both = list[object](), threading.Barrier(2)
    real = rotary._table

    def slow(turning: int, base: float) -> tuple[Tensor, Tensor]:
        table = real(turning, base)
        both.wait(timeout=60)
        return table

    monkeypatch.setattr(rotary, "_table", slow)
    relative = RotaryRelative(Rotary(base=1234.5), 8)
    threads = [threading.Thread(target=lambda: made.append(relative.table())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0] is made[1]
    assert relative.table() is made[0]


@pytest.mark.parametrize("order", ["halves", "interleaved"])
def test_the_table_turns_as_it_does(order: str) -> None:
    relative = RotaryRelative(Rotary(order=order, base=50.0), 8)  # type: ignore[arg-type]
    cos_PR, sin_PR = relative.table()
    x = torch.randn(1, 8)
    a, b = x.chunk(2, -1) if order == "halves" else (x[:, ::2], x[:, 1::2])
    turned = relative.turn(x[None], torch.tensor([77]))[0]
    c, d = turned.chunk(2, -1) if order == "halves" else (turned[:, ::2], turned[:, 1::2])
    torch.testing.assert_close(c, a * cos_PR[77] - b * sin_PR[77])
    torch.testing.assert_close(d, b * cos_PR[77] + a * sin_PR[77])
