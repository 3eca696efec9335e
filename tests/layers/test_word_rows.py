"""Words in rows, wherever they begin, in every form of a batch."""

import torch

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.word_rows import WordRows

BEGINS = [[1, 0, 1, 1], [0], [], [1, 0]]


def forms() -> list[tuple[Layout, torch.Tensor, torch.Tensor]]:
    """The same rows packed, in a frame, and padded on either side; with numbers 1, 2, … and junk elsewhere."""
    lengths = [len(row) for row in BEGINS]
    begins = torch.tensor([bool(one) for row in BEGINS for one in row])
    numbers = torch.arange(1, len(begins) + 1)
    left, right = (torch.full((2, 4, 5), 99) for _ in range(2))
    at = 0
    for row, length in enumerate(lengths):
        for x, begin in (left, 5 - length), (right, 0):
            x[0, row, begin : begin + length] = numbers[at : at + length]
            x[1, row, begin : begin + length] = begins[at : at + length]
        at += length
    return [
        (Packed.of(lengths), begins, numbers),
        (
            Packed.of(lengths, tokens=9, rows=5, longest=5),
            torch.cat((begins, torch.ones(2, dtype=torch.bool))),
            torch.cat((numbers, torch.tensor([99, 99]))),
        ),
        (Padded.of(lengths, 5), right[1] > 0, right[0]),
        (Padded.of(lengths, 5, [5 - length for length in lengths]), left[1] > 0, left[0]),
    ]


def test_there_and_back() -> None:
    for layout, begins, numbers in forms():
        words = WordRows.of(layout, begins)
        assert words.lengths_B.tolist()[:4] == [3, 0, 0, 1]
        taken_BT = words.take(numbers)
        assert [row[:length] for row, length in zip(taken_BT.tolist(), words.lengths_B.tolist(), strict=True)][:4] == [
            [1, 3, 4],
            [],
            [],
            [6],
        ]
        torch.testing.assert_close(words.take(torch.stack((numbers, -numbers), -1))[..., 1], -taken_BT)
        real = torch.ones_like(begins) if layout.real is None else layout.real
        assert words.put(taken_BT, -1)[real].tolist() == [1, -1, 3, 4, -1, 6, -1]
