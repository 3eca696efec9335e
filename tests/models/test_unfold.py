"""A source with empty steps behind it."""

import pytest
import torch

from seqloom.layers.layout import Packed, Padded
from seqloom.models.settings import Unfold
from seqloom.models.unfold import unfolded

X = torch.arange(1.0, 16.0)[:, None]


def test_packed() -> None:
    x, layout = unfolded(X[:7], Packed.of([5, 2]), Unfold(times=1.2, more=1))
    assert layout.lengths_B.tolist() == [7, 4]
    assert x[:, 0].tolist() == [1, 2, 3, 4, 5, 0, 0, 6, 7, 0, 0]


@pytest.mark.parametrize(("times", "length", "longer"), [(1.1, 10, 11), (1.2, 5, 6), (1.2, 6, 8), (1.0, 7, 7)])
def test_whole_numbers_stay_whole(times: float, length: int, longer: int) -> None:
    _, layout = unfolded(torch.ones(length, 1), Packed.of([length]), Unfold(times=times))
    assert layout.lengths_B.tolist() == [longer]


def test_within_a_frame_the_size_does_not_depend_on_the_lengths() -> None:
    frame = {"tokens": 9, "rows": 3, "longest": 5}
    sizes = set()
    for lengths in ([5, 2], [1, 4]):
        layout = Packed.of(lengths, **frame)
        x, longer = unfolded(torch.ones(9, 1), layout, Unfold(times=1.2))
        assert isinstance(longer, Padded)
        assert longer.lengths_B.tolist() == [-(-6 * length // 5) for length in lengths] + [0]
        sizes.add(x.shape)
    assert sizes == {(3, 6, 1)}
