"""Convolution against torch's own, for every combination of options."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from seqloom.layers.convolution import Convolution, ConvolutionMixer
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixers import build_mixer

WIDTH = 4
LENGTHS = [7, 1, 0, 3]
OPTIONS = list(itertools.product([1, 3, 5], [1, 2, 3], [False, True], [False, True], [True, False], [True, False]))


@pytest.mark.parametrize(("kernel", "dilation", "depthwise", "gated", "bias", "causal"), OPTIONS)
def test_against_torch(kernel: int, dilation: int, depthwise: bool, gated: bool, bias: bool, causal: bool) -> None:
    torch.manual_seed(kernel)
    settings = Convolution(kernel=kernel, dilation=dilation, depthwise=depthwise, gated=gated, bias=bias)
    mixer = build_mixer(settings, WIDTH, causal).double()
    assert isinstance(mixer, ConvolutionMixer)
    assert (mixer.conv.bias is not None) == bias
    x = torch.randn(sum(LENGTHS), WIDTH).double()
    reach = (kernel - 1) * dilation
    edges = (reach, 0) if causal else (reach // 2, reach // 2)
    expected = []
    for row in x.split(LENGTHS):
        if not len(row):
            continue
        y = F.conv1d(
            F.pad(row.T, edges),
            mixer.conv.weight,
            mixer.conv.bias,
            dilation=dilation,
            groups=WIDTH if depthwise else 1,
        ).T
        expected.append(y[:, :WIDTH] * torch.sigmoid(y[:, WIDTH:]) if gated else y)
    torch.testing.assert_close(mixer(x, Packed.of(LENGTHS))[0], torch.cat(expected))
    padded = mixer(Packed.of(LENGTHS).pad(x), Padded.of(LENGTHS))[0]
    torch.testing.assert_close(padded[Padded.of(LENGTHS).real_BT], torch.cat(expected))


def test_activation() -> None:
    torch.manual_seed(0)
    plain, active = (ConvolutionMixer(Convolution(activation=name), WIDTH, True) for name in ("identity", "tanh"))
    active.load_state_dict(plain.state_dict())
    x, layout = torch.randn(5, WIDTH), Packed.of([5])
    torch.testing.assert_close(active(x, layout)[0], torch.tanh(plain(x, layout)[0]))


def test_an_even_kernel_has_no_middle() -> None:
    faults = dict(Convolution(kernel=4).check(WIDTH, causal=False))
    assert list(faults) == ["kernel"]
    assert not list(Convolution(kernel=4).check(WIDTH, causal=True))
    assert not list(Convolution(kernel=2, dilation=2).check(WIDTH, causal=False))


def test_a_gate_and_an_activation_exclude_each_other() -> None:
    assert [name for name, _ in Convolution(gated=True, activation="relu").check(WIDTH, True)] == ["activation"]


def test_the_state_is_the_last_steps_of_each_row() -> None:
    mixer = ConvolutionMixer(Convolution(kernel=3), WIDTH, causal=True)
    x = torch.arange(1.0, 9.0).view(2, 4, 1).expand(-1, -1, WIDTH)
    _, state = mixer(x, Padded.of([4, 1], 4), mixer.start(2))
    assert state is not None
    assert state.last_BRD[..., 0].tolist() == [[3, 4], [0, 5]]
    _, state = mixer(x[:, :1], Padded.of([0, 1], 1), state)
    assert state is not None
    assert state.last_BRD[..., 0].tolist() == [[3, 4], [5, 5]]


def test_no_state_where_it_sees_the_future() -> None:
    mixer = ConvolutionMixer(Convolution(), WIDTH, causal=False)
    with pytest.raises(ValueError, match="this ConvolutionMixer is not causal"):
        mixer(torch.zeros(1, WIDTH), Packed.of([1]), mixer.start(1))
