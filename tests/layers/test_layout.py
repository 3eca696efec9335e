"""Packed and padded: the way there and back, what must not leak, and the gradients of both moves."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers.layout import Layout, Packed, Padded, flip, with_structure
from tests.examples import many

LENGTHS = st.lists(st.integers(0, 5), min_size=1, max_size=5)


def rows_of(lengths: list[int], width: int = 2) -> list[Tensor]:
    """Row b, step t, feature d holds 100·b + 10·t + d + 1: no two alike, none zero."""
    return [
        torch.tensor([[100.0 * b + 10 * t + d + 1 for d in range(width)] for t in range(n)]).view(n, width)
        for b, n in enumerate(lengths)
    ]


def padded_by_hand(rows: list[Tensor], width: int) -> Tensor:
    x_BTD = torch.zeros(len(rows), width, 2)
    for b, row in enumerate(rows):
        x_BTD[b, : len(row)] = row
    return x_BTD


@many
@given(lengths=LENGTHS)
def test_packed_there_and_back(lengths: list[int]) -> None:
    layout, rows = Packed.of(lengths), rows_of(lengths)
    x_ND = torch.cat(rows)
    x_BTD = layout.pad(x_ND)
    assert torch.equal(x_BTD, padded_by_hand(rows, max(lengths)))
    assert torch.equal(layout.unpad(x_BTD), x_ND)


@many
@given(lengths=LENGTHS, filler=st.integers(0, 4), more_rows=st.integers(0, 2), longer=st.integers(1, 3))
def test_a_frame_there_and_back(lengths: list[int], filler: int, more_rows: int, longer: int) -> None:
    rows, total = rows_of(lengths), sum(lengths)
    layout = Packed.of(
        lengths, tokens=max(total + filler, 1), rows=len(lengths) + more_rows, longest=max(lengths) + longer
    )
    fill = layout.row_N.shape[0] - total
    junk = torch.full((fill, 2), math.nan)
    x_BTD = layout.pad(torch.cat((*rows, junk)))
    assert x_BTD.shape == (len(lengths) + more_rows, max(lengths) + longer, 2)
    assert torch.equal(x_BTD, padded_by_hand(rows + [torch.zeros(0, 2)] * more_rows, max(lengths) + longer))
    back = layout.unpad(torch.where(layout.real_BT[..., None], x_BTD, math.nan))
    assert torch.equal(back, torch.cat((*rows, torch.zeros(fill, 2))))


@many
@given(lengths=LENGTHS, data=st.data())
def test_padded_there_and_back(lengths: list[int], data: st.DataObject) -> None:
    """Padding may stand before, behind or on both sides, and may hold anything."""
    width = max(lengths) + data.draw(st.integers(0, 3))
    starts = [data.draw(st.integers(0, width - n)) for n in lengths]
    layout, rows = Padded.of(lengths, width, starts), rows_of(lengths)
    x_BTD = torch.full((len(lengths), width, 2), math.nan)
    for b, (row, start) in enumerate(zip(rows, starts, strict=True)):
        x_BTD[b, start : start + len(row)] = row
    real = layout.real
    assert torch.equal(torch.ones_like(x_BTD[..., 0]).bool() if real is None else real, ~x_BTD[..., 0].isnan())
    flush_BTD = layout.pad(x_BTD)
    assert torch.equal(flush_BTD, padded_by_hand(rows, width))
    back = layout.unpad(flush_BTD)
    for b, (row, start) in enumerate(zip(rows, starts, strict=True)):
        assert torch.equal(back[b, start : start + len(row)], row)


@many
@given(lengths=LENGTHS, data=st.data())
def test_steps_and_places(lengths: list[int], data: st.DataObject) -> None:
    before = torch.tensor([data.draw(st.integers(0, 9)) for _ in lengths])
    packed = Packed.of(lengths)
    assert packed.steps.tolist() == [t for n in lengths for t in range(n)]
    assert packed.places(None).tolist() == packed.steps.tolist()
    expected = [before[b].item() + t for b, n in enumerate(lengths) for t in range(n)]
    assert packed.places(before).tolist() == expected
    width = max(lengths) + 2
    left = Padded.of(lengths, width, [width - n for n in lengths])
    assert left.real is not None
    assert left.steps[left.real].tolist() == packed.steps.tolist()
    assert left.places(before)[left.real].tolist() == expected


def layouts(lengths: list[int]) -> list[tuple[Layout, Tensor]]:
    """The same batch in every form, each with its tokens; junk where nothing is real."""
    rows, total, width = rows_of(lengths), sum(lengths), max(lengths) + 2
    framed = Packed.of(lengths, tokens=total + 3, rows=len(lengths), longest=width)
    left = torch.full((len(lengths), width, 2), math.nan)
    right = left.clone()
    for b, row in enumerate(rows):
        left[b, width - len(row) :] = row
        right[b, : len(row)] = row
    return [
        (Packed.of(lengths), torch.cat(rows)),
        (framed, torch.cat((*rows, torch.full((3, 2), math.nan)))),
        (Padded.of(lengths, width), right),
        (Padded.of(lengths, width, [width - n for n in lengths]), left),
    ]


@many
@given(lengths=LENGTHS.filter(any))
def test_first_last_and_mean_of_each_row(lengths: list[int]) -> None:
    for layout, x in layouts(lengths):
        for b, row in enumerate(rows_of(lengths)):
            nothing = torch.zeros(2)
            assert torch.equal(layout.first_B(x)[b], row[0] if len(row) else nothing)
            assert torch.equal(layout.last_B(x)[b], row[-1] if len(row) else nothing)
            torch.testing.assert_close(layout.mean_B(x)[b], row.mean(0) if len(row) else nothing)


def test_rows_that_are_all_empty() -> None:
    for layout, x in (Packed.of([0, 0]), torch.zeros(0, 2)), (Padded.of([0, 0]), torch.zeros(2, 0, 2)):
        for of_rows in layout.first_B, layout.last_B, layout.mean_B:
            assert torch.equal(of_rows(x), torch.zeros(2, 2))


def test_a_frame_of_rows_that_are_all_empty() -> None:
    layout = Packed.of([0, 0], tokens=3)
    assert torch.equal(layout.unpad(layout.pad(torch.ones(3, 2))), torch.zeros(3, 2))


@many
@given(lengths=LENGTHS.filter(any))
def test_each_token_gets_its_rows_vector(lengths: list[int]) -> None:
    of_row_BD = torch.arange(1.0, 2 * len(lengths) + 1).view(len(lengths), 2)
    for layout, x in layouts(lengths):
        got = layout.of_rows(of_row_BD).expand_as(x)
        real = torch.ones(x.shape[:-1], dtype=torch.bool) if layout.real is None else layout.real
        assert torch.equal(got[real], torch.cat([of_row_BD[b].expand(n, 2) for b, n in enumerate(lengths)]))


@many
@given(lengths=LENGTHS)
def test_flip(lengths: list[int]) -> None:
    rows = rows_of(lengths)
    x_BTD = padded_by_hand(rows, max(lengths))
    flipped = flip(x_BTD, torch.tensor(lengths))
    assert torch.equal(flipped, padded_by_hand([row.flip(0) for row in rows], max(lengths)))
    assert torch.equal(flip(flipped, torch.tensor(lengths)), x_BTD)


def test_flip_of_masks() -> None:
    assert flip(torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0]]), torch.tensor([3, 1])).tolist() == [
        [3, 2, 1, 0],
        [4, 0, 0, 0],
    ]


@pytest.mark.parametrize(
    "layout",
    [
        Packed.of([3, 0, 2]),
        Packed.of([2, 2]),
        Packed.of([3, 0, 2], tokens=7, rows=4, longest=4),
        Padded.of([3, 0, 2], 4),
        Padded.of([3, 0, 2], 4, [1, 2, 0]),
        Padded.whole(2, 3),
    ],
    ids=["packed", "even", "framed", "right", "anywhere", "whole"],
)
def test_gradients_of_both_moves(layout: Layout) -> None:
    torch.manual_seed(0)
    own = (layout.steps.shape[0], 2) if isinstance(layout, Packed) else (layout.rows, layout.longest, 2)
    x = torch.randn(own, dtype=torch.float64, requires_grad=True)
    x_BTD = torch.randn(layout.rows, layout.longest, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layout.pad, x)
    assert torch.autograd.gradcheck(layout.unpad, x_BTD)
    assert torch.autograd.gradgradcheck(layout.pad, x)


def test_nan_in_padding_stays_out_of_gradients_too() -> None:
    layout = Packed.of([1, 2], tokens=4, rows=2, longest=3)
    x = torch.ones(4, 2, requires_grad=True)
    weight = torch.where(layout.real_BT, 1.0, math.nan)[..., None]
    layout.unpad(layout.pad(x) * weight).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 1], [1, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"tokens": 5}, "6 tokens do not fit into a frame of 5 tokens"),
        ({"rows": 2}, "3 rows do not fit into a frame of 2 rows"),
        ({"longest": 2}, "3 steps do not fit into a frame of 2 steps"),
    ],
)
def test_what_does_not_fit_into_a_frame(frame: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Packed.of([3, 1, 2], **frame)
    Packed.of([3, 1, 2], **{name: size + 1 for name, size in frame.items()})


def test_what_does_not_fit_into_a_padded_batch() -> None:
    with pytest.raises(ValueError, match=r"^a row ends at step 4, but the batch is only 3 wide$"):
        Padded.of([3, 1], 3, [1, 0])
    with pytest.raises(ValueError, match=r"^a row ends at step 3, but the batch is only 2 wide$"):
        Padded.of([3, 1], 2)


def test_frames_have_one_shape_whatever_is_in_them() -> None:
    one, other = (Packed.of(lengths, tokens=9, rows=4, longest=5) for lengths in ([5, 4], [1, 1, 1, 1]))
    for name in "lengths_B", "offsets_B1", "row_N", "step_N", "slot_N", "real_BT", "real_N":
        assert getattr(one, name).shape == getattr(other, name).shape
    assert (one.longest, one.uniform) == (other.longest, other.uniform) == (5, False)
    assert other.real is not None
    assert other.real.tolist() == [True] * 4 + [False] * 5


def test_uniform_only_where_nothing_is_padding() -> None:
    assert Packed.of([2, 2]).uniform
    assert Padded.of([2, 2]).uniform
    assert Padded.whole(3, 4).uniform
    assert Padded.of([2, 2]).real is None
    assert not Packed.of([2, 1]).uniform
    assert not Packed.of([2, 2], longest=3).uniform
    assert not Padded.of([2, 2], 3).uniform
    assert not Padded.of([2, 1], 2).uniform
    assert Packed.of([2, 1]).real is None


def test_offsets_and_lengths() -> None:
    layout = Packed.of([3, 0, 2])
    assert layout.offsets_B1.tolist() == [0, 3, 3, 5]
    assert layout.offsets_B1.dtype == torch.int32  # as kernels want them
    assert layout.lengths_on_host.tolist() == layout.lengths_B.tolist() == [3, 0, 2]
    assert layout.rows == 3
    assert layout.real_BT.tolist() == [[True] * 3, [False] * 3, [True, True, False]]
    assert torch.equal(layout.real_BT, Padded.of([3, 0, 2]).real_BT)
    assert Padded.of([3, 0, 2]).lengths_on_host.tolist() == [3, 0, 2]


def test_no_rows_at_all() -> None:
    assert Packed.of([]).pad(torch.zeros(0, 2)).shape == (0, 0, 2)
    assert Padded.of([]).pad(torch.zeros(0, 0, 2)).shape == (0, 0, 2)


def test_with_structure() -> None:
    structure = torch.eye(3, dtype=torch.bool)[None].expand(2, -1, -1)
    for layout in Packed.of([3, 1]), Padded.of([3, 1]):
        limited = with_structure(layout, structure)
        assert layout.structure_BTT is None
        assert limited.structure_BTT is structure
        assert torch.equal(limited.lengths_B, layout.lengths_B)
        assert type(limited) is type(layout)


def test_a_frame_on_a_device_is_the_one_from_the_host() -> None:
    lengths = [3, 0, 5, 1]
    there, here = Packed.within(torch.tensor([*lengths, 0]), 12, 7), Packed.of(lengths, tokens=12, rows=5, longest=7)
    for name in "lengths_B", "offsets_B1", "row_N", "step_N", "slot_N", "real_N", "real_BT":
        assert torch.equal(getattr(there, name), getattr(here, name)), name
    x_ND = torch.randn(12, 3)
    assert torch.equal(there.pad(x_ND), here.pad(x_ND))
    assert torch.equal(there.unpad(there.pad(x_ND)), here.unpad(here.pad(x_ND)))


def test_the_slots_of_a_frame_are_made_for_who_pads_alone() -> None:
    frame = Packed.within(torch.tensor([3, 1]), 8, 4)
    frame.check(torch.zeros(8, 2))
    frame.places(None)
    frame.of_rows(torch.zeros(2, 5))
    assert frame.slots is None
    assert not frame.memo
    frame.pad(torch.zeros(8, 2))
    assert "slots" in frame.memo
