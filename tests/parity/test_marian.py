"""The translation Transformer of 2017 against Marian as transformers has it."""

import pytest
import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from seqloom.layers.positions import Sinusoidal, SinusoidalPositions
from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.subject import Form
from tests.parity.compare import (
    FORMS,
    LENGTHS,
    SOURCE_LENGTHS,
    Batch,
    Named,
    Pair,
    agree,
    norm,
    pairs,
    pairs_stepwise,
    stacked,
    tokens,
)

VOCABULARY, ENCODER_DEPTH, DECODER_DEPTH = 29, 2, 3

CONFIG = MarianConfig(
    vocab_size=VOCABULARY,
    d_model=16,
    encoder_layers=ENCODER_DEPTH,
    decoder_layers=DECODER_DEPTH,
    encoder_attention_heads=4,
    decoder_attention_heads=2,
    encoder_ffn_dim=20,
    decoder_ffn_dim=24,
    activation_function="swish",
    scale_embedding=True,
    max_position_embeddings=16,
    dropout=0.0,
    pad_token_id=0,
    eos_token_id=1,
    forced_eos_token_id=1,
    decoder_start_token_id=0,
    attn_implementation="eager",
)

SETTINGS = ModelSettings.model_validate(
    {
        "family": "encoder-decoder",
        "width": 16,
        "input": {"kind": "tokens", "scale": True},
        "positions": {"kind": "sinusoidal", "order": "halves"},
        "norm": {"kind": "layer", "place": "post"},
        "encoder": {
            "depth": ENCODER_DEPTH,
            "mixer": {"kind": "attention", "heads": 4},
            "feed_forward": {"kind": "dense", "width": 20, "activation": "silu"},
        },
        "decoder": {
            "depth": DECODER_DEPTH,
            "mixer": {"kind": "attention", "heads": 2},
            "feed_forward": {"kind": "dense", "width": 24, "activation": "silu"},
        },
        "output": {"kind": "tokens", "bias": True},
        "tie": "all",
    }
)

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)


def marian(theirs: Named) -> Named:
    shared = theirs["model.shared.weight"]
    renamed = {"source.embedding.weight_VD": shared, "target.embedding.weight_VD": shared, "head.weight_VD": shared}
    renamed["head.bias_V"] = theirs["final_logits_bias"][0]
    for layer in range(ENCODER_DEPTH):
        renamed |= block(theirs, f"model.encoder.layers.{layer}", f"encoder.blocks.{layer}")
    for layer in range(DECODER_DEPTH):
        of, to = f"model.decoder.layers.{layer}", f"decoder.blocks.{layer}"
        renamed |= block(theirs, of, to)
        renamed |= stacked(theirs, f"{to}.cross.heads.q", f"{of}.encoder_attn.q_proj")
        renamed |= stacked(theirs, f"{to}.cross.heads.kv", f"{of}.encoder_attn.k_proj", f"{of}.encoder_attn.v_proj")
        renamed |= stacked(theirs, f"{to}.cross.heads.out", f"{of}.encoder_attn.out_proj")
        renamed |= norm(theirs, f"{to}.around_cross.norm_sum", f"{of}.encoder_attn_layer_norm")
    return renamed


def block(theirs: Named, of: str, to: str) -> Named:
    """What encoder and decoder have in common."""
    return {
        **stacked(theirs, f"{to}.mixer.heads.qkv", *(f"{of}.self_attn.{part}_proj" for part in "qkv")),
        **stacked(theirs, f"{to}.mixer.heads.out", f"{of}.self_attn.out_proj"),
        **norm(theirs, f"{to}.around_mixer.norm_sum", f"{of}.self_attn_layer_norm"),
        **stacked(theirs, f"{to}.feed_forward.layer.inputs", f"{of}.fc1"),
        **stacked(theirs, f"{to}.feed_forward.layer.out", f"{of}.fc2"),
        **norm(theirs, f"{to}.around_feed_forward.norm_sum", f"{of}.final_layer_norm"),
    }


def _pair() -> tuple[Pair, EncoderDecoder]:
    ours = build_model(SETTINGS, Sizes(VOCABULARY, VOCABULARY))
    assert isinstance(ours, EncoderDecoder)
    theirs = MarianMTModel(CONFIG)
    theirs.final_logits_bias.requires_grad_()  # a constant there, a bias here
    sinusoids = [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")]
    return Pair.of(theirs, ours, marian, constant=sinusoids), ours


def _theirs(pair: Pair, sources: list[Tensor], rows: list[Tensor]) -> list[Tensor]:
    source, batch = Batch.of(sources), Batch.of(rows)
    output = pair.theirs(
        input_ids=source.x_BT,
        attention_mask=source.real_BT.long(),
        decoder_input_ids=batch.x_BT,
        decoder_attention_mask=batch.real_BT.long(),
    )
    return batch.split(output.logits)


@every_form
def test_whole_pairs(form: Form) -> None:
    pair, ours = _pair()
    sources, rows = tokens(SOURCE_LENGTHS, VOCABULARY, seed=1), tokens(LENGTHS, VOCABULARY)
    pair.agree(pairs(ours, sources, rows, form), _theirs(pair, sources, rows))


@every_form
@pytest.mark.parametrize("capacity", [None, max(LENGTHS)], ids=["growing", "static"])
@torch.no_grad()
def test_step_by_step(form: Form, capacity: int | None) -> None:
    pair, ours = _pair()
    sources, rows = tokens(SOURCE_LENGTHS, VOCABULARY, seed=1), tokens(LENGTHS, VOCABULARY)
    steps = pairs_stepwise(ours, sources, rows, form, capacity)
    agree(steps, _theirs(pair, sources, rows), "steps of row")


def test_far_positions() -> None:
    theirs = MarianSinusoidalPositionalEmbedding(512, 64).create_weight()
    ours = SinusoidalPositions(Sinusoidal(order="halves"), 64)(torch.arange(512), torch.float32)
    agree([ours], [theirs], "sinusoids")
