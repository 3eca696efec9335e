# R rows  H query heads  G key heads  S steps  K head width
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cache import Cache
from seqloom.layers.cohorts import Cohorts
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.forked_cache import ForkedCache
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory, State, fan_out, fork, join, reorder, roomy
from seqloom.layers.native import usable
from seqloom.layers.native.attention import ATTENTION, asked, over_memory, over_rows
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(ATTENTION.wait() is None, reason="needs a C compiler")
LIB = ATTENTION.wait()


def found(q: Tensor, keys: Tensor, values: Tensor, lengths: Tensor | None, scale: float = 0.3) -> Tensor:
    assert LIB is not None
    asks = asked(LIB, scale, len(q), q)
    assert asks is not None
    over_memory(asks, keys, values, lengths)
    return asks.y_RHK


@pytest.mark.parametrize(("heads", "groups", "width"), [(4, 4, 32), (4, 2, 64), (3, 1, 5), (2, 2, 48)])
@pytest.mark.parametrize("steps", [1, 3, 16, 127, 128, 129, 300])
def test_it_is_the_equation(heads: int, groups: int, width: int, steps: int) -> None:
    torch.manual_seed(steps)
    q, (keys, values) = torch.randn(3, heads, width), torch.randn(2, 3, groups, steps, width)
    lengths = torch.tensor([steps, max(0, steps - 2), 1])
    mask = torch.arange(steps) < lengths[:, None, None, None]
    wanted = F.scaled_dot_product_attention(
        q[:, :, None].double(), keys.double(), values.double(), mask, scale=0.3, enable_gqa=True
    )
    some = lengths > 0
    torch.testing.assert_close(
        found(q, keys, values, lengths)[some].double(), wanted[:, :, 0][some], atol=2e-6, rtol=1e-5
    )


def test_who_sees_nothing_gets_zeros() -> None:
    keys = torch.randn(2, 2, 4, 8)
    y = found(torch.randn(2, 2, 8), keys, keys, torch.tensor([0, 4]))
    assert torch.equal(y[0], torch.zeros(2, 8))
    assert y[1].abs().min() > 0


def test_very_unlike_and_very_alike() -> None:
    """Scores of ±300: one key takes all, and nothing overflows."""
    q = torch.full((1, 1, 4), 10.0)
    keys = torch.tensor([-1.0, 1.0, 0.5])[None, None, :, None].expand(1, 1, 3, 4).contiguous() * 25
    values = torch.arange(12.0).view(1, 1, 3, 4)
    torch.testing.assert_close(found(q, keys, values, None), values[:, :, 1])


def test_a_row_does_not_depend_on_its_neighbours_nor_on_threads() -> None:
    q, (keys, values) = torch.randn(40, 4, 32), torch.randn(2, 40, 4, 70, 32)
    lengths = torch.randint(1, 71, (40,))
    together = found(q, keys, values, lengths)
    for row in (0, 17, 39):
        own = slice(row, row + 1)
        cut = int(lengths[row])
        alone = found(q[own], keys[own, :, :cut], values[own, :, :cut], None)
        assert torch.equal(together[own], alone)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert torch.equal(found(q, keys, values, lengths), together)
    finally:
        torch.set_num_threads(before)


def test_no_numbers_stay_none() -> None:
    q, keys = torch.randn(2, 1, 8), torch.randn(2, 1, 3, 8)
    keys[0, 0, 1] = torch.nan
    y = found(q, keys, keys, None)
    assert y[0].isnan().all()
    assert y[1].isfinite().all()


def walked(
    mixer: SelfAttention | MemoryAttention, state: State, given: list[Tensor], turns: dict[int, Tensor]
) -> Tensor:
    """All outputs of some steps; turns: how rows are forked behind a step."""
    seen = []
    with torch.inference_mode():
        for step, x in enumerate(given):
            y, state = mixer(x, Padded.whole(len(x), 1), state)
            seen.append(y)
            if step in turns:
                state = fork(state, turns[step])
    return torch.stack(seen)


@pytest.mark.parametrize("key_heads", [None, 2])
@pytest.mark.parametrize("relative", [None, {"kind": "rotary"}])
def test_steps_of_cohorts(key_heads: int | None, relative: dict[str, str] | None) -> None:
    """Rows that begin at different times: what they see is their own past, as the plain lines say."""
    torch.manual_seed(1)
    settings = Attention.model_validate({"heads": 4, "key_heads": key_heads, "relative": relative})
    mixer = SelfAttention(settings, 64, causal=True).eval()

    def run() -> tuple[Tensor, State]:
        torch.manual_seed(2)
        with torch.inference_mode():
            state = roomy(mixer.start(3), 2)
            for _ in range(5):
                _, state = mixer(torch.randn(3, 1, 64), Padded.whole(3, 1), state)
            state = join([state, roomy(mixer.start(2), 2)])
            for _ in range(4):
                y, state = mixer(torch.randn(5, 1, 64), Padded.whole(5, 1), state)
            state = reorder(state, torch.tensor([0, 2, 4]))
            y, state = mixer(torch.randn(3, 1, 64), Padded.whole(3, 1), state)
        return y, state

    y, state = run()
    with only_plain():
        wanted, other = run()
    assert isinstance(state, Cohorts)
    torch.testing.assert_close(y, wanted, atol=1e-5, rtol=1e-5)
    assert [part.lengths_B.tolist() for part in state.parts] == [part.lengths_B.tolist() for part in other.parts]
    assert [part.free for part in state.parts] == [part.free for part in other.parts]


@pytest.mark.parametrize("relative", [None, {"kind": "alibi"}])
@pytest.mark.parametrize("beam", [1, 2, 20])
def test_steps_that_lie_in_parts(relative: dict[str, str] | None, beam: int) -> None:
    """As memories of like length do; also where hypotheses are copies, as too many of them are, and biased ones."""
    mixer = SelfAttention(Attention.model_validate({"heads": 2, "relative": relative}), 16, causal=True).eval()

    def run() -> Tensor:
        torch.manual_seed(8)
        with torch.inference_mode():
            state = mixer.start(5)
            state = roomy(fan_out(state, beam) if beam > 1 else state, 3, (3, 2))
            return walked(mixer, state, [torch.randn(5 * beam, 1, 16) for _ in range(3)], {})

    y = run()
    with only_plain():
        torch.testing.assert_close(y, run(), atol=1e-5, rtol=1e-5)


def test_steps_of_uneven_rows() -> None:
    """Prompts of different lengths, then one step after the other."""
    mixer = SelfAttention(Attention(heads=2), 16, causal=True).eval()

    def run() -> Tensor:
        torch.manual_seed(3)
        with torch.inference_mode():
            _, state = mixer(torch.randn(3, 4, 16), Padded.of([4, 1, 2]), mixer.start(3))
            state = roomy(state, 3)
            assert isinstance(state, Cohorts)
            assert isinstance(state.parts[0], Cache)
            assert not state.parts[0].even
            return walked(mixer, state, [torch.randn(3, 1, 16) for _ in range(7)], {})

    y = run()
    with only_plain():
        torch.testing.assert_close(y, run(), atol=1e-5, rtol=1e-5)


def test_forks() -> None:
    """Hypotheses that follow others read what their ancestors wrote."""
    mixer = SelfAttention(Attention(heads=2, key_heads=1), 16, causal=True).eval()
    turns = {1: torch.tensor([2, 0, 0, 4, 3, 4]), 4: torch.tensor([1, 1, 1, 5, 4, 3])}

    def run() -> Tensor:
        torch.manual_seed(4)
        with torch.inference_mode():
            _, state = mixer(torch.randn(2, 2, 16), Padded.of([2, 1]), mixer.start(2))
            state = roomy(fan_out(state, 3), 3)
            assert isinstance(state, Cohorts)
            assert isinstance(state.parts[0], ForkedCache)
            return walked(mixer, state, [torch.randn(6, 1, 16) for _ in range(8)], turns)

    y = run()
    with only_plain():
        torch.testing.assert_close(y, run(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fan", [1, 3])
def test_memories_of_several_lengths(fan: int) -> None:
    mixer = MemoryAttention(CrossAttention(heads=4), 32).eval()

    def run() -> Tensor:
        torch.manual_seed(5)
        lengths = [6, 6, 3, 1]
        with torch.inference_mode():
            state = mixer.start(4, Memory(torch.randn(4, 6, 32), Padded.of(lengths)))
            state = roomy(fan_out(state, fan) if fan > 1 else state, 2, (2, 2))
            assert isinstance(state, Cohorts)
            assert len(state.parts) == 2
            y = walked(mixer, state, [torch.randn(4 * fan, 1, 32)], {})
            rows = torch.tensor([[0], [3]]) * fan + torch.arange(fan)
            return torch.cat(
                (y[0], walked(mixer, reorder(state, rows.flatten()), [torch.randn(2 * fan, 1, 32)], {})[0])
            )

    y = run()
    with only_plain():
        torch.testing.assert_close(y, run(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("other", [{}, {"key_heads": 2}, {"qk_norm": True}, {"relative": {"kind": "rotary"}}])
def test_whole_packed_sequences(causal: bool, other: dict[str, object]) -> None:
    torch.manual_seed(6)
    mixer = SelfAttention(Attention.model_validate({"heads": 4, **other}), 32, causal=causal).eval()
    layout = Packed.of([5, 1, 0, 128, 3])
    x = torch.randn(137, 32)
    with torch.inference_mode():
        q, k, v = mixer.heads.of_itself(x)
        assert over_rows(q, k, v, layout, layout, 0.3, causal) is not None
        y, _ = mixer(x, layout)
        with only_plain():
            wanted, _ = mixer(x, layout)
        alone, _ = mixer(x[5:6], Packed.of([1]))
    torch.testing.assert_close(y, wanted, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(alone[0], wanted[5], atol=1e-5, rtol=1e-5)


def test_packed_over_packed() -> None:
    torch.manual_seed(7)
    mixer = MemoryAttention(CrossAttention(heads=4), 32).eval()
    layout, read = Packed.of([3, 2, 0, 1]), Packed.of([4, 0, 2, 6])
    x, memory = torch.randn(6, 32), Memory(torch.randn(12, 32), read)
    with torch.inference_mode():
        y, _ = mixer(x, layout, mixer.begin(4, memory))
        with only_plain():
            wanted, _ = mixer(x, layout, mixer.begin(4, memory))
    torch.testing.assert_close(y, wanted, atol=1e-5, rtol=1e-5)


def test_filler_and_long_sequences_go_another_way() -> None:
    q = torch.randn(140, 2, 8)
    with torch.inference_mode():
        for layout in (Packed.of([129, 11]), Packed.of([5, 6], tokens=140)):
            assert over_rows(q, q, q, layout, layout, 1.0, True) is None


@pytest.mark.parametrize("rows", [2, 4])
def test_another_number_of_rows_is_refused(rows: int) -> None:
    mixer = SelfAttention(Attention(heads=2), 16, causal=True).eval()
    with torch.inference_mode(), pytest.raises(ValueError, match="the state has 3"):
        mixer(torch.randn(rows, 1, 16), Padded.whole(rows, 1), roomy(mixer.start(3), 4))


def test_no_rows() -> None:
    keys = torch.randn(0, 2, 4, 8)
    assert found(torch.randn(0, 2, 8), keys, keys, torch.zeros(0, dtype=torch.int64)).shape == (0, 2, 8)


def test_lengths_that_do_not_lie_side_by_side() -> None:
    q, (keys, values) = torch.randn(3, 2, 8), torch.randn(2, 3, 2, 5, 8)
    table = torch.tensor([[5, 99], [2, 99], [3, 99]])
    assert torch.equal(found(q, keys, values, table[:, 0]), found(q, keys, values, torch.tensor([5, 2, 3])))


def test_other_rows_of_keys_are_refused() -> None:
    x = torch.randn(6, 2, 16)
    with pytest.raises(ValueError, match="3 rows of queries over 2"):
        over_rows(x, x, x, Packed.of([2, 2, 2]), Packed.of([3, 3]), 1.0, False)


def test_what_is_made_without_a_word_may_be_of_any_type() -> None:
    q, keys = torch.randn(2, 2, 8), torch.randn(2, 2, 4, 8)
    wanted = found(q, keys, keys, None)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(found(q, keys, keys, None), wanted)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        assert not usable()
    assert torch.inference_mode()(usable)(q)
