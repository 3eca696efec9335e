"""Settings → model."""

from typing import assert_never

from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

Model = EncoderOnly | DecoderOnly | EncoderDecoder


def build_model(settings: ModelSettings, sizes: Sizes) -> Model:
    match settings.family:
        case "encoder-only":
            return EncoderOnly(settings, sizes)
        case "decoder-only":
            return DecoderOnly(settings, sizes)
        case "encoder-decoder":
            return EncoderDecoder(settings, sizes)
        case _:
            assert_never(settings.family)
