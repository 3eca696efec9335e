"""Windows over a packed batch: as if each sequence had been read by itself, there and back."""

import torch
import torch.nn.functional as F
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.layers.windows import Taps, windows
from tests.examples import many
from tests.layers.test_layout import LENGTHS

TAPS = st.builds(Taps, st.integers(1, 4), st.integers(1, 3), st.integers(0, 9))


def by_hand(x_ND: Tensor, lengths: list[int], taps: Taps) -> Tensor:
    rows = []
    for row in x_ND.split(lengths):
        reach = (taps.number - 1) * taps.apart
        joined = F.pad(row, (0, 0, taps.before, reach))
        rows.append(torch.cat([joined[tap * taps.apart :][: len(row)] for tap in range(taps.number)], -1))
    return torch.cat(rows)


@many
@given(lengths=LENGTHS, taps=TAPS)
def test_as_each_sequence_by_itself(lengths: list[int], taps: Taps) -> None:
    x_ND = torch.randn(sum(lengths), 2, dtype=torch.float64, requires_grad=True)
    layout = Packed.of(lengths)
    found, wanted = windows(x_ND, layout, taps), by_hand(x_ND, lengths, taps)
    assert torch.equal(found, wanted)
    pull = torch.randn_like(wanted)
    back, wanted_back = (torch.autograd.grad(y, x_ND, pull)[0] for y in (found, wanted))
    torch.testing.assert_close(back, wanted_back)


@many
@given(lengths=LENGTHS, taps=TAPS, filler=st.integers(1, 4), more_rows=st.integers(0, 1))
@example(lengths=[4], taps=Taps(4, 1, 0), filler=1, more_rows=0)  # whose last token has none behind it to read
def test_what_fills_a_frame_up_is_read_by_no_sequence(
    lengths: list[int], taps: Taps, filler: int, more_rows: int
) -> None:
    total = sum(lengths)
    layout = Packed.within(torch.tensor(lengths + [0] * more_rows), total + filler, max(lengths))
    x_ND = torch.randn(total + filler, 2, dtype=torch.float64)
    x_ND[total:] = torch.nan
    x_ND.requires_grad_()
    found = windows(x_ND, layout, taps)[:total]
    wanted = by_hand(x_ND[:total], lengths, taps)
    assert torch.equal(found, wanted)
    pull = torch.randn_like(wanted)
    back, wanted_back = (torch.autograd.grad(y, x_ND, pull)[0] for y in (found, wanted))
    torch.testing.assert_close(back, wanted_back)


def test_the_way_back_has_gradients_too() -> None:
    layout, x_ND = Packed.of([3, 0, 2]), torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: windows(x, layout, Taps(3, 1, 1)), x_ND)
    assert torch.autograd.gradgradcheck(lambda x: windows(x, layout, Taps(3, 1, 1)), x_ND)


def test_layers_that_read_alike_share_their_places() -> None:
    layout, x_ND = Packed.of([3, 2]), torch.randn(5, 2)
    windows(x_ND, layout, Taps(3, 1, 1))
    kept = dict(layout.memo)
    windows(x_ND, layout, Taps(3, 1, 1))
    assert all(layout.memo[key] is value for key, value in kept.items())
    windows(x_ND, layout, Taps(3, 1, 2))
    assert len(layout.memo) == 2
