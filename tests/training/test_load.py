"""What a step asks of a machine: each part grows with what it is about, and with nothing else."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from seqloom.models.cost import model_cost, training_flops
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.training.load import Lengths, Load, load_of
from seqloom.training.optimisers import Muon

SIZES = Sizes(500, 500)
RECIPES = Path(__file__).parents[2] / "recipes"


def _model(**others: Any) -> ModelSettings:
    plain = {"family": "decoder-only", "width": 64, "depth": 2, "mixer": {"kind": "attention", "heads": 4}}
    return ModelSettings.model_validate(plain | others)


def _load(tokens: float = 256, length: float = 16, **others: Any) -> Load:
    return load_of(_model(**others), SIZES, Lengths(tokens, length))


@pytest.mark.parametrize("family", ["encoder-only", "decoder-only", "encoder-decoder"])
def test_products_and_attention_are_all_of_the_flops(family: str) -> None:
    output = {"kind": "tags"} if family == "encoder-only" else {"kind": "tokens"}
    model = _model(family=family, output=output)
    load = load_of(model, SIZES, Lengths(256, 16, 24))
    whole = training_flops(model_cost(model, SIZES, 16, 24)) * 256
    assert sum(load.products.values()) + sum(load.attention.values()) == pytest.approx(whole, rel=1e-4)


def test_attention_grows_with_the_square_of_the_length() -> None:
    short, long = _load(256, 16), _load(256, 64)
    assert long.attention[64] == pytest.approx(4 * short.attention[16], rel=1e-3)
    assert sum(long.products.values()) == pytest.approx(sum(short.products.values()))
    assert long.traffic == short.traffic


def test_a_recurrent_layer_has_steps_that_follow_each_other_and_products_of_few_rows() -> None:
    load = _load(256, 16, mixer={"kind": "recurrence", "cell": "lstm"})
    assert load.mixed["recurrence steps"] == 2 * 16
    assert (16.0, 64) in load.products, "256 tokens in rows of 16: 16 rows"
    assert min(load.products.values()) >= 0
    assert not _load().mixed


def test_a_projected_cell_is_moved_by_what_its_matrices_hold() -> None:
    mixer = {"kind": "recurrence", "cell": "lstm", "hidden": 256, "projection": True}
    load = _load(256, 16, depth=1, mixer=mixer)
    assert load.products[16.0, 256] == 3 * 2 * (4 * 256 * 64 + 256 * 64) * 256, "to the gates, and back to the width"


@pytest.mark.parametrize("length", [8, 32])
@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_no_product_of_a_recipe_is_negative_or_lost(path: Path, length: int) -> None:
    model = ModelSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))["model"])
    load = load_of(model, SIZES, Lengths(1024, length, 200))
    whole = training_flops(model_cost(model, SIZES, length, 200)) * 1024
    assert min(load.products.values()) >= 0
    assert sum(load.products.values()) + sum(load.attention.values()) == pytest.approx(whole, rel=1e-4)


def test_two_directions_are_twice_the_steps() -> None:
    mixer = {"kind": "recurrence", "cell": "gru", "direction": "both"}
    load = load_of(_model(family="encoder-only", output={"kind": "tags"}, mixer=mixer), SIZES, Lengths(256, 16))
    assert load.mixed["recurrence steps"] == 2 * 2 * 16


def test_stacked_cells_are_counted_by_their_own_widths() -> None:
    flat, high = (_load(mixer={"kind": "recurrence", "cell": "lstm", **more}) for more in ({}, {"depth": 3}))
    wide = _load(mixer={"kind": "recurrence", "cell": "lstm", "depth": 2, "hidden": [128, 64]})
    assert flat.mixed["recurrence"] == 2 * 256 * 4 * 64
    assert high.mixed["recurrence"] == 3 * flat.mixed["recurrence"]
    assert wide.mixed["recurrence"] == 3 * flat.mixed["recurrence"]
    assert high.mixed["recurrence layers"] == wide.mixed["recurrence layers"] == 2


def _attentive(**mixer: Any) -> Load:
    decoder = {"mixer": {"kind": "attentive-recurrence", **mixer}, "cross": {"kind": "none"}}
    return load_of(
        _model(family="encoder-decoder", depth=1, decoder=decoder, feed_forward={"kind": "none"}),
        SIZES,
        Lengths(256, 16, 24),
    )


def test_only_cells_that_wait_for_the_attention_are_called_step_by_step() -> None:
    top = _attentive(form="bahdanau", depth=3)
    bottom = _attentive(form="bahdanau", depth=3, asks="bottom")
    at_once = _attentive(form="luong", depth=3, feed=False)
    assert [load.mixed["attentive-recurrence steps"] for load in (top, bottom, at_once)] == [48, 16, 0]
    assert [load.mixed["recurrence steps"] for load in (top, bottom, at_once)] == [0, 32, 48]
    assert [load.mixed.get("looks back", 0) for load in (top, bottom, at_once)] == [16, 16, 0]


def test_additive_scores_look_at_every_pair() -> None:
    assert "additive scores" not in _attentive().mixed
    assert _attentive(attention={"score": "additive"}).mixed["additive scores"] == 256 * 24 * 64


def test_gates_and_normed_weights_of_convolutions_are_counted() -> None:
    plain, gated = (_load(mixer={"kind": "convolution", "kernel": 3, **more}) for more in ({}, {"gated": True}))
    normed = _load(mixer={"kind": "convolution", "kernel": 3, "weight_norm": True})
    assert plain.mixed["convolution"] < gated.mixed["convolution"]
    assert "normed weights" not in plain.mixed
    assert normed.mixed["normed weights"] == 2 * 3 * 64**2


def test_an_unfolded_source_is_longer() -> None:
    stacked: dict[str, Any] = {
        "family": "encoder-decoder",
        "mixer": {"kind": "bottleneck-convolution"},
        "cross": {"kind": "aligned"},
    }
    same, longer = (_load(**stacked, unfold={"times": times}) for times in (1.0, 1.5))
    assert longer.mixed["bottleneck-convolution"] == 1.25 * same.mixed["bottleneck-convolution"]


def test_dropout_is_counted_where_there_is_some() -> None:
    assert _load().dropped == 0
    assert _load(dropout=0.1).dropped == 256 * 64 * 2 * 2


def test_only_muon_multiplies_when_it_updates() -> None:
    assert _load().update == 0
    assert load_of(_model(), SIZES, Lengths(256, 16), Muon()).update > 0


def test_a_decoder_that_reads_a_memory_has_three_parts() -> None:
    assert _load(family="encoder-decoder").parts == 2 * 2 + 2 * 3
