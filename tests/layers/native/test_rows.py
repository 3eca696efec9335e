import pytest
import torch
from torch import Tensor

from seqloom.layers.forked_cache import moved
from seqloom.layers.layout import Packed
from seqloom.layers.native.rows import ROWS, move, spread
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(ROWS.wait() is None, reason="needs a C compiler")


def laid(kind: str) -> Tensor:
    x = torch.randn(6, 3, 5, 4)
    match kind:
        case "steps before heads":
            return x.transpose(1, 2)
        case "a part of the steps":
            return x[:, :, :2]
        case "whole numbers":
            return (x * 100).long()
        case _:
            return x


@pytest.mark.parametrize("kind", ["side by side", "steps before heads", "a part of the steps", "whole numbers"])
def test_some_rows_take_the_places_of_others(kind: str) -> None:
    x = laid(kind)
    before, whole = x.clone(), x._base
    others = None if whole is None else whole.clone()
    with torch.no_grad():
        assert move(x, torch.tensor([5, 4]), torch.tensor([0, 2]))
    assert torch.equal(x, before[[5, 1, 4, 3, 4, 5]])
    if kind == "a part of the steps" and whole is not None and others is not None:
        assert torch.equal(whole[:, :, 2:], others[:, :, 2:]), "nothing else is touched"


@pytest.mark.parametrize("rows", [[0, 1, 5, 3], [4, 1, 5], [2, 1, 0], [0, 0, 1], [0, 1, 2, 3, 4, 5, 5], []])
@pytest.mark.parametrize("used", [None, 2])
def test_moved_is_a_selection(rows: list[int], used: int | None) -> None:
    """Also where rows change places or are wanted twice, which cannot be done row by row."""
    keys, forks = torch.randn(6, 2, 3, 4), torch.randn(6, 2, 2, 3, 4)
    wanted = [keys[rows].clone(), forks[rows].clone()]
    with torch.no_grad():
        found = moved(torch.tensor(rows, dtype=torch.int64), used, keys, forks)
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one[..., :used, :], other[..., :used, :])


@pytest.mark.parametrize("width", [(4,), (2, 3), ()])
def test_sequences_into_rows_of_their_own(width: tuple[int, ...]) -> None:
    layout, x_N = Packed.of([3, 0, 5, 1]), torch.randn(9, *width)
    with torch.no_grad():
        found = layout.pad(x_N)
        assert spread(x_N, layout.offsets_B1, 5) is not None
        with only_plain():
            assert torch.equal(found, layout.pad(x_N))
            assert spread(x_N, layout.offsets_B1, 5) is None


@pytest.mark.parametrize("lengths", [[3, 0, 5, 1], [4, 4], [6]])
def test_the_steps_of_each_head_together(lengths: list[int]) -> None:
    layout, both_N = Packed.of(lengths), torch.randn(sum(lengths), 6, 5)
    with torch.no_grad():
        for x_NGK in (both_N, *both_N.chunk(2, 1)):
            found = layout.pad_heads(x_NGK)
            assert found.is_contiguous() == (len(lengths) > 1)
            with only_plain():
                assert torch.equal(found, layout.pad_heads(x_NGK))


def test_a_part_of_each_token_into_rows() -> None:
    layout, x_N = Packed.of([2, 4]), torch.randn(6, 8, 3)
    with torch.no_grad():
        for part in x_N.chunk(2, 1):
            found = layout.pad(part)
            with only_plain():
                assert torch.equal(found, layout.pad(part))
    x_N.requires_grad_(True)
    layout.pad(x_N).sum().backward()  # whoever wants gradients gets them
    assert x_N.grad is not None
