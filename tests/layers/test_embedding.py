"""Tokens, readings and patches become vectors."""

import math

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from seqloom.layers.embedding import (
    PatchEmbedding,
    Patches,
    TokenEmbedding,
    Tokens,
    VectorEmbedding,
    Vectors,
    build_embedding,
    positions_of,
)
from seqloom.layers.layout import Packed, Padded, with_structure

TOKENS = torch.tensor([3, 1, 3, 0])
LAYOUT = Packed.of([4])


def test_tokens_are_looked_up() -> None:
    embedding = TokenEmbedding(Tokens(), 5, 6)
    x, layout = embedding(TOKENS, LAYOUT)
    assert torch.equal(x, embedding.weight_VD[TOKENS])
    assert layout is LAYOUT


def test_scale_is_for_tokens_not_for_segments() -> None:
    embedding = TokenEmbedding(Tokens(scale=True, segments=2), 5, 6)
    kinds = torch.tensor([0, 0, 1, 1])
    x, _ = embedding(TOKENS, LAYOUT, kinds)
    assert embedding.segment_SD is not None
    torch.testing.assert_close(x, embedding.weight_VD[TOKENS] * math.sqrt(6) + embedding.segment_SD[kinds])


def test_without_segments_all_are_of_the_first_kind() -> None:
    embedding = TokenEmbedding(Tokens(segments=3), 5, 6)
    x, _ = embedding(TOKENS, LAYOUT)
    y, _ = embedding(TOKENS, LAYOUT, torch.zeros(4, dtype=torch.int64))
    assert torch.equal(x, y)
    other, _ = embedding(TOKENS, LAYOUT, torch.full((4,), 2))
    assert not torch.equal(x, other)


def test_no_table_of_segments_where_none_is_wanted() -> None:
    assert TokenEmbedding(Tokens(), 5, 6).segment_SD is None


def test_frozen_vectors_are_not_trained() -> None:
    embedding = TokenEmbedding(Tokens(frozen=True, segments=1), 5, 6)
    x, _ = embedding(TOKENS, LAYOUT)
    x.sum().backward()
    assert embedding.weight_VD.grad is None
    assert not embedding.weight_VD.requires_grad
    assert embedding.segment_SD is not None
    assert embedding.segment_SD.grad is not None


def test_tied_vectors_are_the_same_memory() -> None:
    vectors = nn.Parameter(torch.randn(5, 6))
    embedding = build_embedding(Tokens(), 5, 6, vectors)
    assert isinstance(embedding, TokenEmbedding)
    assert embedding.weight_VD is vectors


@pytest.mark.parametrize(("settings", "deviation"), [(Tokens(), 0.1), (Tokens(deviation=0.02), 0.02)])
def test_spread_of_fresh_vectors(settings: Tokens, deviation: float) -> None:
    torch.manual_seed(0)
    assert TokenEmbedding(settings, 200, 100).weight_VD.std().item() == pytest.approx(deviation, rel=0.05)


def test_readings() -> None:
    embedding = build_embedding(Vectors(), 3, 6)
    assert isinstance(embedding, VectorEmbedding)
    readings = torch.randn(4, 3)
    x, layout = embedding(readings, LAYOUT)
    torch.testing.assert_close(x, readings @ embedding.inputs.weight.T + embedding.inputs.bias)
    assert layout is LAYOUT


@pytest.mark.parametrize("form", ["packed", "framed", "right", "left"])
def test_patches(form: str) -> None:
    """Rows of 5, 2 and 0 steps in patches of 3: two, one and none; the last ones are filled up with zeros."""
    torch.manual_seed(0)
    embedding = build_embedding(Patches(length=3), 2, 4)
    assert isinstance(embedding, PatchEmbedding)
    rows = [torch.randn(5, 2), torch.randn(2, 2), torch.zeros(0, 2)]
    junk = torch.full((9, 2), math.nan)
    layout = {
        "packed": Packed.of([5, 2, 0]),
        "framed": Packed.of([5, 2, 0], tokens=9, rows=3, longest=6),
        "right": Padded.of([5, 2, 0], 6),
        "left": Padded.of([5, 2, 0], 6, [1, 4, 6]),
    }[form]
    readings = {
        "packed": torch.cat(rows),
        "framed": torch.cat((*rows, junk[:2])),
        "right": torch.stack([torch.cat((row, junk[: 6 - len(row)])) for row in rows]),
        "left": torch.stack([torch.cat((junk[: 6 - len(row)], row)) for row in rows]),
    }[form]
    x, patched = embedding(readings, layout)
    assert x.shape == (3, 2, 4)
    assert isinstance(patched, Padded)
    assert patched.lengths_B.tolist() == [2, 1, 0]
    assert (patched.width, patched.uniform) == (2, False)
    zero = torch.zeros(1, 2)
    for b, p, steps in (0, 0, rows[0][:3]), (0, 1, torch.cat((rows[0][3:], zero))), (1, 0, torch.cat((rows[1], zero))):
        torch.testing.assert_close(x[b, p], embedding.inputs(steps.flatten()))


@pytest.mark.parametrize("fill", ["zeros", "last"])
def test_patches_overlap_and_are_filled_up(fill: str) -> None:
    """Of 5 and 2 steps, patches of 4 begin at each second one: three, and one; behind the end zeros, or the last."""
    torch.manual_seed(0)
    embedding = build_embedding(Patches.model_validate({"length": 4, "stride": 2, "fill": fill}), 2, 4)
    assert isinstance(embedding, PatchEmbedding)
    rows = [torch.randn(5, 2), torch.randn(2, 2)]
    x, patched = embedding(torch.cat(rows), Packed.of([5, 2]))
    assert patched.lengths_B.tolist() == [3, 1]
    assert positions_of(embedding.settings, 5) == 3
    longer = [torch.cat((row, (row[-1:] if fill == "last" else torch.zeros(1, 2)).expand(4, 2))) for row in rows]
    for b, p in (0, 0), (0, 1), (0, 2), (1, 0):
        torch.testing.assert_close(x[b, p], embedding.inputs(longer[b][2 * p : 2 * p + 4].flatten()))


def test_patchtst_has_64_patches_of_512_steps() -> None:
    """Nie et al. 2023: length 16, stride 8, the end repeated once more; ⌊(512 − 16) / 8⌋ + 2."""
    assert positions_of(Patches(length=16, stride=8, fill="last"), 512) == 64
    assert positions_of(Patches(length=16, stride=8, fill="last"), 336) == 42


def test_patches_leave_nothing_out() -> None:
    with pytest.raises(ValidationError, match="between patches of 4 steps some would be left out"):
        Patches(length=4, stride=5)


def test_patches_of_even_rows_need_no_mask() -> None:
    embedding = PatchEmbedding(Patches(length=3), 2, 4)
    x, patched = embedding(torch.randn(8, 2), Packed.of([4, 4]))
    assert x.shape == (2, 2, 4)
    assert patched.uniform
    assert patched.lengths_B.tolist() == [2, 2]


@pytest.mark.parametrize(
    "embedding", [VectorEmbedding(2, 4), PatchEmbedding(Patches(length=3), 2, 4)], ids=["vectors", "patches"]
)
def test_readings_have_no_segments(embedding: nn.Module) -> None:
    with pytest.raises(ValueError, match="an input of readings knows none"):
        embedding(torch.randn(4, 2), LAYOUT, torch.zeros(4, dtype=torch.int64))


def test_patches_do_not_drop_a_structure() -> None:
    layout = with_structure(LAYOUT, torch.ones(1, 4, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="behind patches there are no steps; use vectors"):
        PatchEmbedding(Patches(length=3), 2, 4)(torch.randn(4, 2), layout)


def test_patches_of_one_step_are_readings() -> None:
    patches, readings = PatchEmbedding(Patches(length=1), 2, 4), VectorEmbedding(2, 4)
    readings.load_state_dict(patches.state_dict())
    x = torch.randn(2, 5, 2)
    torch.testing.assert_close(patches(x, Padded.whole(2, 5))[0], readings(x, Padded.whole(2, 5))[0])


def test_whole_tokens_are_dropped() -> None:
    torch.manual_seed(0)
    embedding = TokenEmbedding(Tokens(dropout=0.5), 40, 8)
    tokens = torch.arange(40).repeat(2)
    x, _ = embedding(tokens, Packed.of([40, 40]))
    gone = (x == 0).all(-1)
    assert torch.equal(gone[:40], gone[40:])
    assert 10 < gone[:40].sum() < 30
    torch.testing.assert_close(x[~gone], 2 * embedding.weight_VD[tokens[~gone]])
    torch.testing.assert_close(embedding.eval()(tokens, Packed.of([80]))[0], embedding.weight_VD[tokens])
