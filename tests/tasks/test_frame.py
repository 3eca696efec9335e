"""Frames: the shapes of batches, filled up so that many share them."""

import numpy as np
import pytest
import torch

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.tasks import Batch, Frame, Side


def batch_of(source: list[int], target: list[int]) -> Batch:
    sides = [Side.of(Ragged.of(np.arange(1, sum(lengths) + 1), np.array(lengths))) for lengths in (source, target)]
    source_side, target_side = sides
    goal = target_side.tokens_N.clone()
    nobody = Examples({}, np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Batch(nobody, source_side, target_side, goal, len(goal))


@pytest.mark.parametrize(
    ("source", "target"),
    [([3, 3, 3], [2, 4, 1]), ([2, 4, 1], [3, 3, 3]), ([3, 3, 3], [4, 4, 4]), ([1, 5, 2], [2, 2, 6])],
)
@pytest.mark.parametrize("loose", [False, True])
def test_what_is_read_is_what_was_written(source: list[int], target: list[int], loose: bool) -> None:
    """Also where the rows of one side alone are all of one length: the other side's filler rows are its rows, too."""
    batch = batch_of(source, target)
    frame = Frame.around(batch, 64, loose)
    assert frame is not None
    numbers = torch.zeros(frame.size, dtype=torch.int64)
    frame.write(batch, numbers)
    framed = frame.read(batch, numbers)
    for side, was in ((framed.source, batch.source), (framed.target, batch.target)):
        assert side is not None
        assert was is not None
        padded_BT, was_BT = side.layout.pad(side.tokens_N), was.layout.pad(was.tokens_N)
        rows, steps = was_BT.shape
        assert torch.equal(padded_BT[:rows, :steps], was_BT)
        assert not padded_BT[rows:].any()
        assert not padded_BT[:, steps:].any()
        real = len(was.tokens_N)
        assert torch.equal(side.layout.unpad(padded_BT)[:real], was.tokens_N)
