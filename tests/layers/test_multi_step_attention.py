"""ConvS2S' attention: by the equations, and what it makes of both embeddings."""

import torch

from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory, fan_out
from seqloom.layers.multi_step_attention import MultiStep, MultiStepAttention

D, E, S, T = 5, 4, 6, 3
HALF = 2**-0.5


def _parts() -> tuple[MultiStepAttention, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    mixer = MultiStepAttention(MultiStep(), D, memory_width=E).double()
    h, g, z, e = (torch.randn(*size, dtype=torch.float64) for size in ((T, D), (T, E), (S, E), (S, E)))
    return mixer, h, g, z, e


def test_by_the_equations() -> None:
    mixer, h, g, z, e = _parts()
    y, _ = mixer(h, Packed.of([T]), mixer.begin(1, Memory(z, Packed.of([S]), embedded=e)), g)
    query = (h @ mixer.query.weight.T + mixer.query.bias + g) * HALF
    weights = (query @ z.T).softmax(-1)
    context = S**0.5 * weights @ ((z + e) * HALF)
    assert torch.allclose(y, context @ mixer.out.weight.T + mixer.out.bias)


def test_its_weights_are_those_of_the_call() -> None:
    mixer, h, g, z, e = _parts()
    state = mixer.begin(1, Memory(z, Packed.of([S]), embedded=e))
    query = (h @ mixer.query.weight.T + mixer.query.bias + g) * HALF
    assert torch.allclose(mixer.weights(h, Packed.of([T]), state, g)[0, 0], (query @ z.T).softmax(-1))


def test_rows_that_share_a_source_scale_by_its_length() -> None:
    mixer, h, g, z, e = _parts()
    memory = Memory(torch.cat((z, z[:2])), Packed.of([S, 2]), embedded=torch.cat((e, e[:2]))).padded()
    state = fan_out(mixer.start(2, memory), 2)
    x, given = h[:1].expand(4, 1, -1), g[:1].expand(4, 1, -1)
    y, _ = mixer(x, Padded.whole(4, 1), state, given)
    alone, _ = mixer(h[:1], Packed.of([1]), mixer.begin(1, Memory(z[:2], Packed.of([2]), embedded=e[:2])), g[:1])
    assert torch.allclose(y[0], y[1])
    assert torch.allclose(y[2, 0], alone[0])
