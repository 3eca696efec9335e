"""All rows of a batch twice in one layout: laid out as if somebody had repeated them, and parted again."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.layers.layout import Edges, Packed, halves, repeated, twice, with_edges, with_structure
from tests.examples import many
from tests.layers.test_layout import LENGTHS, padded_by_hand, rows_of


def _framed(lengths: list[int], filler: int, more_rows: int, longer: int, there: bool) -> Packed:
    """there: the device alone knows the lengths."""
    tokens, rows, longest = max(sum(lengths) + filler, 1), len(lengths) + more_rows, max(lengths) + longer
    if not there:
        return Packed.of(lengths, tokens=tokens, rows=rows, longest=longest)
    return Packed.within(torch.tensor(lengths + [0] * more_rows), tokens, longest)


@many
@given(lengths=LENGTHS)
def test_rows_stand_there_twice_and_are_parted_again(lengths: list[int]) -> None:
    layout, rows = Packed.of(lengths), rows_of(lengths)
    x_ND = torch.cat(rows)
    whole, again = twice(layout), repeated(layout, x_ND)
    assert torch.equal(whole.pad(again), padded_by_hand(rows * 2, max(lengths)))
    one, other, once = halves(whole, again)
    assert torch.equal(one, x_ND)
    assert torch.equal(other, x_ND)
    assert torch.equal(once.pad(one), layout.pad(x_ND))


@many
@given(
    lengths=LENGTHS,
    filler=st.integers(0, 4),
    more_rows=st.integers(0, 2),
    longer=st.integers(0, 2),
    there=st.booleans(),
)
def test_what_fills_a_frame_up_comes_last(
    lengths: list[int], filler: int, more_rows: int, longer: int, there: bool
) -> None:
    layout, rows, total = _framed(lengths, filler, more_rows, longer, there), rows_of(lengths), sum(lengths)
    x_ND = torch.cat((*rows, torch.full((len(layout.row_N) - total, 2), -1.0)))
    whole, again = twice(layout), repeated(layout, x_ND)
    assert again[: 2 * total].tolist() == torch.cat(rows * 2).tolist()
    nobody = [torch.zeros(0, 2)] * more_rows
    assert torch.equal(whole.pad(again), padded_by_hand([*rows, *nobody, *rows, *nobody], layout.longest))
    other_ND = torch.cat((*rows, *(-row for row in rows), torch.zeros(len(again) - 2 * total, 2)))
    one, other, once = halves(whole, other_ND)
    assert torch.equal(once.pad(one), layout.pad(x_ND))
    assert torch.equal(once.pad(other), -layout.pad(x_ND))


def test_rows_of_one_length_stay_so() -> None:
    layout = Packed.within(torch.tensor([3, 3]), 6, 3, same=True)
    whole = twice(layout)
    assert whole.uniform
    assert whole.pad(repeated(layout, torch.arange(6))).tolist() == [[0, 1, 2], [3, 4, 5]] * 2
    assert [part.tolist() for part in halves(whole, torch.arange(12))[:2]] == [[*range(6)], [*range(6, 12)]]


def test_who_asks_for_the_padded_form_asks_for_that_of_the_rows_that_are_there_once() -> None:
    layout = Packed.of([1, 2])
    whole = twice(layout)
    assert not layout.padded
    whole.pad(torch.zeros(6))
    assert layout.padded


def test_a_copy_sees_what_the_other_sees_of_itself() -> None:
    see_BTT = torch.rand(2, 3, 3) < 0.5
    layout = with_structure(Packed.of([3, 2]), see_BTT)
    assert isinstance(layout, Packed)
    whole = twice(layout)
    assert whole.structure_BTT is not None
    assert torch.equal(whole.structure_BTT, torch.cat((see_BTT, see_BTT)))
    for_all = with_structure(Packed.of([3, 3]), see_BTT[:1])
    assert isinstance(for_all, Packed)
    again = twice(for_all).structure_BTT
    assert again is not None
    assert torch.equal(again, see_BTT[:1])
    edges = twice(with_edges(Packed.of([3, 2]), Edges.of_structure(see_BTT))).edges
    assert edges is not None
    assert torch.equal(edges.structure(4, 3), torch.cat((see_BTT, see_BTT)))
