"""The order of norm, layer, residual and dropout, spelled out with layers that anyone can compute."""

import pytest
import torch
from torch import Tensor, nn

from seqloom.layers.bottleneck import Bottleneck
from seqloom.layers.dense import Dense
from seqloom.layers.experts import Experts
from seqloom.layers.feed_forward import FeedForwardSettings, NoFeedForward
from seqloom.layers.layout import Layout, Packed
from seqloom.layers.mixer import Memory, Mixer
from seqloom.layers.mixers import build_cross
from seqloom.layers.norms import LayerNorm, NoNorm, Place, RMSNorm
from seqloom.models.block import Around, Block, BlockState
from seqloom.models.stack_settings import NoResidual, Residual, StackSettings

WIDTH = 4
LAYOUT = Packed.of([3])


def x() -> Tensor:
    return torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Cube(Mixer):
    """y = x³ + 1; counts its calls in its state."""

    causal = True

    def start(self, rows: int, memory: Memory | None = None, capacity: int | None = None) -> int:
        return 0

    def forward(self, x: Tensor, layout: Layout, state: int | None = None) -> tuple[Tensor, int | None]:
        return cubed(x), None if state is None else state + 1


def cubed(x: Tensor) -> Tensor:
    return x**3 + 1


def normed(x: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def around(settings: StackSettings) -> Around:
    return Around(settings, WIDTH).double().eval()


def through(layer: Around, x: Tensor) -> Tensor:
    return layer.after(x, cubed(layer.before(x, LAYOUT)), LAYOUT)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("pre", x() + cubed(normed(x()))),
        ("post", normed(x() + cubed(x()))),
        ("both", x() + normed(cubed(normed(x())))),
    ],
)
def test_places_of_the_norm(place: Place, expected: Tensor) -> None:
    layer = around(StackSettings(norm=RMSNorm(place=place)))
    torch.testing.assert_close(through(layer, x()), expected)
    assert sum(1 for _ in layer.parameters()) == (2 if place == "both" else 1)


def test_no_norm() -> None:
    torch.testing.assert_close(through(around(StackSettings(norm=NoNorm())), x()), x() + cubed(x()))


@pytest.mark.parametrize(("carry", "scale"), [(1.0, 0.5**0.5), (3.0, 1.0), (2.0, 0.25)])
def test_residual_carry_and_scale(carry: float, scale: float) -> None:
    """ConvS2S halves the variance; DeepNorm carries more of x; the norm of 'post' comes last."""
    settings = StackSettings(norm=NoNorm(), residual=Residual(carry=carry, scale=scale))
    torch.testing.assert_close(through(around(settings), x()), scale * (carry * x() + cubed(x())))
    settings = StackSettings(norm=RMSNorm(place="post"), residual=Residual(carry=carry, scale=scale))
    torch.testing.assert_close(through(around(settings), x()), normed(scale * (carry * x() + cubed(x()))))


def test_no_residual() -> None:
    settings = StackSettings(norm=RMSNorm(), residual=NoResidual())
    torch.testing.assert_close(through(around(settings), x()), cubed(normed(x())))


def test_dropout_of_what_is_added_and_not_of_what_is_carried() -> None:
    layer = around(StackSettings(norm=NoNorm(), dropout=0.5)).train()
    torch.manual_seed(0)
    ones = torch.ones(3, WIDTH, dtype=torch.float64)
    total = torch.stack([layer.after(ones, ones, LAYOUT) for _ in range(200)])
    assert set(total.unique().tolist()) == {1.0, 3.0}
    assert total.mean().item() == pytest.approx(2, abs=0.1)


def block(settings: StackSettings, mixer: Mixer, cross: Mixer | None, feed_forward: FeedForwardSettings) -> Block:
    torch.manual_seed(1)
    return Block(settings, WIDTH, mixer, cross, feed_forward).double().eval()


def test_mixer_then_memory_then_feed_forward() -> None:
    cross = build_cross(Bottleneck(), WIDTH)
    layer = block(StackSettings(norm=RMSNorm(place="post")), Cube(), cross, Dense(width=6))
    memory = Memory(x() * 2, LAYOUT)
    state = layer.start(1, memory, None)
    y, after, report = layer(x(), LAYOUT, state)
    assert layer.feed_forward is not None
    h = normed(x() + cubed(x()))
    h = normed(h + state.cross.context_BD)
    h = normed(h + layer.feed_forward.layer(h))
    torch.testing.assert_close(y, h)
    assert isinstance(after, BlockState)
    assert after.mixer == 1
    assert report is None


def test_nothing_but_a_mixer() -> None:
    layer = block(StackSettings(norm=NoNorm()), Cube(), None, NoFeedForward())
    y, after, report = layer(x(), LAYOUT, None)
    torch.testing.assert_close(y, x() + cubed(x()))
    assert after is None
    assert report is None
    assert layer.around_cross is None
    assert layer.around_feed_forward is None


def test_each_layer_has_a_norm_of_its_own() -> None:
    layer = block(StackSettings(norm=LayerNorm()), Cube(), build_cross(Bottleneck(), WIDTH), Dense())
    norms = [part.norm_in for part in (layer.around_mixer, layer.around_cross, layer.around_feed_forward) if part]
    assert len({id(norm) for norm in norms}) == 3
    assert all(isinstance(norm, nn.Module) for norm in norms)


def test_a_mixture_reports() -> None:
    layer = block(StackSettings(), Cube(), None, Experts(experts=2))
    _, _, report = layer(x(), LAYOUT, None)
    assert report is not None
    assert report.routed == 6


def test_whole_sequences_begin_with_what_a_memory_gives_and_nothing_else() -> None:
    cross = build_cross(Bottleneck(), WIDTH)
    layer = block(StackSettings(), Cube(), cross, NoFeedForward())
    begun = layer.begin(1, Memory(x(), LAYOUT))
    assert begun.mixer is None
    assert begun.cross is not None
    assert layer.start(1, Memory(x(), LAYOUT), None).mixer == 0
