"""Whole models: what is tied, what is segmented, what a report holds, what each family returns."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import reorder
from seqloom.models.build import Model, build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

HEADS = {"kind": "attention", "heads": 2}
SOURCE, TARGET = torch.tensor([1, 2, 3, 4, 0]), torch.tensor([3, 1, 2])
SOURCE_LAYOUT, TARGET_LAYOUT = Packed.of([3, 2]), Packed.of([1, 2])


def built(sizes: Sizes | None = None, **settings: Any) -> Model:
    torch.manual_seed(0)
    given = {"width": 8, "depth": 1, "mixer": HEADS, **settings}
    return build_model(ModelSettings.model_validate(given), sizes or Sizes(5, 5)).eval()


def tables(model: Model) -> list[str]:
    """Every name that stands for a table of token vectors or its twin, the output."""
    return [name for name, _ in model.named_parameters(remove_duplicate=False) if name.endswith("weight_VD")]


@pytest.mark.parametrize(
    ("family", "tie", "distinct", "all_names"),
    [
        ("encoder-decoder", "none", 3, 3),
        ("encoder-decoder", "output", 2, 3),
        ("encoder-decoder", "inputs", 2, 3),
        ("encoder-decoder", "all", 1, 3),
        ("decoder-only", "none", 2, 2),
        ("decoder-only", "output", 1, 2),
        ("encoder-only", "all", 1, 2),
    ],
)
def test_tied_tables_are_one_memory(family: str, tie: str, distinct: int, all_names: int) -> None:
    model = built(family=family, tie=tie)
    names = tables(model)
    assert len(names) == all_names
    assert len({model.get_parameter(name).data_ptr() for name in names}) == distinct
    assert sum(name.endswith("weight_VD") for name, _ in model.named_parameters()) == distinct


def test_the_output_is_tied_to_the_targets_vectors_not_to_the_sources() -> None:
    model = built(Sizes(5, 7), tie="output")
    assert isinstance(model, EncoderDecoder)
    assert model.head.weight_VD is model.target.vectors
    assert model.source.vectors.shape == (5, 8)
    assert model.target.vectors.shape == (7, 8)


def test_inputs_are_tied_to_each_other_not_to_the_output() -> None:
    model = built(tie="inputs")
    assert isinstance(model, EncoderDecoder)
    assert model.target.vectors is model.source.vectors
    assert model.head.weight_VD is not model.target.vectors


def test_each_family() -> None:
    assert isinstance(built(family="encoder-only"), EncoderOnly)
    assert isinstance(built(family="decoder-only"), DecoderOnly)
    assert isinstance(built(), EncoderDecoder)


def test_scores_of_each_family() -> None:
    encoder, decoder, both = built(family="encoder-only"), built(family="decoder-only"), built(Sizes(5, 7))
    assert encoder.scores(encoder(SOURCE, SOURCE_LAYOUT)).shape == (5, 5)
    assert decoder.scores(decoder(SOURCE, SOURCE_LAYOUT)).shape == (5, 5)
    assert both.scores(both(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT)).shape == (3, 7)


def test_whole_sequences_leave_no_state() -> None:
    decoder, both = built(family="decoder-only"), built()
    assert decoder(SOURCE, SOURCE_LAYOUT).state is None
    assert both(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT).state is None


def test_a_state_counts_each_rows_steps() -> None:
    model = built(family="decoder-only", positions={"kind": "learned", "length": 9})
    assert isinstance(model, DecoderOnly)
    output = model(SOURCE, SOURCE_LAYOUT, model.start(2))
    assert output.state is not None
    assert output.state.lengths_B.tolist() == [3, 2]
    output = model(torch.tensor([[1], [1]]), Padded.of([0, 1], 1), output.state)
    assert output.state is not None
    assert output.state.lengths_B.tolist() == [3, 3]
    assert reorder(output.state, torch.tensor([1])).lengths_B.tolist() == [3]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_each_side_has_its_own_settings(side: str) -> None:
    model = built(**{side: {"depth": 3, "norm": {"kind": "rms"}, "positions": {"kind": "sinusoidal"}}})
    assert isinstance(model, EncoderDecoder)
    stacks = {"encoder": (model.encoder, model.source), "decoder": (model.decoder, model.target)}
    for name, (stack, input_layer) in stacks.items():
        assert len(stack.blocks) == (3 if name == side else 1)
        assert (input_layer.positions is not None) == (name == side)
        kind = "RMSNormalisation" if name == side else "LayerNormalisation"
        assert type(stack.norm).__name__ == kind


def test_segments_change_what_is_read() -> None:
    kinds = torch.tensor([0, 0, 1, 0, 1])
    encoder = built(family="encoder-only", input={"kind": "tokens", "segments": 2})
    plain, told = encoder(SOURCE, SOURCE_LAYOUT).hidden, encoder(SOURCE, SOURCE_LAYOUT, kinds).hidden
    assert not torch.allclose(plain, told)
    both = built(input={"kind": "tokens", "segments": 2})
    assert isinstance(both, EncoderDecoder)
    plain = both(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT).hidden
    told = both(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT, kinds).hidden
    assert not torch.allclose(plain, told)
    same = both.encode(SOURCE, SOURCE_LAYOUT, torch.zeros(5, dtype=torch.int64)).states
    torch.testing.assert_close(both.encode(SOURCE, SOURCE_LAYOUT).states, same)


def test_reports_of_both_sides_are_added() -> None:
    experts = {"kind": "experts", "experts": 4}
    both = built(feed_forward=experts)(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT)
    assert both.report is not None
    assert both.report.routed == 2 * (5 + 3)
    encoder = built(encoder={"feed_forward": experts})(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT)
    assert encoder.report is not None
    assert encoder.report.routed == 10
    decoder = built(decoder={"feed_forward": experts})(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT)
    assert decoder.report is not None
    assert decoder.report.routed == 6
    assert built()(SOURCE, SOURCE_LAYOUT, TARGET, TARGET_LAYOUT).report is None


def test_forecasting_in_patches() -> None:
    """Readings of two channels in, three quantiles of each out, one for each patch."""
    model = built(
        Sizes(2, 2),
        family="encoder-only",
        input={"kind": "patches", "length": 4},
        output={"kind": "numbers", "quantiles": (0.1, 0.5, 0.9)},
    )
    output = model(torch.randn(11, 2), Packed.of([7, 4]))
    assert output.layout.lengths_B.tolist() == [2, 1]
    assert model.scores(output).shape == (2, 2, 2, 3)


def test_readings_in_and_readings_back() -> None:
    """A decoder of numbers reads numbers back."""
    model = built(Sizes(3, 2), input={"kind": "vectors"}, output={"kind": "numbers"}, target_input={"kind": "vectors"})
    output = model(torch.randn(5, 3), SOURCE_LAYOUT, torch.randn(3, 2), TARGET_LAYOUT)
    assert model.scores(output).shape == (3, 2)


def test_the_memory_of_a_packed_source_can_be_reordered() -> None:
    model = built()
    assert isinstance(model, EncoderDecoder)
    state = model.start(model.encode(SOURCE, SOURCE_LAYOUT))
    step, layout = torch.tensor([[3], [3], [3]]), Padded.whole(3, 1)
    forked = model.step(step, layout, reorder(state, torch.tensor([1, 0, 1])))
    straight = model.step(step[:2], Padded.whole(2, 1), state)
    expected: Tensor = straight.hidden[[1, 0, 1]]
    torch.testing.assert_close(forked.hidden, expected)
