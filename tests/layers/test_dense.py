"""The feed-forward layer, plain and gated."""

import pytest
import torch

from seqloom.layers.dense import Dense, DenseFeedForward


def built(settings: Dense, width: int = 3) -> DenseFeedForward:
    torch.manual_seed(0)
    return DenseFeedForward(settings, width).double()


def test_plain() -> None:
    layer, x = built(Dense(width=5)), torch.randn(4, 3).double()
    hidden = (x @ layer.inputs.weight.T + layer.inputs.bias).clamp(min=0)
    torch.testing.assert_close(layer(x), hidden @ layer.out.weight.T + layer.out.bias)


def test_gated() -> None:
    """(silu(xW) ⊙ xV)W₂: SwiGLU."""
    layer, x = built(Dense(width=5, activation="silu", gated=True, bias=False)), torch.randn(4, 3).double()
    assert layer.inputs.weight.shape == (10, 3)
    assert layer.inputs.bias is None
    assert layer.out.bias is None
    W, V = layer.inputs.weight[:5], layer.inputs.weight[5:]
    gate = x @ W.T
    torch.testing.assert_close(layer(x), (gate * torch.sigmoid(gate) * (x @ V.T)) @ layer.out.weight.T)


def test_four_times_the_width_where_nothing_is_said() -> None:
    assert built(Dense()).out.weight.shape == (3, 12)
    assert built(Dense(gated=True)).inputs.weight.shape == (24, 3)


def test_dropout_of_the_hidden_layer() -> None:
    layer = built(Dense(width=400, dropout=0.25, activation="identity"))
    seen: list[torch.Tensor] = []
    layer.out.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    x = torch.randn(2, 3).double()
    layer.eval()(x)
    layer.train()(x)
    torch.testing.assert_close(seen[0], layer.inputs(x))
    dropped = seen[1] == 0
    assert dropped.double().mean().item() == pytest.approx(0.25, abs=0.05)
    torch.testing.assert_close(seen[1][~dropped], seen[0][~dropped] / 0.75)


def test_who_looks_at_the_hidden_layer_sees_it_before_its_activation() -> None:
    """Where nobody looks and no gradient is asked for, it is overwritten."""
    layer, x, seen = DenseFeedForward(Dense(width=8), 4), torch.randn(5, 4), list[torch.Tensor]()
    with torch.no_grad():
        wanted = layer(x)
    with torch.inference_mode():
        assert torch.equal(layer(x), wanted)
        hook = layer.inputs.register_forward_hook(lambda module, given, found: seen.append(found))
        assert torch.equal(layer(x), wanted)
        hook.remove()
        assert torch.equal(seen[0], layer.inputs(x))
    assert (seen[0] < 0).any()
