"""What kind of looking a head does."""

import math

import pytest
import torch

import seqloom
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking.attention import summary
from tests.jobs.asked_runs import Runs


def test_heads_that_look_one_way_only() -> None:
    itself, even = torch.eye(4), torch.full((4, 4), 0.25)
    before = torch.eye(4).roll(-1, 1)  # each looks at the one before it, the first at the last
    assert summary(itself).diagonal == summary(itself).surest == 1
    assert summary(itself).entropy == summary(itself).before == 0
    assert summary(itself).first == 0.25
    assert summary(even).entropy == pytest.approx(math.log(4))
    assert (summary(even).diagonal, summary(even).surest) == (0.25, 0.25)
    assert summary(before).before == 0.75
    assert summary(before).diagonal == 0


def test_a_row_that_sees_nothing_counts_as_nothing() -> None:
    weights = torch.tensor([[0.0, 0.0], [0.5, 0.5]])
    assert summary(weights).entropy == pytest.approx(math.log(2) / 2)


def test_rows_of_a_look_at_the_source_are_what_was_written(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    look = Look(model, LookRequest("abc", target="ca"))
    own, cross = (
        next(layer for layer in look.attention().layers if layer.kind == kind and layer.id.startswith("decoder"))
        for kind in ("self", "cross")
    )
    assert [place.text for place in own.rows] == [place.text for place in own.columns] == ["<s>", "c", "a"]
    assert [place.text for place in cross.rows] == ["c", "a", "</s>"]
    assert [place.text for place in cross.columns] == ["a", "b", "c", "</s>"]
    assert (own.id, cross.id) == ("decoder.blocks.0.mixer", "decoder.blocks.0.cross")
    assert own.title == "decoder block 1: masked self-attention"
    torch.testing.assert_close(cross.weights, look.traced.parts(cross.id).weights_BHTS[0])
