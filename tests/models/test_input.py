"""What a stack reads: vectors and positions, added or side by side, normed, dropped out."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.embedding import Patches, Tokens, Vectors
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.norms import LayerNorm
from seqloom.layers.positions import Learned, LearnedPositions, NoPositions, Sinusoidal, SinusoidalPositions
from seqloom.models.input import Input
from seqloom.models.stack_settings import StackSettings

WIDTH = 8
TOKENS = torch.tensor([2, 0, 1, 2])


def built(positions: Sinusoidal | Learned | NoPositions, tokens: Tokens | None = None, **more: float) -> Input:
    torch.manual_seed(0)
    return Input(tokens or Tokens(), StackSettings(positions=positions, **more), 5, WIDTH).eval()  # type: ignore[arg-type]


def test_no_positions() -> None:
    layer = built(NoPositions())
    x, _ = layer(TOKENS, Packed.of([4]))
    torch.testing.assert_close(x, layer.vectors[TOKENS])


def test_added_positions_begin_anew_in_each_row() -> None:
    layer = built(Learned(length=6))
    x, _ = layer(TOKENS, Packed.of([3, 1]))
    assert isinstance(layer.positions, LearnedPositions)
    torch.testing.assert_close(x, layer.vectors[TOKENS] + layer.positions.weight_PD[[0, 1, 2, 0]])


def test_positions_go_on_behind_a_state() -> None:
    layer = built(Learned(length=6))
    x, _ = layer(TOKENS.view(2, 2), Padded.whole(2, 2), torch.tensor([0, 4]))
    assert isinstance(layer.positions, LearnedPositions)
    torch.testing.assert_close(
        x, layer.vectors[TOKENS.view(2, 2)] + layer.positions.weight_PD[torch.tensor([[0, 1], [4, 5]])]
    )


@pytest.mark.parametrize(
    ("layout", "after_B"),
    [
        (Padded.of([4, 1], 6), None),
        (Padded.of([4, 1], 6, [1, 0]), None),
        (Padded.of([1, 0], 1), torch.tensor([3, 4])),
        (Packed.of([1, 0], tokens=2), torch.tensor([3, 4])),
    ],
    ids=["wide padding", "padding on both sides", "a full row rests", "a full row rests, in a frame"],
)
def test_padding_may_stand_past_the_last_learned_position(layout: Padded | Packed, after_B: Tensor | None) -> None:
    layer = built(Learned(length=4))
    tokens = torch.zeros(layout.steps.shape, dtype=torch.int64)
    x, _ = layer(tokens, layout, after_B)
    assert layout.real is not None
    assert isinstance(layer.positions, LearnedPositions)
    at = layout.places(after_B)[layout.real]
    torch.testing.assert_close(x[layout.real], layer.vectors[0] + layer.positions.weight_PD[at])


@pytest.mark.parametrize("positions", [Sinusoidal(join="concat", width=2), Learned(join="concat", width=3)])
def test_positions_beside_the_vectors(positions: Sinusoidal | Learned) -> None:
    layer = built(positions)
    assert positions.width is not None
    own = WIDTH - positions.width
    assert layer.vectors.shape == (5, own)
    x, _ = layer(TOKENS, Packed.of([4]))
    assert x.shape == (4, WIDTH)
    torch.testing.assert_close(x[:, :own], layer.vectors[TOKENS])
    if isinstance(layer.positions, LearnedPositions):
        torch.testing.assert_close(x[:, own:], layer.positions.weight_PD[:4])
    else:
        assert isinstance(layer.positions, SinusoidalPositions)
        at = torch.arange(4.0)
        torch.testing.assert_close(x[:, own:], torch.stack((at.sin(), at.cos()), -1))


def test_the_norm_comes_behind_the_positions() -> None:
    layer = built(Sinusoidal(), Tokens(norm=True))
    plain = built(Sinusoidal())
    torch.testing.assert_close(
        layer(TOKENS, Packed.of([4]))[0], F.layer_norm(plain(TOKENS, Packed.of([4]))[0], (WIDTH,))
    )


def test_dropout_comes_last() -> None:
    layer = built(Sinusoidal(), dropout=0.5)
    sober, _ = layer(TOKENS, Packed.of([4]))
    torch.manual_seed(1)
    x, _ = layer.train()(TOKENS, Packed.of([4]))
    dropped = x == 0
    assert 0.2 < dropped.float().mean().item() < 0.8
    torch.testing.assert_close(x[~dropped], 2 * sober[~dropped])


def test_segments_are_passed_on() -> None:
    layer = built(NoPositions(), Tokens(segments=2))
    kinds = torch.tensor([0, 0, 1, 1])
    with_kinds, _ = layer(TOKENS, Packed.of([4]), segments=kinds)
    without, _ = layer(TOKENS, Packed.of([4]))
    changed = (with_kinds != without).any(-1)
    assert changed.tolist() == [False, False, True, True]


def test_positions_count_patches_not_steps() -> None:
    layer = Input(Patches(length=2), StackSettings(positions=Learned(length=3), norm=LayerNorm()), 1, WIDTH)
    x, layout = layer(torch.randn(1, 5, 1), Padded.whole(1, 5))
    assert x.shape == (1, 3, WIDTH)
    assert layout.longest == 3


def test_readings_have_no_token_vectors() -> None:
    layer = Input(Vectors(), StackSettings(), 3, WIDTH)
    with pytest.raises(AssertionError):
        _ = layer.vectors
