"""Attention by our kernel is the equation, there and back, with dropout too, whatever the number of threads."""

import pytest
import torch
from torch import Tensor

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.native.compiler import find_compiler
from seqloom.layers.native.packed_attention import ATTENTION, attend_itself, attend_over
from seqloom.layers.paths import only_plain
from seqloom.layers.short_attention import NATIVE

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

LAYOUTS: list[Layout] = [
    Packed.of([3, 16, 17, 1, 0, 5]),
    Packed.of([0, 3, 0]),
    Packed.of([70, 133, 64, 66]),  # several blocks of queries
    Padded.whole(3, 33),
]


def drawn(layout: Layout, *shape: int) -> Tensor:
    first = (len(layout.row_N),) if isinstance(layout, Packed) else (layout.rows, layout.longest)
    return torch.randn(*first, *shape, generator=torch.Generator().manual_seed(1))


def gradients(y: Tensor, of: list[Tensor]) -> list[Tensor]:
    weight = torch.arange(y.numel(), dtype=torch.float64).view_as(y).sin()
    return [y, *torch.autograd.grad((y * weight.to(y.dtype)).sum(), of)]


def is_ours(y: Tensor) -> bool:
    todo, seen = [y.grad_fn], set[object]()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() in ("_AttendItselfBackward", "_AttendOverBackward"):
            return True
        todo += [before for before, _ in node.next_functions]
    return False


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("heads", "more"), [(2, {}), (1, {"relative": {"kind": "rotary"}}), (6, {"qk_norm": True})])
def test_each_row_over_itself(causal: bool, layout: Layout, heads: int, more: dict[str, object]) -> None:
    torch.manual_seed(0)
    mixer = SelfAttention(Attention.model_validate({"heads": heads, **more}), 96, causal)
    x = drawn(layout, 96).requires_grad_()
    y, _ = mixer(x, layout)
    assert is_ours(y)
    found = gradients(y, [x, *mixer.parameters()])
    mixer, x = mixer.double(), x.detach().double().requires_grad_()
    with only_plain():
        plain, _ = mixer(x, layout)
    assert not is_ours(plain)
    for ours, wanted in zip(found, gradients(plain, [x, *mixer.parameters()]), strict=True):
        torch.testing.assert_close(ours.double(), wanted, atol=1e-5 * wanted.abs().max().item() + 1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("source", "target"), [([3, 5, 18, 4], [2, 6, 100, 4]), ([1, 2, 70, 9, 1], [20, 1, 3, 4, 0]), ([2, 3], [0, 9])]
)
def test_each_row_over_its_memory(source: list[int], target: list[int]) -> None:
    torch.manual_seed(0)
    mixer = MemoryAttention(CrossAttention(heads=2), 64)
    layouts = Packed.of(source), Packed.of(target)
    states, x = (drawn(layout, 64).requires_grad_() for layout in layouts)
    y, _ = mixer(x, layouts[1], mixer.begin(len(source), Memory(states, layouts[0])))
    assert is_ours(y)
    found = gradients(y, [x, states, *mixer.parameters()])
    mixer = mixer.double()
    states, x = (part.detach().double().requires_grad_() for part in (states, x))
    with only_plain():
        y, _ = mixer(x, layouts[1], mixer.begin(len(source), Memory(states, layouts[0])))
    for ours, wanted in zip(found, gradients(y, [x, states, *mixer.parameters()]), strict=True):
        torch.testing.assert_close(ours.double(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("steps", [13, 100])
def test_dropped_weights_have_their_gradient(steps: int) -> None:
    """Values that are unit vectors show the weights that were kept; with these the equation has the same gradients."""
    K, H, rate = 112, 2, 0.25
    layout = Packed.of([steps] * 3)
    heads = drawn(layout, 3 * H, K)
    shown = heads.clone()
    shown[:, 2 * H :] = torch.eye(K).repeat(3, 1)[: 3 * K].view(3, K, K)[:, :steps].reshape(-1, 1, K)
    torch.manual_seed(3)
    mask = attend_itself(shown, layout, True, 0.1, rate)[..., :steps] != 0
    seen = torch.ones(steps, steps).tril().repeat(3, 1)[:, None].expand(-1, H, -1) > 0
    lost = (seen & ~mask).sum() / seen.sum()
    assert lost.item() == pytest.approx(rate, abs=5 * (rate * (1 - rate) / int(seen.sum())) ** 0.5)
    x = heads.clone().requires_grad_()
    torch.manual_seed(3)
    found = gradients(attend_itself(x, layout, True, 0.1, rate), [x])

    wide = heads.double().requires_grad_()
    q, k, v = wide.view(3, steps, 3, H, K).permute(2, 0, 3, 1, 4)
    scores = (q @ k.transpose(-1, -2)) * 0.1
    weights = scores.masked_fill(torch.ones(steps, steps).triu(1) > 0, -torch.inf).softmax(-1)
    weights = weights * mask.view(3, steps, H, steps).transpose(1, 2) / (1 - rate)
    wanted = gradients((weights @ v).transpose(1, 2).reshape(-1, H, K), [wide])
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=1e-5, rtol=1e-5)


def test_which_weights_are_dropped_is_chance() -> None:
    """Heads, tokens and calls know nothing of each other."""
    steps, rate, layout = 16, 0.5, Packed.of([16] * 200)
    heads = torch.zeros(16 * 200, 12, 16)
    heads[:, 8:] = torch.eye(16).repeat(200, 1)[:, None]
    torch.manual_seed(1)
    first, second = (attend_itself(heads, layout, False, 1.0, rate) != 0 for _ in range(2))
    count = first.numel()
    for one, other in (
        (first, second),
        (first[:, :-1], first[:, 1:]),
        (first[:-1], first[1:]),
        (first[..., :-1], first[..., 1:]),
    ):
        assert (one == other).double().mean().item() == pytest.approx(0.5, abs=3 / count**0.5)
    assert first.double().mean((0, 1)).sub(rate).abs().max().item() < 4 * 0.5 / (count / steps) ** 0.5


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_threads_change_no_bit(dropout: float) -> None:
    source, target = Packed.of([5, 90, 17, 1] * 4), Packed.of([7, 70, 1, 30] * 4)
    q, kv, heads = drawn(target, 4, 16), drawn(source, 8, 16), drawn(source, 12, 16)
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        torch.manual_seed(5)
        parts = [part.clone().requires_grad_() for part in (q, kv, heads)]
        over = gradients(attend_over(parts[0], parts[1], target, source, 0.25, dropout), parts[:2])
        found.append(over + gradients(attend_itself(parts[2], source, True, 0.25, dropout), parts[2:]))
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_a_number_that_is_none_stays_none() -> None:
    x = torch.randn(6, 6, 16)
    x[4, 0, 3] = torch.nan
    y = attend_itself(x, Packed.of([3, 3]), False, 1.0, 0.0)
    assert y[4, 0].isnan().all()
    assert y[:3].isfinite().all()


@pytest.mark.parametrize(("width", "steps", "ours"), [(32, 300, True), (24, 300, False), (32, NATIVE + 1, False)])
def test_what_it_is_not_for(width: int, steps: int, ours: bool) -> None:
    mixer, layout = SelfAttention(Attention(heads=2), 2 * width, causal=True), Packed.of([steps])
    y, _ = mixer(drawn(layout, 2 * width).requires_grad_(), layout)
    assert is_ours(y) == ours


def test_it_can_be_made_here() -> None:
    assert ATTENTION.wait() is not None, ATTENTION.why


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqloom.layers.native.packed_attention.ATTENTION._settled", False)
    monkeypatch.setenv("SEQLOOM_NATIVE", "0")
    mixer, layout = SelfAttention(Attention(heads=2), 32, causal=True), Packed.of([9])
    y, _ = mixer(drawn(layout, 32).requires_grad_(), layout)
    assert not is_ours(y)
