"""Our kernels are their equations, forward and back, also with dropout."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.activations import Activation, activate
from seqloom.layers.apart import apart
from seqloom.layers.layout import Packed
from seqloom.layers.linear import Linear, rectified
from seqloom.layers.masks import Sight
from seqloom.layers.paths import only_plain
from seqloom.layers.positions import Sinusoidal
from seqloom.layers.positions.absolute import SinusoidalPositions
from seqloom.layers.positions.rotary import Rotary, RotaryRelative
from seqloom.layers.static_state import put_steps
from seqloom.layers.varlen import attend_packed, seen

pytest.importorskip("triton", reason="Triton comes with torch for a GPU")

from seqloom.layers.kernels import columns, norm, tiles
from seqloom.layers.kernels.columns import column_sums, rectified_back
from seqloom.layers.kernels.gate import gated
from seqloom.layers.kernels.lstm import lstm_step, lstm_steps
from seqloom.layers.kernels.norm import How, Sum, added, added_normed, normed

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

LENGTHS = [27, 1, 64, 3, 130, 9, 40, 200]
SIGHTS = [Sight(), Sight(causal=True), Sight(causal=True, window=7), Sight(block=16), Sight(window=40)]


def _dense(q: Tensor, k: Tensor, v: Tensor, see_NM: Tensor, scale: float, kept_HNM: Tensor | None = None) -> Tensor:
    """The equation in float64: y_NHK."""
    shared = q.shape[1] // k.shape[1]
    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    k, v = k.repeat_interleave(shared, 0), v.repeat_interleave(shared, 0)
    weights = (q @ k.mT * scale).masked_fill(~see_NM, -math.inf).softmax(-1)
    weights = weights if kept_HNM is None else weights * kept_HNM
    return (weights @ v).transpose(0, 1)


def _see(queries: Packed, keys: Packed, sight: Sight) -> Tensor:
    ranges, key_M = seen(queries, keys, sight), torch.arange(len(keys.row_N), device="cuda")
    return (key_M >= ranges[0][:, None]) & (key_M < ranges[1][:, None])


def _close(one: Tensor, other: Tensor) -> None:
    # what is 0 by the equation, as the slope of a query that sees one key, need not be so to the last digit
    assert (one.double() - other.double()).norm() <= 8e-3 * other.double().norm() + 1e-3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("lengths", [LENGTHS, [5, 0, 0, 17, 0, 3], [1]], ids=["long", "few, some empty", "one"])
@pytest.mark.parametrize("sight", SIGHTS, ids=str)
@pytest.mark.parametrize(("heads", "groups", "width"), [(4, 4, 64), (4, 2, 32), (2, 1, 24), (2, 2, 128)])
def test_tiles_are_the_equation(
    sight: Sight, heads: int, groups: int, width: int, lengths: list[int], dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    layout = Packed.of(lengths, device="cuda")
    N = len(layout.row_N)
    made = [torch.randn(N, h, width, device="cuda", dtype=dtype) for h in (heads, groups, groups)]
    q, k, v = (x.requires_grad_() for x in made)
    y = attend_packed(q, k, v, layout, layout, width**-0.5, sight)
    wanted = _dense(q, k, v, _see(layout, layout, sight), width**-0.5)
    _close(y, wanted)
    pull = torch.randn_like(y)
    for grad, other in zip(
        torch.autograd.grad(y, (q, k, v), pull), torch.autograd.grad(wanted, (q, k, v), pull.double()), strict=True
    ):
        _close(grad, other)


def test_tiles_over_another_sequence_in_a_frame() -> None:
    torch.manual_seed(0)
    sources = [11, 90, 2, 33, 5, 70, 1, 44]
    queries = Packed.of(LENGTHS, tokens=512, rows=10, longest=256, device="cuda")
    keys = Packed.of(sources, tokens=300, rows=10, longest=128, device="cuda")
    q = torch.randn(512, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.randn(300, 2, 64, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(2))
    y = attend_packed(q, k, v, queries, keys, 0.125, Sight())
    real, M = sum(LENGTHS), sum(sources)
    wanted = _dense(q[:real], k[:M], v[:M], _see(queries, keys, Sight())[:real, :M], 0.125)
    _close(y[:real], wanted)
    assert not y[real:].any()
    grads = torch.autograd.grad(y.double().square().sum(), (q, k, v), retain_graph=True)
    for grad, other, size in zip(
        grads, torch.autograd.grad(wanted.square().sum(), (q, k, v)), (real, M, M), strict=True
    ):
        _close(grad[:size], other[:size])
        assert not grad[size:].any()


def test_queries_of_whom_nobody_has_a_key() -> None:
    """As a frame of filler alone."""
    queries, keys = (Packed.of([], tokens=size, rows=3, longest=16, device="cuda") for size in (70, 40))
    q = torch.randn(70, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.randn(40, 2, 64, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(2))
    y = attend_packed(q, k, v, queries, keys, 0.125, Sight())
    assert not y.any()
    for grad in torch.autograd.grad(y.sum(), (q, k, v)):
        assert not grad.any()


@pytest.mark.parametrize("sight", [Sight(causal=True), Sight(causal=True, window=9), Sight(block=8)], ids=str)
def test_dropout_drops_the_same_there_and_back(sight: Sight) -> None:
    rate, layout = 0.3, Packed.of([20, 40, 4], device="cuda")
    q, k = (torch.randn(64, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
    see = _see(layout, layout, sight)

    def run(v: Tensor) -> Tensor:
        torch.manual_seed(7)
        return attend_packed(q, k, v, layout, layout, 0.125, sight, rate)

    eye = torch.eye(64, device="cuda", dtype=torch.bfloat16)[:, None].expand(-1, 2, -1).contiguous()
    weights_HNM = run(eye).detach().transpose(0, 1)
    kept_HNM = (weights_HNM > 0).double() / (1 - rate)
    share = (weights_HNM > 0).sum() / (2 * see.sum())
    assert abs(float(share) - (1 - rate)) < 0.05
    v = torch.randn(64, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    y, wanted = run(v), _dense(q, k, v, see, 0.125, kept_HNM)
    _close(y, wanted)
    pull = torch.randn_like(y)
    for grad, other in zip(
        torch.autograd.grad(y, (q, k, v), pull), torch.autograd.grad(wanted, (q, k, v), pull.double()), strict=True
    ):
        _close(grad, other)


def _relative(one: Tensor, other: Tensor) -> float:
    return float((one.detach().double() - other.detach().double()).norm() / other.detach().double().norm())


@pytest.mark.parametrize("width", [20, 256, 1000])
@pytest.mark.parametrize("stream", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("centres", [True, False])
def test_the_norm_of_a_sum(width: int, stream: torch.dtype, centres: bool) -> None:
    x = torch.randn(333, width, device="cuda", dtype=stream, requires_grad=True)
    y = torch.randn(333, width, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    gain, bias = (torch.randn(width, device="cuda", requires_grad=True) for _ in range(2))
    how = How(torch.bfloat16, 1e-5, centres)
    given = (x, y, gain, bias) if centres else (x, y, gain)
    out = added_normed(x, y, gain, bias if centres else None, Sum(0.5, 1.5, 0.0), how)
    total = 1.5 * (0.5 * x.double() + y.double())
    if centres:
        wanted = F.layer_norm(total, (width,), gain.double(), bias.double(), 1e-5)
    else:
        wanted = F.rms_norm(total, (width,), gain.double(), 1e-5)
    assert out.dtype == torch.bfloat16
    assert _relative(out, wanted) < 8e-3
    pull = torch.randn_like(out)
    for grad, other in zip(
        torch.autograd.grad(out, given, pull), torch.autograd.grad(wanted, given, pull.double()), strict=True
    ):
        assert grad.dtype in (torch.float32, torch.bfloat16)
        assert _relative(grad, other) < 1.5e-2
    alone = normed(x, gain, None, how)
    one = (
        F.layer_norm(x.double(), (width,), gain.double())
        if centres
        else F.rms_norm(x.double(), (width,), gain.double(), 1e-5)
    )
    assert _relative(alone, one) < 8e-3
    assert _relative(torch.autograd.grad(alone, x, pull)[0], torch.autograd.grad(one, x, pull.double())[0]) < 1.5e-2


def test_dropout_of_a_sum_is_the_same_there_and_back() -> None:
    x = torch.zeros(500, 64, device="cuda", requires_grad=True)
    y = torch.ones(500, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    out = added(x, y, Sum(rate=0.25))
    kept = out.detach() > 0
    assert abs(float(kept.float().mean()) - 0.75) < 0.01
    assert torch.allclose(out[kept], torch.tensor(1 / 0.75, device="cuda"), atol=1e-2)
    dx, dy = torch.autograd.grad(out.sum(), (x, y))
    assert torch.equal(dy > 0, kept)
    assert bool((dx == 1).all())
    again = added(x, y, Sum(rate=0.25)).detach() > 0
    assert not torch.equal(again, kept)
    columns = kept.float().mean(0)
    assert float(columns.std()) < 0.04  # no column is spared, and none is always hit


@pytest.mark.parametrize("mapped", [False, True])
def test_an_lstm_step_by_step_and_at_once(mapped: bool) -> None:
    torch.manual_seed(0)
    B, T, H = 37, 9, 48
    P = 32 if mapped else H
    shapes = [(B, T, 4 * H), (B, P), (B, H), (4 * H, P), *([(P, H)] if mapped else [])]
    given = [torch.randn(shape, device="cuda").mul(0.2).bfloat16().float().requires_grad_() for shape in shapes]
    x, h, c, weight, *maps = given
    exact = [each.detach().double().requires_grad_() for each in given]

    def equation(x: Tensor, h: Tensor, c: Tensor, weight: Tensor, *maps: Tensor) -> tuple[Tensor, Tensor]:
        hs, cs = [], []
        for x_BG in x.unbind(1):
            i, f, g, o = (x_BG + h @ weight.T).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            h = h @ maps[0].T if maps else h
            hs.append(h)
            cs.append(c)
        return torch.stack(hs, 1), torch.stack(cs, 1)

    wanted = equation(*exact)
    y, cells = lstm_steps(x.bfloat16(), h, c, weight, *maps)
    stepped, cell = h, c
    steps = []
    for t in range(T):
        gates = x[:, t].bfloat16() + stepped.bfloat16() @ weight.bfloat16().T
        stepped, cell = lstm_step(gates, cell)
        stepped = stepped @ maps[0].bfloat16().T if maps else stepped
        steps.append((stepped, cell))
    pulls = torch.randn_like(y), torch.randn_like(cells)
    aims = torch.autograd.grad(wanted, exact, [pull.double() for pull in pulls])
    for made in (y, cells), tuple(torch.stack(part, 1) for part in zip(*steps, strict=True)):
        for one, other in zip(made, wanted, strict=True):
            assert _relative(one, other) < 2e-2
        for grad, other in zip(torch.autograd.grad(made, given, pulls), aims, strict=True):
            assert _relative(grad, other) < 2e-2


def test_sums_of_columns() -> None:
    x = torch.randn(3001, 257, device="cuda", dtype=torch.bfloat16)
    assert _relative(column_sums(x), x.double().sum(0)) < 1e-5


@pytest.mark.parametrize("shape", [(3001, 257), (1, 5), (64, 128), (9000, 2048), (0, 7)])
def test_rectified_and_its_sums(shape: tuple[int, int]) -> None:
    x, y = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    z, sums = rectified_back(x, y)
    wanted = torch.where(y > 0, x, 0)
    assert torch.equal(z, wanted)
    assert float((sums - wanted.double().sum(0)).abs().max()) < 1e-2
    assert torch.equal(column_sums(wanted).isnan(), torch.zeros(shape[1], dtype=torch.bool, device="cuda"))


@pytest.mark.parametrize("order", ["interleaved", "halves"])
def test_sinusoids(order: str) -> None:
    positions = SinusoidalPositions(Sinusoidal.model_validate({"order": order}), 48)
    at = torch.tensor([[0, 1, 5], [511, 16_384, 1_000_003]])
    wanted = positions._sines(at, torch.float64)
    assert float((positions(at.cuda(), torch.float32).cpu() - wanted).abs().max()) < 1e-6
    # an angle of a million is known to 1e-10
    assert float((positions(at.cuda(), torch.float64).cpu() - wanted).abs().max()) < 2e-10


@pytest.mark.parametrize("order", ["halves", "interleaved"])
@pytest.mark.parametrize(("width", "fraction"), [(64, 1.0), (32, 0.5), (20, 1.0), (6, 0.4)])
def test_rotary_positions(order: str, width: int, fraction: float) -> None:
    settings = Rotary.model_validate({"order": order, "fraction": fraction})
    relative, plain = RotaryRelative(settings, width), RotaryRelative(settings, width)
    heads = torch.randn(50, 9, width, device="cuda", requires_grad=True)
    exact = heads.detach().cpu().double().requires_grad_()
    at = torch.randint(20_000, (50,), device="cuda")
    y, wanted = relative.turn(heads[:, 2:6], at), plain.turn(exact[:, 2:6], at.cpu())
    assert _relative(y.cpu(), wanted) < 1e-6
    pull = torch.randn_like(y)
    (grad,), (other,) = (torch.autograd.grad(y, heads, pull), torch.autograd.grad(wanted, exact, pull.cpu().double()))
    assert _relative(grad.cpu(), other) < 1e-6
    rows = relative.turn(heads.detach()[None, :, :4].bfloat16(), at[None])
    assert _relative(rows[0].cpu(), plain.turn(exact[:, :4], at.cpu())) < 8e-3


@pytest.mark.parametrize("activation", ["silu", "gelu", "gelu-tanh", "relu"])
@pytest.mark.parametrize("shape", [(50, 24), (3, 7, 3000), (0, 8)], ids=str)
def test_gates(activation: Activation, shape: tuple[int, ...]) -> None:
    hidden = torch.randn(shape, device="cuda", requires_grad=True)
    exact = hidden.detach().double().requires_grad_()
    gate, value = exact.chunk(2, -1)
    y, wanted = gated(hidden, activation), activate(activation)(gate) * value
    torch.testing.assert_close(y.double(), wanted, atol=1e-5, rtol=1e-5)
    pull = torch.randn_like(y)
    (grad,) = torch.autograd.grad(y, hidden, pull)
    (other,) = torch.autograd.grad(wanted, exact, pull.double())
    torch.testing.assert_close(grad.double(), other, atol=1e-5, rtol=1e-5)
    assert gated(hidden.bfloat16(), activation).dtype == torch.bfloat16


def test_a_rectified_map_in_half_precision() -> None:
    layer = Linear(48, 96).cuda()
    x = torch.randn(5, 70, 48, device="cuda", requires_grad=True)
    with torch.autocast("cuda", torch.bfloat16):
        y = rectified(layer, x)
    assert "_Linear" in type(y.grad_fn).__name__ or "_Linear" in str(y.grad_fn.next_functions)  # type: ignore[union-attr]
    wanted = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    assert y.dtype == torch.bfloat16
    assert _relative(y, wanted.relu()) < 8e-3
    pull = torch.randn_like(y)
    given = (x, layer.weight, layer.bias)
    above = (pull * (y > 0)).double()  # what is near 0 may be on its other side in half precision
    for grad, other in zip(torch.autograd.grad(y, given, pull), torch.autograd.grad(wanted, given, above), strict=True):
        assert grad.dtype == torch.float32
        assert _relative(grad, other) < 1e-2


@pytest.mark.filterwarnings("ignore:.*Profiler clears events")
def test_gradients_of_heads_lie_side_by_side() -> None:
    """Queries, keys and values that were projected together: no gradient is copied."""
    layout = Packed.of([20, 40, 4], device="cuda")
    heads = torch.randn(64, 6, 32, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    pull = torch.randn(64, 2, 32, device="cuda", dtype=torch.bfloat16)

    def grad(parts: tuple[Tensor, ...]) -> Tensor:
        q, k, v = parts
        return torch.autograd.grad(attend_packed(q, k, v, layout, layout, 0.2, Sight()), heads, pull)[0]

    grad(apart(heads, (2, 2, 2)))  # who sees whom is worked out once
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as watched:
        one = grad(apart(heads, (2, 2, 2)))
    copies = [event.key for event in watched.key_averages() if event.key == "aten::cat"]
    assert not copies
    assert torch.equal(one, grad(heads.split([2, 2, 2], -2)))


def test_a_linear_map_in_half_precision() -> None:
    layer = Linear(48, 96).cuda()
    x = torch.randn(5, 70, 48, device="cuda", requires_grad=True)
    with torch.autocast("cuda", torch.bfloat16):
        y = layer(x)
    wanted = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    assert y.dtype == torch.bfloat16
    assert _relative(y, wanted) < 8e-3
    pull = torch.randn_like(y)
    given = (x, layer.weight, layer.bias)
    for grad, other in zip(
        torch.autograd.grad(y, given, pull), torch.autograd.grad(wanted, given, pull.double()), strict=True
    ):
        assert grad.dtype == torch.float32
        assert _relative(grad, other) < 1e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("heads", "width", "size"), [(8, 64, 64), (3, 24, 70), (1, 5, 48)])
def test_rows_move(heads: int, width: int, size: int, dtype: torch.dtype) -> None:
    layout = Packed.within(torch.tensor([3, 0, 48, 1, 0], device="cuda"), 60, 48)
    both_NGK = torch.randn(60, 2 * heads, width, device="cuda", dtype=dtype)
    rows_B = torch.tensor([4, 0, 8, 6, 1], device="cuda")
    buffer = torch.randn(9, heads, size, width, device="cuda")
    for x_NGK in both_NGK.split([heads, heads], 1):
        found, wanted, plain = layout.pad_heads(x_NGK), layout.pad(x_NGK).transpose(1, 2), buffer.clone()
        assert torch.equal(found, wanted)
        assert found.is_contiguous(), "it is the kernel's"
        for x_BGTK in found, wanted:
            put_steps(buffer, rows_B, x_BGTK)
            with only_plain():
                put_steps(plain, rows_B, x_BGTK)
            assert torch.equal(buffer, plain)


def test_heads_that_lie_far_apart_move_too() -> None:
    """Beyond what 32 bits can count."""
    far = 2**30 + 8
    there = torch.empty(2 * far + 64, dtype=torch.uint8, device="cuda")
    x_NGK = there.as_strided((4, 3, 8), (8, far, 1)).copy_(torch.arange(96, device="cuda").view(4, 3, 8))
    layout = Packed.within(torch.tensor([3, 1], device="cuda"), 4, 3)
    assert torch.equal(layout.pad_heads(x_NGK), layout.pad(x_NGK).transpose(1, 2))
    buffer, x_BGTK = torch.zeros(2, 3, 5, 8, dtype=torch.uint8, device="cuda"), x_NGK.transpose(0, 1)[None]
    put_steps(buffer, torch.tensor([1], device="cuda"), x_BGTK)
    assert torch.equal(buffer[1:, :, :4], x_BGTK)
    assert not buffer[0].any()


def _step_of_kernels(tokens: int) -> None:
    layout = Packed.of([tokens], device="cuda")
    q, k, v = (torch.randn(tokens, 2, 64, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(3))
    attend_packed(q, k, v, layout, layout, 0.125, Sight(causal=True), 0.1).sum().backward()
    x, y = (torch.randn(tokens, 96, device="cuda").requires_grad_() for _ in range(2))
    gain, bias = (torch.randn(96, device="cuda", requires_grad=True) for _ in range(2))
    added_normed(x, y, gain, bias, Sum(rate=0.1), How(torch.bfloat16, 1e-5, True)).sum().backward()
    column_sums(x.detach())


def test_no_kernel_is_compiled_for_another_number_of_tokens() -> None:
    """It would be in the middle of a recording."""
    made = [columns._sums, norm._forward, norm._backward, tiles._forward, tiles._backward_queries, tiles._backward_keys]

    def count() -> int:
        return sum(len(kept[0]) for kernel in made for kept in kernel.device_caches.values())

    for tokens in (64, 1, 4160):  # one program; and many, whose sums are summed again
        _step_of_kernels(tokens)
    before = count()
    for tokens in (128, 147, 98, 33, 16, 1000, 5009, 6272):
        _step_of_kernels(tokens)
    assert count() == before
