"""What a stack's states become: tied scores, pools over ragged rows, quantiles."""

import math

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor, nn

from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.norms import LayerNorm
from seqloom.models.head_settings import ClassesOutput, HorizonOutput, NumbersOutput, TagsOutput, TokensOutput
from seqloom.models.heads import ClassHead, HorizonHead, NumberHead, TagHead, TokenHead, build_head, rising

WIDTH, SIZE = 4, 6


def ragged() -> list[Tensor]:
    g = torch.Generator().manual_seed(0)
    return [torch.randn(n, WIDTH, generator=g) for n in (3, 1, 0, 2)]


def forms() -> list[tuple[Layout, Tensor]]:
    """The same rows packed, in a frame, and padded on either side; junk where nothing is real."""
    rows, lengths = ragged(), [3, 1, 0, 2]
    left, right = torch.full((2, 4, 5, WIDTH), math.nan)
    for b, row in enumerate(rows):
        left[b, 5 - len(row) :], right[b, : len(row)] = row, row
    return [
        (Packed.of(lengths), torch.cat(rows)),
        (Packed.of(lengths, tokens=8, rows=4, longest=4), torch.cat((*rows, torch.full((2, WIDTH), math.nan)))),
        (Padded.of(lengths, 5), right),
        (Padded.of(lengths, 5, [2, 4, 5, 3]), left),
    ]


@pytest.mark.parametrize("pool", ["mean", "max", "first", "last", "attention"])
def test_pools_of_ragged_rows(pool: str) -> None:
    torch.manual_seed(1)
    head = ClassHead(ClassesOutput.model_validate({"pool": pool}), SIZE, WIDTH)
    if head.ask_D is not None:
        nn.init.normal_(head.ask_D)
    expected = []
    for row in ragged():
        if not len(row):
            expected.append(torch.zeros(WIDTH))
        elif pool == "attention":
            assert head.ask_D is not None
            weights = (row @ head.ask_D / math.sqrt(WIDTH)).softmax(-1)
            expected.append(weights @ row)
        else:
            expected.append({"mean": row.mean(0), "max": row.amax(0), "first": row[0], "last": row[-1]}[pool])
    scores = torch.stack(expected) @ head.out.weight.T + head.out.bias
    for layout, hidden in forms():
        torch.testing.assert_close(head(hidden, layout), scores)


def test_several_pools_stand_side_by_side() -> None:
    torch.manual_seed(1)
    head = ClassHead(ClassesOutput(pool=("last", "max")), SIZE, WIDTH)
    each = [ClassHead(ClassesOutput(pool=pool), SIZE, WIDTH) for pool in head.pools]
    for one, weight in zip(each, head.out.weight.split(WIDTH, 1), strict=True):
        one.out.weight.data, one.out.bias.data = weight.data, head.out.bias.data / 2
    for layout, hidden in forms():
        torch.testing.assert_close(head(hidden, layout), sum(one(hidden, layout) for one in each))


def test_dropout_of_what_was_pooled() -> None:
    head = ClassHead(ClassesOutput(dropout=0.5), SIZE, 64)
    hidden, layout = torch.randn(6, 64), Packed.of([6])
    assert not torch.equal(head(hidden, layout), head(hidden, layout))
    head.eval()
    torch.testing.assert_close(head(hidden, layout), head(hidden, layout))


@pytest.mark.parametrize("pools", [(), ("mean", "mean")])
def test_pools_that_cannot_be(pools: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="none of them twice"):
        ClassesOutput.model_validate({"pool": pools})


def test_an_untrained_attention_pool_is_the_mean() -> None:
    head = ClassHead(ClassesOutput(pool="attention"), SIZE, WIDTH)
    mean = ClassHead(ClassesOutput(pool="mean"), SIZE, WIDTH)
    mean.out.load_state_dict(head.out.state_dict())
    layout, hidden = forms()[0]
    torch.testing.assert_close(head(hidden, layout), mean(hidden, layout))


@pytest.mark.parametrize(
    ("quantiles", "shape"), [((), (6, SIZE)), ((0.5,), (6, SIZE, 1)), ((0.1, 0.5, 0.9), (6, SIZE, 3))]
)
def test_numbers_and_quantiles(quantiles: tuple[float, ...], shape: tuple[int, ...]) -> None:
    head = build_head(NumbersOutput(quantiles=quantiles), LayerNorm(), SIZE, WIDTH)
    assert isinstance(head, NumberHead)
    hidden = torch.randn(6, WIDTH)
    assert head(hidden, Packed.of([6])).shape == shape
    if len(quantiles) == 3:
        # the quantiles of one number stand side by side
        torch.testing.assert_close(head(hidden, Packed.of([6]))[:, 2, 1], head.out(hidden)[:, 7])
    padded = head(hidden.view(2, 3, WIDTH), Padded.whole(2, 3))
    assert padded.shape == (2, 3, *shape[1:])


def test_tags() -> None:
    head = build_head(TagsOutput(), LayerNorm(), SIZE, WIDTH)
    assert isinstance(head, TagHead)
    hidden = torch.randn(3, WIDTH)
    torch.testing.assert_close(head(hidden, Packed.of([3])), hidden @ head.out.weight.T + head.out.bias)


def test_tokens_plain_and_tied() -> None:
    vectors = nn.Parameter(torch.randn(SIZE, WIDTH))
    hidden, layout = torch.randn(3, WIDTH), Packed.of([3])
    tied = build_head(TokensOutput(), LayerNorm(), SIZE, WIDTH, vectors)
    assert isinstance(tied, TokenHead)
    assert tied.weight_VD is vectors
    assert tied.bias_V is None
    torch.testing.assert_close(tied(hidden, layout), hidden @ vectors.T)
    own = build_head(TokensOutput(bias=True), LayerNorm(), SIZE, WIDTH)
    assert isinstance(own, TokenHead)
    assert own.bias_V is not None
    with torch.no_grad():
        own.bias_V.uniform_()
    torch.testing.assert_close(own(hidden, layout), hidden @ own.weight_VD.T + own.bias_V)


def test_tokens_scaled() -> None:
    hidden, layout = torch.randn(3, WIDTH), Packed.of([3])
    head = TokenHead(TokensOutput(scale=True), LayerNorm(), SIZE, WIDTH)
    torch.testing.assert_close(head(hidden, layout), hidden @ head.weight_VD.T / math.sqrt(WIDTH))


def test_tokens_behind_a_transform() -> None:
    hidden, layout = torch.randn(3, WIDTH), Packed.of([3])
    head = TokenHead(TokensOutput(transform="tanh"), LayerNorm(), SIZE, WIDTH)
    assert head.transform is not None
    between = F.layer_norm(torch.tanh(head.transform.dense(hidden)), (WIDTH,))
    torch.testing.assert_close(head(hidden, layout), between @ head.weight_VD.T)


@pytest.mark.parametrize("settings", [TokensOutput(), TokensOutput(scale=True, bias=True, transform="gelu")])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_the_scores_of_real_tokens(settings: TokensOutput, smoothing: float) -> None:
    torch.manual_seed(0)
    head = TokenHead(settings, LayerNorm(), SIZE, WIDTH)
    goals = torch.tensor([1, 5, 0, 2, 2, 4])
    packed, hidden = forms()[0]
    expected = F.cross_entropy(head(hidden, packed), goals, reduction="sum", label_smoothing=smoothing)
    for layout, given in forms():
        if isinstance(layout, Packed):
            goal = torch.cat((goals, torch.zeros(len(given) - 6, dtype=torch.int64)))
        else:
            goal = torch.zeros(given.shape[:2], dtype=torch.int64)
            assert layout.real is not None
            goal[layout.real] = goals
        torch.testing.assert_close(head.loss(given, layout, goal, smoothing), expected)


@pytest.mark.parametrize("pool", ["flat", "mean", "last"])
def test_a_horizon_is_read_off_all_of_a_ragged_row(pool: str) -> None:
    torch.manual_seed(1)
    head = HorizonHead(HorizonOutput.model_validate({"pool": pool}), SIZE, WIDTH, 5)
    for layout, hidden in forms():
        said_BVQ = head(torch.nan_to_num(hidden), layout)
        assert said_BVQ.shape == (4, SIZE, 1)
        for b, row in enumerate(ragged()):
            read = {
                "flat": F.pad(row, (0, 0, 0, 5 - len(row))).flatten(),
                "mean": row.sum(0) / max(len(row), 1),
                "last": row[-1] if len(row) else torch.zeros(WIDTH),
            }[pool]
            torch.testing.assert_close(said_BVQ[b, :, 0], head.out(read))


@pytest.mark.parametrize("quantiles", [(), (0.1, 0.9)])
def test_a_horizon_in_patches_is_a_map_of_places_times_a_map_of_states(quantiles: tuple[float, ...]) -> None:
    torch.manual_seed(1)
    head = HorizonHead(HorizonOutput(pool="patches", patch=2, quantiles=quantiles), 5, WIDTH, 6)
    assert head.ahead is not None
    for layout, hidden in forms():
        said_BVQ = head(torch.nan_to_num(hidden), layout)
        assert said_BVQ.shape == (4, 5, 1 + len(quantiles))
        for b, row in enumerate(ragged()):
            placed_PD = head.ahead.weight[:, : len(row)] @ row + head.ahead.bias[:, None]
            patches = [head.out(state_D).unflatten(0, (2, -1)) for state_D in placed_PD]
            torch.testing.assert_close(said_BVQ[b, :, 0], torch.cat(patches)[:5, 0])


@pytest.mark.parametrize("pool", ["flat", "patches"])
def test_a_horizon_by_places_refuses_more_positions_than_it_reads(pool: str) -> None:
    head = HorizonHead(HorizonOutput.model_validate({"pool": pool}), SIZE, WIDTH, 2)
    with pytest.raises(ValueError, match="a sequence of 3 positions, but the output reads 2"):
        head(torch.zeros(3, WIDTH), Packed.of([3]))


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_quantiles_never_cross(count: int) -> None:
    free_NQ = 10 * torch.randn(50, count, generator=torch.Generator().manual_seed(0))
    made_NQ = rising(free_NQ)
    assert (made_NQ.diff(dim=-1) >= 0).all()
    torch.testing.assert_close(made_NQ[:, count // 2], free_NQ[:, count // 2])  # one is free to be anything


def test_a_horizon_says_the_mean_beside_quantiles_that_rise() -> None:
    torch.manual_seed(0)
    head = HorizonHead(HorizonOutput(quantiles=(0.1, 0.5, 0.9), pool="mean"), SIZE, WIDTH, 0)
    said_BVQ = head(10 * torch.randn(5, WIDTH), Packed.of([3, 2]))
    assert said_BVQ.shape == (2, SIZE, 4)
    assert (said_BVQ[..., 1:].diff(dim=-1) >= 0).all()


def test_levels_must_rise() -> None:
    with pytest.raises(ValidationError, match="levels of quantiles must rise"):
        HorizonOutput(quantiles=(0.5, 0.1))
