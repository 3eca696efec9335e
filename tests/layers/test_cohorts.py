"""Rows that began together keep their own width, and go on as if all were one."""
# B rows  T steps  D width  S memory positions

import pytest
import torch
from torch import Tensor

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cache import Cache
from seqloom.layers.cohorts import FEW, MOST, Cohorts, alike, staying
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention, SharedMemory
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.layout.parts import parts_of
from seqloom.layers.mixer import Memory, Mixer, fan_out, fork, join, reorder, roomy
from seqloom.layers.paths import only_plain

D = 8
torch.manual_seed(0)
SELF = SelfAttention(Attention(heads=2), D, causal=True).eval()
CROSS = MemoryAttention(CrossAttention(heads=2), D).eval()
SOURCES = [torch.randn(3, 5, D), torch.randn(2, 2, D)]


@torch.no_grad()
def started(mixer: Mixer, which: int) -> object:
    source = SOURCES[which]
    state = mixer.start(len(source), Memory(source, Padded.whole(*source.shape[:2])))
    return mixer(source, Padded.whole(*source.shape[:2]), state)[1] if isinstance(mixer, SelfAttention) else state


@torch.no_grad()
def stepped(mixer: Mixer, state: object, x_BD: Tensor) -> tuple[Tensor, object]:
    y, state = mixer(x_BD[:, None], Padded.whole(len(x_BD), 1), state)
    return y[:, 0], state


@pytest.mark.parametrize("mixer", [SELF, CROSS], ids=["self", "cross"])
def test_cohorts_side_by_side_are_as_one(mixer: Mixer) -> None:
    apart = join([roomy(started(mixer, which), 4) for which in (0, 1)])
    plain = join([started(mixer, which) for which in (0, 1)])
    assert isinstance(apart, Cohorts)
    assert apart.sizes == [3, 2]
    for rows in ([0, 2, 3, 4], [1, 0, 2], [2, 0], [1]):  # within their cohorts, then across them
        x_BD = torch.randn(sum(apart.sizes), D)
        y, apart = stepped(mixer, apart, x_BD)
        wanted, plain = stepped(mixer, plain, x_BD)
        assert torch.allclose(y, wanted, atol=1e-5)
        apart, plain = reorder(apart, torch.tensor(rows)), reorder(plain, torch.tensor(rows))
        assert isinstance(apart, Cohorts)


def test_each_cohort_is_as_wide_as_its_own_rows() -> None:
    steps, memory = (join([roomy(started(mixer, which), 4) for which in (0, 1)]) for mixer in (SELF, CROSS))
    _, steps = stepped(SELF, steps, torch.randn(5, D))
    assert isinstance(steps, Cohorts)
    assert isinstance(memory, Cohorts)
    assert [part.seen[0].shape[2] for part in steps.parts if isinstance(part, Cache)] == [6, 3]
    assert [part.keys_AGSK.shape[2] for part in memory.parts if isinstance(part, SharedMemory)] == [5, 2]
    assert all(part.even for part in (*steps.parts, *memory.parts)), "nothing to hide"


def test_a_cohort_that_is_done_is_gone() -> None:
    state = join([roomy(started(SELF, which), 4) for which in (0, 1)])
    assert isinstance(state, Cohorts)
    assert state.reorder(torch.tensor([3, 4])).sizes == [2]


def test_a_state_joined_with_itself_is_copied() -> None:
    """Its buffers are written in place."""
    state = roomy(started(SELF, 0), 4)
    both = join([state, state])
    x_BD = torch.randn(6, D)
    y, _ = stepped(SELF, both, x_BD)
    for part, wanted in zip(x_BD.split(3), y.split(3), strict=True):
        assert torch.allclose(stepped(SELF, started(SELF, 0), part)[0], wanted, atol=1e-5)


def test_rows_that_come_one_by_one_do_not_stay_alone() -> None:
    state = roomy(started(SELF, 0), 4)
    for count in range(1, MOST + 3):
        state = join([state, roomy(started(SELF, 1), 4)])
        assert isinstance(state, Cohorts)
        assert sum(state.sizes) == 3 + 2 * count
        assert len(state.parts) <= MOST
        y, state = stepped(SELF, state, torch.randn(3 + 2 * count, D))
        assert not torch.isnan(y).any()


def test_hypotheses_fork_within_their_cohorts() -> None:
    forked = join([roomy(fan_out(started(SELF, which), 2), 4) for which in (0, 1)])
    copied = join([started(SELF, which) for which in (0, 1)])
    copied = reorder(copied, torch.arange(5).repeat_interleave(2))
    rows = torch.tensor([1, 1, 2, 3, 5, 4, 6, 6, 9, 8])
    for _ in range(3):
        x_BD = torch.randn(10, D)
        y, forked = stepped(SELF, forked, x_BD)
        wanted, copied = stepped(SELF, copied, x_BD)
        assert torch.allclose(y, wanted, atol=1e-5)
        forked, copied = fork(forked, rows), reorder(copied, rows)


def test_packed_steps_meet_cohorts_too() -> None:
    apart = join([roomy(started(SELF, which), 4) for which in (0, 1)])
    x_ND = torch.randn(5, D)
    with torch.no_grad():
        y, _ = SELF(x_ND, Packed.of([1] * 5), apart)
    wanted, _ = stepped(SELF, join([started(SELF, which) for which in (0, 1)]), x_ND)
    assert torch.allclose(y, wanted, atol=1e-5)


def test_rows_that_are_sorted_are_split_where_it_saves_filler() -> None:
    lengths = [60] * 32 + [30] * 32 + [20] * 32 + [10] * 32
    assert alike(lengths) == (32, 32, 32, 32)
    assert alike(lengths[::-1]) == (128,), "not sorted, the longest first"
    assert alike([30] * 128) == (128,), "nothing to save"
    assert alike(lengths[24:40]) == (16,), "few"


@torch.no_grad()
def test_memories_of_like_length_are_read_apart() -> None:
    lengths = [9] * FEW + [4] * FEW
    memory = Memory(torch.randn(sum(lengths), D), Packed.of(lengths)).padded()
    plain = CROSS.start(len(lengths), memory)
    apart = roomy(CROSS.start(len(lengths), memory), 4, (FEW, FEW))
    assert isinstance(apart, Cohorts)
    assert [part.keys_AGSK.shape[2] for part in apart.parts if isinstance(part, SharedMemory)] == [9, 4]
    assert all(part.even for part in apart.parts)
    rows = torch.arange(2 * FEW)
    for kept in (rows, rows[rows % 3 > 0], rows[[1, 0]]):
        plain, apart = reorder(plain, kept), reorder(apart, kept)
        x_BD = torch.randn(len(kept), D)
        assert torch.allclose(stepped(CROSS, apart, x_BD)[0], stepped(CROSS, plain, x_BD)[0], atol=1e-5)


@torch.no_grad()
def test_sorted_rows_are_read_in_parts_that_stand_as_they_stood() -> None:
    lengths = [12] * (2 * FEW) + [3] * (2 * FEW)
    layout = Packed.of(lengths)
    parts = parts_of(layout)
    assert parts is not None
    assert parts.order_N is None
    both = SelfAttention(Attention(heads=2), D, causal=False).eval()
    x_ND = torch.randn(sum(lengths), D)
    with only_plain():
        wanted, _ = both(x_ND, layout)
    assert torch.allclose(both(x_ND, layout)[0], wanted, atol=1e-5)


def test_rows_stay_with_their_cohort_and_few_of_them_move() -> None:
    assert staying([4, 3], {1, 4}) == ([0, 3, 2, 6, 5], [3, 2])
    assert staying([2, 2], {0, 1}) == ([2, 3], [2])
    assert staying([3], {2}) == ([0, 1], [2])
