"""The Music Transformer's relative attention: q·(k + r), with a vector for each head and distance."""

import pytest
import torch

from seqloom.layers.paths import only_plain
from seqloom.layers.positions import Music, MusicRelative


@pytest.mark.parametrize("distance", [1, 3, 5, 20])
@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize("plain", [True, False])
def test_the_bias_against_the_formula(distance: int, from_start: bool, plain: bool) -> None:
    torch.manual_seed(0)
    relative = MusicRelative(Music(distance=distance), 2, 4).double()
    q = torch.randn(2, 2, 5, 4).double()
    if plain:
        with only_plain():
            bias = relative.bias(q, torch.arange(5)[None], 5, from_start)
    else:
        bias = relative.bias(q, torch.arange(5)[None], 5, from_start)
    assert bias is not None
    reach = distance - 1
    for t in range(5):
        for s in range(5):
            away = max(-reach, min(reach, s - t))
            for head in range(2):
                expected = q[:, head, t] @ relative.key_HMK[head, away + reach]
                torch.testing.assert_close(bias[:, head, t, s], expected)


def test_rows_at_unequal_positions() -> None:
    relative = MusicRelative(Music(distance=4), 1, 2).double()
    q = torch.ones(2, 1, 1, 2).double()
    bias = relative.bias(q, torch.tensor([[0], [3]]), 4, False)
    assert bias is not None
    sums = relative.key_HMK[0].sum(-1)
    torch.testing.assert_close(bias[0, 0, 0], sums[[3, 4, 5, 6]])
    torch.testing.assert_close(bias[1, 0, 0], sums[[0, 1, 2, 3]])
