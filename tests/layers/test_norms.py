"""The norms against NumPy and torch's own; and batch norm, which must know what is real."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.norms import (
    BatchNorm,
    BatchNormalisation,
    LayerNorm,
    LayerNormalisation,
    NoNorm,
    NormSettings,
    Place,
    RMSNorm,
    build_norm,
    norm_parameters,
)
from tests.examples import many

D = 3


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2 + 1


def stirred(module: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(0.5, 1.5)
    return module.double()


def test_layer_norm() -> None:
    norm, x = stirred(build_norm(LayerNorm(epsilon=0.1), D)), random(5)
    n = x.numpy()
    expected = (n - n.mean(-1, keepdims=True)) / np.sqrt(n.var(-1, keepdims=True) + 0.1)
    assert isinstance(norm, LayerNormalisation)
    assert norm.gain_D is not None
    assert norm.bias_D is not None
    expected = expected * norm.gain_D.detach().numpy() + norm.bias_D.detach().numpy()
    np.testing.assert_allclose(norm(x, Packed.of([5])).detach().numpy(), expected)


def test_rms_norm() -> None:
    norm, x = stirred(build_norm(RMSNorm(epsilon=0.1), D)), random(5)
    expected = x.numpy() / np.sqrt((x.numpy() ** 2).mean(-1, keepdims=True) + 0.1)
    (gain_D,) = norm.parameters()
    np.testing.assert_allclose(norm(x, Packed.of([5])).detach().numpy(), expected * gain_D.detach().numpy())


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        (LayerNorm(), 2 * D),
        (LayerNorm(bias=False), D),
        (LayerNorm(gain=False), D),
        (LayerNorm(gain=False, bias=False), 0),
        (RMSNorm(), D),
        (RMSNorm(gain=False), 0),
        (BatchNorm(), 2 * D),
        (BatchNorm(gain=False, bias=False), 0),
        (BatchNorm(bias=False), D),
        (NoNorm(), 0),
    ],
)
def test_gain_and_bias_may_be_left_out(settings: NormSettings, parameters: int) -> None:
    norm, x = build_norm(settings, D).double(), random(6)
    assert sum(p.numel() for p in norm.parameters()) == parameters == norm_parameters(settings, D)
    y = norm(x, Packed.of([6]))
    match settings:
        case LayerNorm():
            torch.testing.assert_close(y.mean(-1), torch.zeros(6).double())
            torch.testing.assert_close(y.var(-1, unbiased=False), torch.ones(6).double(), atol=1e-3, rtol=0)
        case RMSNorm():
            torch.testing.assert_close(y.square().mean(-1), torch.ones(6).double(), atol=1e-3, rtol=0)
        case BatchNorm():
            torch.testing.assert_close(y.mean(0), torch.zeros(D).double())
            torch.testing.assert_close(y.var(0, unbiased=False), torch.ones(D).double(), atol=1e-3, rtol=0)
        case NoNorm():
            assert y is x


def forms(lengths: list[int], x_ND: Tensor) -> list[tuple[Layout, Tensor]]:
    """The same real tokens in every form; junk everywhere else."""
    total, width = sum(lengths), max(lengths) + 2
    packed = Packed.of(lengths)
    right, left = torch.full((2, len(lengths), width, D), math.nan, dtype=torch.float64)
    for b, row in enumerate(x_ND.split(lengths)):
        right[b, : len(row)], left[b, width - len(row) :] = row, row
    return [
        (packed, x_ND),
        (
            Packed.of(lengths, tokens=total + 3, rows=len(lengths) + 1, longest=width),
            torch.cat((x_ND, torch.full((3, D), 1e6, dtype=torch.float64))),
        ),
        (Padded.of(lengths, width), right),
        (Padded.of(lengths, width, [width - n for n in lengths]), left),
    ]


def real(layout: Layout, y: Tensor) -> Tensor:
    return y if layout.real is None else y[layout.real]


@many
@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(lambda lengths: sum(lengths) > 1))
def test_batch_norm_is_torchs_own_on_the_real_tokens(lengths: list[int]) -> None:
    """While training and afterwards; and what it remembers."""
    batches = [random(sum(lengths), seed=seed) for seed in range(3)]
    for form in range(4):
        ours = stirred(BatchNormalisation(BatchNorm(momentum=0.3), D))
        theirs = nn.BatchNorm1d(D, momentum=0.3, dtype=torch.float64)
        assert isinstance(ours, BatchNormalisation)
        with torch.no_grad():
            theirs.weight.copy_(ours.gain_D)  # type: ignore[arg-type]
            theirs.bias.copy_(ours.bias_D)  # type: ignore[arg-type]
        for x_ND in batches:
            layout, x = forms(lengths, x_ND)[form]
            torch.testing.assert_close(real(layout, ours(x, layout)), theirs(x_ND))
        torch.testing.assert_close(ours.mean_D, theirs.running_mean)
        torch.testing.assert_close(ours.variance_D, theirs.running_var)
        layout, x = forms(lengths, batches[0])[form]
        torch.testing.assert_close(real(layout, ours.eval()(x, layout)), theirs.eval()(batches[0]))


def test_not_training_remembers_nothing_new() -> None:
    norm = BatchNormalisation(BatchNorm(), D).double().eval()
    norm(random(5), Packed.of([5]))
    assert torch.equal(norm.mean_D, torch.zeros(D).double())
    assert torch.equal(norm.variance_D, torch.ones(D).double())


def test_a_batch_of_one_token_or_of_none() -> None:
    norm = BatchNormalisation(BatchNorm(), D).double()
    y = norm(random(1), Packed.of([1]))
    assert torch.equal(y, torch.zeros(1, D).double())
    before = norm.mean_D.clone(), norm.variance_D.clone()
    norm(torch.full((2, D), math.nan).double(), Packed.of([0], tokens=2, rows=1, longest=1))
    assert torch.equal(norm.mean_D, before[0])
    assert torch.equal(norm.variance_D, before[1])


def test_gradients_do_not_reach_padding() -> None:
    norm = BatchNormalisation(BatchNorm(), D).double()
    x = random(2, 3).requires_grad_()
    y = norm(x, Padded.of([3, 1]))
    weights = random(2, 3, seed=5)
    (y[0] * weights[0]).sum().backward()
    assert x.grad is not None
    assert (x.grad[1, 1:] == 0).all()
    assert (x.grad[1, 0] != 0).all()


@pytest.mark.parametrize(
    ("place", "final", "ends"),
    [("pre", None, True), ("both", None, True), ("post", None, False), ("post", True, True), ("pre", False, False)],
)
def test_one_more_norm_at_the_end(place: Place, final: bool | None, ends: bool) -> None:
    assert LayerNorm(place=place, final=final).ends == ends


def test_no_norm_has_neither_place_nor_end() -> None:
    assert (NoNorm().place, NoNorm().ends) == ("pre", False)
