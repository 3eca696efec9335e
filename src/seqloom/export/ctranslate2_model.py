"""A model's weights as CTranslate2 has them. It is no dependency: whoever calls this has it installed."""
# V tokens  D width  P positions

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seqloom.export.ctranslate2_fit import ACTIVATIONS, misfit
from seqloom.layers.dense import Dense, DenseFeedForward
from seqloom.layers.embedding import TokenEmbedding
from seqloom.layers.norms import Norm, RMSNorm
from seqloom.layers.positions.absolute import Learned, LearnedPositions, SinusoidalPositions
from seqloom.models.block import Around, Block
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.heads import TokenHead
from seqloom.models.input import Input
from seqloom.models.stack import Stack
from seqloom.models.stack_settings import StackSettings

POSITIONS = 2048
"""Of a side whose positions do not end: their vectors are written down, as its own sinusoids are others."""


def positions(network: EncoderDecoder) -> tuple[int, int]:
    """How many tokens the source and the target may have, with their marks."""
    each = network.settings.side("encoder").positions, network.settings.side("decoder").positions
    source, target = (one.length if isinstance(one, Learned) else POSITIONS for one in each)
    return source, target


def convert(network: EncoderDecoder, folder: Path, begin: int, end: int, unknown: int) -> None:
    """Into a new folder. Tokens are named by their numbers; a source ends with the end mark, as ours does."""
    from ctranslate2.specs import transformer_spec

    assert misfit(network.settings) is None
    encoder, decoder = network.settings.side("encoder"), network.settings.side("decoder")
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(encoder.depth, **_kinds(encoder, network.source)),
        transformer_spec.TransformerDecoderSpec(decoder.depth, **_kinds(decoder, network.target)),
    )
    _stack(network.encoder, spec.encoder)
    _stack(network.decoder, spec.decoder)
    spec.encoder.embeddings[0].weight = _input(network.source, spec.encoder)
    spec.decoder.embeddings.weight = _input(network.target, spec.decoder)
    head = network.head
    assert isinstance(head, TokenHead)
    # the same array as the vectors, where both are tied: it is then saved once
    tied = network.settings.tie in ("output", "all") and head.factor == 1
    weight = spec.decoder.embeddings.weight if tied else _array(head.weight_VD * head.factor)
    spec.decoder.projection.weight = weight
    if head.bias_V is not None:
        spec.decoder.projection.bias = _array(head.bias_V)
    names = [str(token) for token in range(max(network.sizes.source, network.sizes.target))]
    spec.register_source_vocabulary(names[: len(network.source.vectors)])
    spec.register_target_vocabulary(names[: len(network.target.vectors)])
    spec.config.unk_token, spec.config.eos_token = names[unknown], names[end]
    spec.config.bos_token = spec.config.decoder_start_token = names[begin]
    spec.config.layer_norm_epsilon = encoder.norm.epsilon  # type: ignore[union-attr]
    folder.mkdir()
    spec.validate()
    spec.save(str(folder))


def _kinds(stack: StackSettings, given: Input) -> dict[str, Any]:
    """What CTranslate2 is told in words, not by weights."""
    from ctranslate2.specs import common_spec

    inner, mixer = stack.feed_forwards()[0], stack.mixers()[0]
    assert isinstance(inner, Dense)
    return {
        "num_heads": mixer.heads,  # type: ignore[union-attr]
        "pre_norm": stack.norm.place == "pre",
        "no_final_norm": not stack.norm.ends,
        "activation": common_spec.Activation[ACTIVATIONS[inner.activation]],
        "layernorm_embedding": given.norm is not None,
        "ffn_glu": inner.gated,
        "rms_norm": isinstance(stack.norm, RMSNorm),
    }


def _stack(stack: Stack, to: Any) -> None:
    for block, layer in zip(stack.blocks, to.layer, strict=True):
        assert isinstance(block, Block)
        mixer: Any = block.mixer
        _linear(mixer.heads.qkv, layer.self_attention.linear[0])
        _linear(mixer.heads.out, layer.self_attention.linear[1])
        _norm(block.around_mixer, layer.self_attention.layer_norm)
        if block.cross is not None:
            cross: Any = block.cross
            for place, map_ in enumerate((cross.heads.q, cross.heads.kv, cross.heads.out)):
                _linear(map_, layer.attention.linear[place])
            _norm(block.around_cross, layer.attention.layer_norm)
        _feed_forward(block, layer.ffn)
    if stack.norm is not None:
        _norm(stack.norm, to.layer_norm)


def _feed_forward(block: Block, to: Any) -> None:
    inner = block.feed_forward.layer  # type: ignore[union-attr]
    assert isinstance(inner, DenseFeedForward)
    if inner.gated:
        _linear(inner.inputs, to.linear_0, slice(None, inner.inputs.out_features // 2))
        _linear(inner.inputs, to.linear_0_noact, slice(inner.inputs.out_features // 2, None))
    else:
        _linear(inner.inputs, to.linear_0)
    _linear(inner.out, to.linear_1)
    _norm(block.around_feed_forward, to.layer_norm)


def _linear(ours: nn.Linear, to: Any, rows: slice = slice(None)) -> None:
    to.weight = _array(ours.weight[rows])
    if ours.bias is not None:
        to.bias = _array(ours.bias[rows])


def _norm(around: Around | nn.Module | None, to: Any) -> None:
    norm = (around.norm_in or around.norm_sum) if isinstance(around, Around) else around
    assert isinstance(norm, Norm)
    to.gamma = _array(torch.ones(norm.width) if norm.gain_D is None else norm.gain_D)
    if hasattr(to, "beta"):
        to.beta = _array(torch.zeros(norm.width) if norm.bias_D is None else norm.bias_D)


def _input(ours: Input, to: Any) -> np.ndarray:
    """Positions and norm; the token vectors are handed back."""
    assert isinstance(ours.embedding, TokenEmbedding)
    to.scale_embeddings = ours.embedding.factor != 1
    to.position_encodings.encodings = _array(_places(ours, ours.vectors.shape[1]))
    if ours.norm is not None:
        _norm(ours.norm, to.layernorm_embedding)
    return _array(ours.vectors)


def _places(ours: Input, width: int) -> Tensor:
    match ours.positions:
        case LearnedPositions() as learned:
            return learned.weight_PD.detach()
        case SinusoidalPositions() as sines:
            return sines._sines(torch.arange(POSITIONS), torch.float32)
        case _:
            return torch.zeros(POSITIONS, width)


def _array(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().float().numpy())
