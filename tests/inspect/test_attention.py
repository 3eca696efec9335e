"""Weights on demand are those of the very call, and asking changes nothing."""

import torch

from seqloom.inspect import watch_attention
from seqloom.layers.layout import Packed, Padded
from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.model_cases import SETTINGS


def _model(name: str) -> EncoderDecoder:
    torch.manual_seed(0)
    model = build_model(ModelSettings.model_validate(SETTINGS[name]), Sizes(11, 11)).eval()
    assert isinstance(model, EncoderDecoder)
    return model


def test_every_layer_of_a_transformer_is_seen_and_nothing_changes() -> None:
    model = _model("transformer-2017")
    source, target = Packed.of([3, 5]), Packed.of([4, 2])
    batch = torch.randint(11, (8,)), source, torch.randint(11, (6,)), target
    before = model(*batch).hidden
    with watch_attention(model) as seen:
        during = model(*batch).hidden
    assert torch.equal(before, during)
    assert set(seen) == {
        *(f"encoder.blocks.{layer}.mixer" for layer in (0, 1)),
        *(f"decoder.blocks.{layer}.{part}" for layer in (0, 1) for part in ("mixer", "cross")),
    }
    (cross_BHTS,) = seen["decoder.blocks.1.cross"]
    assert cross_BHTS.shape == (2, 2, 4, 5)
    torch.testing.assert_close(cross_BHTS.sum(-1)[0], torch.ones(2, 4))
    assert not cross_BHTS[0, :, :, 3:].any(), "behind the end of a source of three"
    model(*batch)
    assert len(seen["decoder.blocks.1.cross"]) == 1, "closed, it sees no more"


def test_weights_times_values_are_the_output() -> None:
    """The recomputed weights explain what the fast kernel returned."""
    model = _model("transformer-2017")
    layer = model.encoder.blocks[0].mixer
    x_BTD, layout = torch.randn(2, 5, 8), Padded.of([5, 3])
    y, _ = layer(x_BTD, layout)
    weights_BHTS = layer.weights(x_BTD, layout)
    _, _, v_BTHK = layer.heads.of_itself(layout.pad(x_BTD))
    mixed = torch.einsum("bhts,bshk->bthk", weights_BHTS, v_BTHK)
    torch.testing.assert_close(layer.heads.join(mixed)[layout.real_BT], y[layout.real_BT])


def test_a_recurrent_decoder_is_seen_as_one_and_in_steps() -> None:
    model = _model("bahdanau-model")
    memory = model.encode(torch.randint(11, (2, 6)), Padded.of([6, 4]))
    target = torch.randint(11, (2, 3))
    with watch_attention(model) as whole:
        model.step(target, Padded.whole(2, 3), model.start(memory))
    assert list(whole) == ["decoder.blocks.0.mixer"]
    state, one = model.start(memory), Padded.whole(2, 1)
    with watch_attention(model) as parts:
        for t in range(3):
            state = model.step(target[:, t : t + 1], one, state).state
    joined = torch.cat(parts["decoder.blocks.0.mixer"], 2)
    torch.testing.assert_close(joined, whole["decoder.blocks.0.mixer"][0])
