"""Static states: rows are put, moved and forked in buffers that stay where they are."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from seqloom.layers.aligned import Aligned, AlignedMixer
from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.layout import Padded
from seqloom.layers.mixer import Memory, fan_out, fork
from seqloom.layers.static_cache import StaticCache
from seqloom.layers.static_state import NotStaticError, Places, Rows, Size, first, move, put, settle, static_like


@dataclass(frozen=True)
class Plain:
    """A state as most are."""

    hidden_BD: Tensor
    more: tuple[Tensor, ...]
    name: str = "x"


def size_of(items: int, fan: int = 1, steps: int = 8) -> Size:
    return Size(items, fan, steps, 4, Places.empty(items, fan, steps, torch.device("cpu")))


def test_rows_are_put_settled_and_moved() -> None:
    example = Plain(torch.ones(2, 3), (torch.ones(2),))
    static = static_like(example, size_of(4, fan=2))
    assert static.hidden_BD.shape == (8, 3)
    put(static, Rows(torch.tensor([3, 1]), 2), Plain(torch.tensor([[1.0] * 3, [2.0] * 3]), (torch.tensor([5.0, 6.0]),)))
    assert static.hidden_BD[:, 0].tolist() == [0, 0, 2, 2, 0, 0, 1, 1]
    assert static.more[0].tolist() == [0, 0, 6, 6, 0, 0, 5, 5]
    after = Plain(static.hidden_BD + torch.arange(8)[:, None], static.more)
    where = static.hidden_BD.data_ptr()
    settle(static, after, torch.tensor([1, 0, 3, 3, 4, 5, 6, 6]))
    assert static.hidden_BD[:, 0].tolist() == [1, 0, 5, 5, 4, 5, 7, 7]
    assert static.hidden_BD.data_ptr() == where
    move(static, Rows(torch.tensor([0]), 2), Rows(torch.tensor([3]), 2))
    assert static.hidden_BD[:, 0].tolist() == [7, 7, 5, 5, 4, 5, 7, 7]
    part = first(static, 1, 2)
    part.hidden_BD.zero_()
    assert static.hidden_BD[:, 0].tolist() == [0, 0, 5, 5, 4, 5, 7, 7]


def test_what_changes_its_shape_is_refused() -> None:
    static = static_like(Plain(torch.ones(2, 3), ()), size_of(2))
    with pytest.raises(NotStaticError):
        settle(static, Plain(torch.ones(2, 4), ()), None)
    with pytest.raises(NotStaticError):
        put(static, Rows(torch.tensor([0]), 1), Plain(torch.ones(1, 4), ()))
    with pytest.raises(NotStaticError):
        put(static, Rows(torch.tensor([0]), 1), replace(Plain(torch.ones(1, 3), ()), name="y"))


def test_a_state_that_knows_more_than_rows_must_say_how() -> None:
    memory = Memory(torch.ones(2, 3, 4), Padded.whole(2, 3))
    state = AlignedMixer(Aligned(), 4).start(2, memory)
    with pytest.raises(NotStaticError, match="AlignedState"):
        static_like(state, size_of(2))


@pytest.mark.parametrize("settings", [Attention(heads=2), Attention(heads=4, key_heads=2, window=2)])
def test_hypotheses_fork_without_copies(settings: Attention) -> None:
    """A static cache against one that grows, over steps in which hypotheses take each other's places."""
    torch.manual_seed(0)
    mixer = SelfAttention(settings, 16, causal=True).eval()
    items, fan = 3, 4
    growing = fan_out(mixer.start(items), fan)
    size = size_of(items, fan)
    static = static_like(mixer.start(items), size)
    assert isinstance(static, StaticCache)
    for _ in range(6):
        x_R1D, layout = torch.randn(items * fan, 1, 16), Padded.whole(items * fan, 1)
        size.places.mark(fan)
        with torch.no_grad():
            wanted, growing = mixer(x_R1D, layout, growing)
            found, after = mixer(x_R1D, layout, static)
        assert after is static
        torch.testing.assert_close(found, wanted)
        from_AK = torch.randint(fan, (items, fan)) + torch.arange(items)[:, None] * fan
        growing = fork(growing, from_AK.flatten())
        size.places.advance(torch.ones(items * fan, dtype=torch.bool), from_AK.flatten())


def test_rows_that_do_not_go_on_stay() -> None:
    places = Places.empty(2, 1, 8, torch.device("cpu"))
    places.advance(torch.tensor([True, False]), None)
    assert places.lengths_R.tolist() == [1, 0]


def test_a_static_cache_takes_one_step_at_a_time() -> None:
    mixer = SelfAttention(Attention(heads=2), 16, causal=True)
    static = static_like(mixer.start(2), size_of(2))
    with pytest.raises(ValueError, match="one step at a time"):
        mixer(torch.ones(2, 2, 16), Padded.whole(2, 2), static)
