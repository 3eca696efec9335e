"""Batches that nobody plans for, and half precision: a defined answer, never a NaN."""

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Layout, Packed, Padded, with_structure
from seqloom.models.build import Model, build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.model_cases import READINGS, SETTINGS, sizes_of
from tests.laws.subject import drawn


def _scores(model: Model, x: Tensor, layout: Layout) -> Tensor:
    output = model(x, layout, x, layout) if isinstance(model, EncoderDecoder) else model(x, layout)
    return model.scores(output)


@pytest.mark.parametrize("lengths", [[], [0], [0, 3, 0]], ids=str)
@pytest.mark.parametrize("name", SETTINGS)
def test_empty_rows_and_batches(name: str, lengths: list[int]) -> None:
    model = build_model(ModelSettings.model_validate(SETTINGS[name]), Sizes(11, 11)).eval()
    longest = max(lengths, default=0)
    packed = _scores(model, torch.randint(11, (sum(lengths),)), Packed.of(lengths))
    padded = _scores(model, torch.randint(11, (len(lengths), longest)), Padded.of(lengths, longest))
    assert packed.shape == (sum(lengths), 11)
    assert padded.shape == (len(lengths), longest, 11)
    assert torch.isfinite(packed).all()
    assert torch.isfinite(padded).all()


@pytest.mark.parametrize("lengths", [[], [0], [0, 3, 0]], ids=str)
@pytest.mark.parametrize("name", READINGS)
def test_empty_rows_and_batches_of_readings(name: str, lengths: list[int]) -> None:
    settings, sizes = ModelSettings.model_validate(READINGS[name]), sizes_of(name)
    model, generator = build_model(settings, sizes).eval(), torch.Generator().manual_seed(0)
    x = drawn(settings.input, sizes.source, sum(lengths), generator)
    y = drawn(settings.decoder_input, sizes.target, sum(lengths), generator)
    packed, padded = Packed.of(lengths), Padded.of(lengths)
    for layout, source, target in (packed, x, y), (padded, packed.pad(x), packed.pad(y)):
        pair = isinstance(model, EncoderDecoder)
        output = model(source, layout, target, layout) if pair else model(source, layout)
        scores = model.scores(output)
        assert torch.isfinite(scores).all()
        if settings.output.kind == "classes":
            assert scores.shape == (len(lengths), 5)
        elif settings.output.kind == "horizon":
            assert scores.shape == (len(lengths), 5, settings.output.each)
        else:
            assert scores.shape[: output.hidden.dim()] == (*output.hidden.shape[:-1], 5)


@pytest.mark.parametrize("name", SETTINGS)
def test_half_precision_throughout(name: str) -> None:
    """A model in bfloat16 runs, forward and backward, and is near to itself in float32."""
    torch.manual_seed(0)
    model = build_model(ModelSettings.model_validate(SETTINGS[name]), Sizes(11, 11)).eval()
    x, layout = torch.randint(11, (13,)), Packed.of([4, 7, 2])
    wanted = _scores(model, x, layout)
    found = _scores(model.to(torch.bfloat16), x, layout)
    assert found.dtype == torch.bfloat16
    assert (found.float() - wanted).norm() <= 0.1 * wanted.norm()
    found.float().sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


def test_segments_that_nobody_knows_are_refused() -> None:
    model = build_model(ModelSettings.model_validate(SETTINGS["batch-normed-tagger"]), Sizes(11, 11)).eval()
    x, layout = torch.randint(11, (4,)), Packed.of([4])
    with pytest.raises(ValueError, match=r"set input\.segments"):
        model(x, layout, segments=torch.zeros_like(x))


def test_a_structure_is_not_ignored_by_compressed_attention() -> None:
    model = build_model(ModelSettings.model_validate(SETTINGS["dmca-decoder"]), Sizes(11, 11)).eval()
    layout = with_structure(Packed.of([4]), torch.ones(1, 4, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="MemoryCompressedAttention cannot obey"):
        model(torch.randint(11, (4,)), layout)
