"""The demo's model: the 2017 Transformer, made small."""

from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes


def build(vocabulary: int) -> EncoderDecoder:
    settings = ModelSettings.model_validate(
        {
            "width": 64,
            "depth": 2,
            "mixer": {"kind": "attention", "heads": 4},
            "positions": {"kind": "sinusoidal"},
            "input": {"kind": "tokens", "scale": True},
            "tie": "all",
        }
    )
    return EncoderDecoder(settings, Sizes(vocabulary, vocabulary))
