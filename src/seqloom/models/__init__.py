"""Blocks, stacks and whole models: encoder-only, decoder-only, encoder-decoder."""

from seqloom.models.build import Model, build_model
from seqloom.models.cost import model_cost, training_flops
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.first_vectors import start_vectors
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

__all__ = [
    "DecoderOnly",
    "EncoderDecoder",
    "EncoderOnly",
    "Model",
    "ModelSettings",
    "Sizes",
    "build_model",
    "model_cost",
    "start_vectors",
    "training_flops",
]
