"""A language model with rotary positions, grouped queries and a gated feed-forward against Llama in transformers."""
# T steps  H heads  K head width

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from seqloom.layers.positions import Rotary, RotaryRelative
from seqloom.models.build import build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.subject import Form
from tests.parity.compare import (
    FORMS,
    LENGTHS,
    Batch,
    Named,
    Pair,
    agree,
    decoder,
    norm,
    stacked,
    stepwise,
    tokens,
    whole,
)

VOCABULARY, DEPTH, BASE = 29, 2, 500.0
EPSILON = 1e-3  # larger than usual, so that a wrong one shows

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
both_sides = pytest.mark.parametrize("left", [False, True], ids=["theirs-right", "theirs-left"])
tied_or_not = pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])


def config(tied: bool) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=DEPTH,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=6,
        intermediate_size=20,
        rms_norm_eps=EPSILON,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
        max_position_embeddings=4096,
        tie_word_embeddings=tied,
        attn_implementation="eager",
    )


def settings(tied: bool) -> ModelSettings:
    relative = {"kind": "rotary", "base": BASE, "order": "halves"}
    return ModelSettings.model_validate(
        {
            "family": "decoder-only",
            "width": 16,
            "depth": DEPTH,
            "mixer": {
                "kind": "attention",
                "heads": 4,
                "key_heads": 2,
                "head_width": 6,
                "bias": False,
                "relative": relative,
            },
            "feed_forward": {"kind": "dense", "width": 20, "activation": "silu", "gated": True, "bias": False},
            "norm": {"kind": "rms", "epsilon": EPSILON},
            "tie": "all" if tied else "none",
        }
    )


def llama(theirs: Named) -> Named:
    renamed = {"input.embedding.weight_VD": theirs["model.embed_tokens.weight"]}
    renamed["head.weight_VD"] = theirs["lm_head.weight"]
    for layer in range(DEPTH):
        of, to = f"model.layers.{layer}", f"decoder.blocks.{layer}"
        renamed |= norm(theirs, f"{to}.around_mixer.norm_in", f"{of}.input_layernorm")
        renamed |= stacked(theirs, f"{to}.mixer.heads.qkv", *(f"{of}.self_attn.{part}_proj" for part in "qkv"))
        renamed |= stacked(theirs, f"{to}.mixer.heads.out", f"{of}.self_attn.o_proj")
        renamed |= norm(theirs, f"{to}.around_feed_forward.norm_in", f"{of}.post_attention_layernorm")
        renamed |= stacked(theirs, f"{to}.feed_forward.layer.inputs", f"{of}.mlp.gate_proj", f"{of}.mlp.up_proj")
        renamed |= stacked(theirs, f"{to}.feed_forward.layer.out", f"{of}.mlp.down_proj")
    return renamed | norm(theirs, "decoder.norm", "model.norm")


def _pair(tied: bool) -> tuple[Pair, DecoderOnly]:
    ours = build_model(settings(tied), Sizes(VOCABULARY, VOCABULARY))
    assert isinstance(ours, DecoderOnly)
    return Pair.of(LlamaForCausalLM(config(tied)), ours, llama), ours


def _theirs(pair: Pair, rows: list[Tensor], left: bool = False) -> list[Tensor]:
    batch = Batch.of(rows, left)
    output = pair.theirs(batch.x_BT, attention_mask=batch.real_BT.long(), position_ids=batch.places_BT)
    return batch.split(output.logits)


@every_form
@both_sides
@tied_or_not
def test_whole_rows(form: Form, left: bool, tied: bool) -> None:
    pair, ours = _pair(tied)
    rows = tokens(LENGTHS, VOCABULARY)
    pair.agree(whole(decoder(ours), rows, form), _theirs(pair, rows, left))


@every_form
@pytest.mark.parametrize("capacity", [None, max(LENGTHS)], ids=["growing", "static"])
@torch.no_grad()
def test_step_by_step(form: Form, capacity: int | None) -> None:
    pair, ours = _pair(tied=False)
    rows = tokens(LENGTHS, VOCABULARY)
    steps = stepwise(decoder(ours), rows, form, ours.start(len(rows), capacity))
    agree(steps, _theirs(pair, rows), "steps of row")


def test_far_positions() -> None:
    at_T = torch.arange(4096)
    x_THK = torch.randn(len(at_T), 2, 64, generator=torch.Generator().manual_seed(0))
    rotary = LlamaRotaryEmbedding(LlamaConfig(hidden_size=128, num_attention_heads=2))
    cos_1TK, sin_1TK = rotary(x_THK, at_T[None])
    theirs_1THK, _ = apply_rotary_pos_emb(x_THK[None], x_THK[None], cos_1TK, sin_1TK, unsqueeze_dim=2)
    agree([RotaryRelative(Rotary(), 64).turn(x_THK, at_T)], [theirs_1THK[0]], "turned")
