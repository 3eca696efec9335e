"""Short rows on a CPU: the fast way is the equation, there and back, whoever shares the batch."""

import pytest
import torch
from torch import Tensor

from seqloom.layers import short_attention as module
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.paths import only_plain

LAYOUTS: list[Layout] = [
    Packed.of([3, 5, 5, 4]),  # together
    Packed.of([1, 2, 30, 9, 0, 5]),  # in parts
    Packed.of([0, 3, 0]),  # a part of nothing
    Packed.of([70, 66]),  # long enough for torch's softmax
    Padded.whole(3, 17),
]


def drawn(layout: Layout, width: int) -> Tensor:
    shape = (len(layout.row_N),) if isinstance(layout, Packed) else (layout.rows, layout.longest)
    return torch.randn(*shape, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def gradients(y: Tensor, of: list[Tensor]) -> list[Tensor]:
    return [y, *torch.autograd.grad((y * torch.arange(y.numel()).view_as(y).sin()).sum(), of)]


def is_short(y: Tensor) -> bool:
    """Whether the fast way is somewhere behind it."""
    todo, seen = [y.grad_fn], set[object]()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if "_ShortAttention" in node.name():
            return True
        todo += [before for before, _ in node.next_functions]
    return False


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("more", [{}, {"relative": {"kind": "rotary"}}, {"qk_norm": True}])
def test_each_row_over_itself(
    causal: bool, layout: Layout, more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)  # several blocks of queries, also in short rows
    torch.manual_seed(0)
    mixer = SelfAttention(Attention.model_validate({"heads": 2, **more}), 8, causal).double()
    x = drawn(layout, 8).requires_grad_()
    of = [x, *mixer.parameters()]
    y, _ = mixer(x, layout)
    assert is_short(y)
    with only_plain():
        plain, _ = mixer(x, layout)
    assert not is_short(plain)
    for ours, theirs in zip(gradients(y, of), gradients(plain, of), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("source", "target"), [([3, 5, 5, 4], [2, 6, 1, 4]), ([1, 2, 30, 9, 1], [20, 1, 3, 4, 0]), ([2, 3, 4], [0, 9, 0])]
)
def test_each_row_over_its_memory(source: list[int], target: list[int]) -> None:
    torch.manual_seed(0)
    mixer = MemoryAttention(CrossAttention(heads=2), 8).double()
    layouts = Packed.of(source), Packed.of(target)
    states, x = (drawn(layout, 8).requires_grad_() for layout in layouts)
    of, found = [x, states, *mixer.parameters()], list[list[Tensor]]()
    y, _ = mixer(x, layouts[1], mixer.begin(len(source), Memory(states, layouts[0])))
    assert is_short(y)
    found.append(gradients(y, of))
    with only_plain():
        y, _ = mixer(x, layouts[1], mixer.begin(len(source), Memory(states, layouts[0])))
    assert not is_short(y)
    for ours, theirs in zip(found[0], gradients(y, of), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_memory_of_nothing_gives_nothing() -> None:
    mixer = MemoryAttention(CrossAttention(heads=2, output=False), 8).double()
    layouts = Packed.of([0, 3]), Packed.of([2, 2])
    y, _ = mixer(drawn(layouts[1], 8), layouts[1], mixer.begin(2, Memory(drawn(layouts[0], 8), layouts[0])))
    assert not is_short(y)
    assert (y[:2] == 0).all()


@pytest.mark.parametrize("causal", [False, True])
def test_dropped_weights_keep_the_mean_and_have_their_gradient(causal: bool) -> None:
    torch.manual_seed(0)
    layout = Packed.of([20] * 40)
    mixer = SelfAttention(Attention(heads=2, dropout=0.3), 8, causal).double()
    x = drawn(layout, 8).requires_grad_()
    wanted = mixer.eval()(x, layout)[0]
    mixer.train()
    mean = torch.stack([mixer(x, layout)[0] for _ in range(300)]).mean(0)
    assert (mean - wanted).abs().mean().item() < 0.1 * wanted.std().item()

    def at(moved: Tensor) -> Tensor:
        torch.manual_seed(7)
        total: Tensor = (mixer(moved, layout)[0] ** 2).sum()
        return total

    (gradient,) = torch.autograd.grad(at(x), [x])
    direction, step = torch.randn_like(x), 1e-6
    slope = (at(x + step * direction) - at(x - step * direction)) / (2 * step)
    torch.testing.assert_close(slope, (gradient * direction).sum(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("steps", "dropout", "short"), [(128, 0.0, True), (129, 0.0, False), (129, 0.1, True)])
def test_long_rows_are_for_the_kernel(steps: int, dropout: float, short: bool) -> None:
    mixer = SelfAttention(Attention(heads=2, dropout=dropout), 8, causal=True)
    layout = Packed.of([steps])
    y, _ = mixer(drawn(layout, 8).float().requires_grad_(), layout)
    assert is_short(y) == short


def test_nobody_gathers_without_a_gradient() -> None:
    mixer, layout = SelfAttention(Attention(heads=2), 8, causal=False), Packed.of([4, 4])
    with torch.no_grad():
        assert not mixer._short(drawn(layout, 8).float(), layout)
