"""Products of our own are those of torch, there and back, whatever the shape."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.dense import Dense, DenseFeedForward
from seqloom.layers.linear import Linear
from seqloom.layers.native import activation, product
from seqloom.layers.native.chance import NEVER, chance
from seqloom.layers.native.compiler import MissingError, find_compiler
from seqloom.layers.paths import only_plain
from seqloom.layers.token_loss import token_loss


def _may_be_here() -> bool:
    try:
        product._measured()
    except MissingError:
        return False
    return find_compiler() is not None


pytestmark = pytest.mark.skipif(not _may_be_here(), reason="needs a C compiler, MKL, and registers of 16 numbers")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small, and whatever MKL is faster with."""
    monkeypatch.setattr(product, "LEAST", 0)
    monkeypatch.setattr(product, "_intel", lambda: False)


def close(ours: Tensor, wanted: Tensor) -> None:
    most = max(1.0, float(wanted.detach().abs().max()))  # sums of large numbers may be small
    torch.testing.assert_close(ours.double(), wanted, atol=1e-6 * most, rtol=1e-5)


# around tiles of 6 × 64, and 512 steps
SHAPES = [
    (1, 1, 1),
    (6, 16, 64),
    (7, 15, 65),
    (2, 700, 70),
    (3, 512, 64),
    (4, 33, 129),
    (5, 511, 63),
    (13, 512, 130),
    (600, 70, 33),
    (20, 1025, 16),
    (8, 4, 1100),
]


@pytest.mark.parametrize(("N", "D", "E"), SHAPES)
def test_any_shape(N: int, D: int, E: int) -> None:
    torch.manual_seed(0)
    x, w, bias, dy = torch.randn(N, D), torch.randn(E, D), torch.randn(E), torch.randn(N, E)
    lib = product._library()
    wide_x, wide_w, wide_dy = x.double(), w.double(), dy.double()
    close(product._multiply(lib, x, w.T, torch.empty(N, E)), wide_x @ wide_w.T)
    close(product._multiply(lib, x, w.T, torch.empty(N, E), bias), wide_x @ wide_w.T + bias)
    close(product._multiply(lib, dy, w, torch.empty(N, D)), wide_dy @ wide_w)
    d_w, sums = torch.empty(E, D), torch.full((E,), torch.nan)
    close(product._multiply(lib, dy.T, x, d_w, sums=sums), wide_dy.T @ wide_x)
    close(sums, wide_dy.sum(0))
    product._multiply(lib, dy.T, x, d_w, add=True)
    close(d_w, 2 * wide_dy.T @ wide_x)


@pytest.mark.parametrize(("N", "D", "E"), SHAPES)
@pytest.mark.parametrize("lies", ["as trained", "laid out", "in panels"])
def test_any_shape_for_other_sources(N: int, D: int, E: int, lies: str) -> None:
    torch.manual_seed(0)
    x, w, bias = torch.randn(N, D), torch.randn(E, D), torch.randn(E)
    right = w.T if lies == "as trained" else w.T.contiguous()
    b = product.panels(right).numbers if lies == "in panels" else right
    for threads in (1, 3):
        y = torch.full((N + 1, E), torch.nan)
        product._library().product_of_rows(
            x.data_ptr(), b.data_ptr(), *right.stride(), y.data_ptr(), N, E, D, bias.data_ptr(), b is not right, threads
        )
        close(y[:N], x.double() @ w.double().T + bias)
        assert bool(y[N].isnan().all()), "nothing is written behind the last row"


@pytest.mark.parametrize(("N", "D", "E"), SHAPES)
def test_neither_threads_nor_panels_change_a_bit(N: int, D: int, E: int) -> None:
    torch.manual_seed(0)
    x, w, bias, dy = torch.randn(N, D), torch.randn(E, D), torch.randn(E), torch.randn(N, E)
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        lib, sums = product._library(), torch.empty(E)
        y = product._multiply(lib, x, w.T, torch.empty(N, E), bias)
        dx = product._multiply(lib, dy, w, torch.empty(N, D))
        dw = product._multiply(lib, dy.T, x, torch.empty(E, D), sums=sums)
        found.append([y, dx, dw, sums])
        assert torch.equal(product.multiply(x, product.panels(w.T), torch.empty(N, E), bias), y)
        assert torch.equal(product.multiply(dy, product.panels(w), torch.empty(N, D)), dx)
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize(("N", "D", "E"), SHAPES)
def test_an_activation_behind_a_product(N: int, D: int, E: int, smooth: bool) -> None:
    torch.manual_seed(0)
    x, w, bias, dy, out = torch.randn(N, D), torch.randn(E, D), torch.randn(E), torch.randn(N, D), torch.randn(D, E)
    made, slope = product.activated(x, w, bias, smooth, NEVER)
    before = (x.double() @ w.double().T + bias).requires_grad_()
    wanted = F.gelu(before, approximate="tanh") if smooth else F.relu(before)
    close(made, wanted.detach())
    # near 0 the sum of our own may have the other sign: its slope is that of what was made
    through = torch.where(made > 0, 1.0, 0.0) if slope is None else slope
    close(product.activated_back(dy, out, made, slope, NEVER), (dy.double() @ out.double()) * through)
    if slope is not None:
        torch.testing.assert_close(slope.double(), torch.autograd.grad(wanted.sum(), before)[0], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("smooth", [True, False])
def test_dropout_behind_a_product_is_that_of_the_activation_alone(smooth: bool) -> None:
    torch.manual_seed(0)
    x, w, bias, often = torch.randn(50, 70), torch.randn(200, 70), torch.randn(200), chance(0.3)
    wanted = product.multiply(x, w.T, torch.empty(50, 200), bias)
    slopes = activation.activate_(wanted, None, smooth, often)
    d = torch.randn(50, 90)
    back = product.multiply(d, out := torch.randn(90, 200), torch.empty(50, 200))
    before = torch.get_num_threads()
    activation.back_(back, wanted, slopes, often, False)
    for threads in (1, 3):
        torch.set_num_threads(threads)
        made, slope = product.activated(x, w, bias, smooth, often)
        assert torch.equal(made, wanted)
        assert (slope is None and slopes is None) or torch.equal(slope, slopes)  # type: ignore[arg-type]
        assert torch.equal(product.activated_back(d, out, made, slope, often), back)
    torch.set_num_threads(before)


def test_a_row_is_what_it_is_alone() -> None:
    """Its neighbours, and how many they are, change no bit of it; nor do numbers of theirs that are none."""
    x, w = torch.randn(50, 300), torch.randn(100, 300)
    together = product.multiply(x, w.T, torch.empty(50, 100))
    for right in (w.T, product.panels(w.T)):
        for row, many in ((0, 1), (5, 1), (6, 2), (7, 3), (11, 4), (12, 5), (13, 6), (14, 7), (49, 1)):
            some = product.multiply(x[row : row + many], right, torch.empty(many, 100))
            assert torch.equal(some, together[row : row + many]), (row, many)
    x[7] = torch.inf
    spoilt = product.multiply(x, w.T, torch.empty(50, 100))
    others = [row for row in range(50) if row != 7]
    assert torch.equal(spoilt[others], together[others])
    assert not spoilt[7].isfinite().any()


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tokens", [(70,), (3, 11), (2, 3, 5)])
def test_a_linear_map_there_and_back(tokens: tuple[int, ...], bias: bool) -> None:
    layer, x = Linear(48, 80, bias), torch.randn(*tokens, 48, requires_grad=True)
    y = layer(x)
    assert "NativeLinear" in _maker(y)
    found = _gradients(y, [x, *layer.parameters()])
    layer, x = layer.double(), x.detach().double().requires_grad_()
    with only_plain():
        plain = layer(x)
    for ours, wanted in zip(found, _gradients(plain, [x, *layer.parameters()]), strict=True):
        close(ours, wanted)


@pytest.mark.parametrize("intel", [True, False])
def test_where_mkl_is_faster_it_is_asked(intel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is on Intel's own processors only."""
    asked = list[tuple[int, ...]]()
    own = product._multiply

    def seen(lib: object, left: Tensor, *rest: object, **more: object) -> Tensor:
        asked.append(tuple(left.shape))
        return own(lib, left, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(product, "_multiply", seen)
    monkeypatch.setattr(product, "_intel", lambda: intel)
    x, w = torch.randn(64, 2048), torch.randn(512, 2048)
    dy = product.mapped(x, w, None)
    assert asked == [(64, 2048)]
    close(product.mapped_back(dy, w), dy.double() @ w.double())
    d_w, sums = product.weight_back(dy, x, sums=True)
    assert asked[1:] == ([] if intel else [(64, 512), (512, 64)])
    assert sums is not None
    close(d_w, dy.double().T @ x.double())
    close(sums, dy.double().sum(0))


@pytest.mark.usefixtures("always")
def test_only_what_is_wanted() -> None:
    layer, x = Linear(32, 48), torch.randn(20, 32)
    layer.weight.requires_grad_(False)
    layer(x).sum().backward()
    assert layer.weight.grad is None
    close(layer.bias.grad, torch.full((48,), 20.0).double())  # type: ignore[arg-type]


def test_others_are_left_to_torch() -> None:
    layer = Linear(16, 4)
    assert layer(torch.randn(16)).shape == (4,)
    turned = torch.randn(16, 9, requires_grad=True).T
    assert "NativeLinear" not in _maker(layer(turned))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        layer(torch.randn(3, 5))
    assert "NativeLinear" not in _maker(layer.double()(torch.randn(3, 16).double()))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("activation", ["relu", "gelu-tanh"])
def test_two_maps_there_and_back(activation: str) -> None:
    layer, x = DenseFeedForward(Dense.model_validate({"activation": activation}), 48), torch.randn(90, 48)
    x.requires_grad_()
    found = _gradients(layer(x), [x, *layer.parameters()])
    layer, x = layer.double(), x.detach().double().requires_grad_()
    with only_plain():
        plain = layer(x)
    for ours, wanted in zip(found, _gradients(plain, [x, *layer.parameters()]), strict=True):
        torch.testing.assert_close(ours.double(), wanted, atol=2e-5, rtol=1e-5)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_several_chunks(bias: bool, smoothing: float) -> None:
    torch.manual_seed(0)
    hidden, table, offset = torch.randn(1300, 24), torch.randn(70, 24), torch.randn(70)
    goal, real, often = torch.randint(70, (1300,)), torch.rand(1300) < 0.9, torch.rand(1300)

    def loss(*given: Tensor) -> tuple[Tensor, ...]:
        of = [part.detach().requires_grad_() for part in given]
        made = token_loss(of[0], of[1], of[2] if bias else None, goal, real, smoothing, often.to(given[0].dtype))
        return made, *torch.autograd.grad(made, of[: 3 if bias else 2])

    with only_plain():
        wanted = loss(hidden.double(), table.double(), offset.double())
    for ours, plain in zip(loss(hidden, table, offset), wanted, strict=True):
        torch.testing.assert_close(ours.double(), plain, atol=1e-4, rtol=1e-4)


def _maker(y: Tensor) -> str:
    assert y.grad_fn is not None
    return " ".join([y.grad_fn.name(), *(node.name() for node, _ in y.grad_fn.next_functions if node is not None)])


def _gradients(y: Tensor, of: list[Tensor]) -> list[Tensor]:
    return [y, *torch.autograd.grad((y * torch.arange(y.numel()).view_as(y).sin()).sum(), of)]


def test_it_can_be_made_here() -> None:
    assert product.PRODUCT.wait() is not None, product.PRODUCT.why
