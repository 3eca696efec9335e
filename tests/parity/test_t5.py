"""An encoder-decoder with relative buckets against T5 as transformers has it: the first, and version 1.1."""

import pytest
import torch
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Attention

from seqloom.layers.positions import T5, T5Relative
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
BUCKETS, DISTANCE = 8, 7  # few, so that short rows reach all of them
EPSILON = 1e-3  # larger than usual, so that a wrong one shows

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
both_versions = pytest.mark.parametrize("first", [True, False], ids=["1.0", "1.1"])


def config(first: bool) -> T5Config:
    return T5Config(
        vocab_size=VOCABULARY,
        d_model=16,
        d_kv=6,
        d_ff=20,
        num_heads=4,
        num_layers=ENCODER_DEPTH,
        num_decoder_layers=DECODER_DEPTH,
        relative_attention_num_buckets=BUCKETS,
        relative_attention_max_distance=DISTANCE,
        layer_norm_epsilon=EPSILON,
        feed_forward_proj="relu" if first else "gated-gelu",
        tie_word_embeddings=first,
        dropout_rate=0.0,
        attn_implementation="eager",
    )


def settings(first: bool) -> ModelSettings:
    relative = {"kind": "t5", "buckets": BUCKETS, "distance": DISTANCE}
    heads = {"kind": "attention", "heads": 4, "head_width": 6, "score": "dot", "bias": False}
    activation = "relu" if first else "gelu-tanh"
    return ModelSettings.model_validate(
        {
            "family": "encoder-decoder",
            "width": 16,
            "encoder": {"depth": ENCODER_DEPTH},
            "decoder": {"depth": DECODER_DEPTH},
            "mixer": heads | {"relative": relative},
            "feed_forward": {"kind": "dense", "width": 20, "activation": activation, "gated": not first, "bias": False},
            "norm": {"kind": "rms", "epsilon": EPSILON},
            "output": {"kind": "tokens", "scale": first},
            "tie": "all" if first else "inputs",
        }
    )


def t5(theirs: Named) -> Named:
    shared = theirs["shared.weight"]
    renamed = {"source.embedding.weight_VD": shared, "target.embedding.weight_VD": shared}
    renamed["head.weight_VD"] = theirs["lm_head.weight"]
    for side, depth in ("encoder", ENCODER_DEPTH), ("decoder", DECODER_DEPTH):
        table_MH = theirs[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        for layer in range(depth):
            of, to = f"{side}.block.{layer}.layer", f"{side}.blocks.{layer}"
            heads, last = f"{of}.0.SelfAttention", 2 if side == "decoder" else 1
            renamed[f"{to}.mixer.relative.table_MH"] = table_MH
            renamed |= stacked(theirs, f"{to}.mixer.heads.qkv", *(f"{heads}.{part}" for part in "qkv"))
            renamed |= stacked(theirs, f"{to}.mixer.heads.out", f"{heads}.o")
            renamed |= norm(theirs, f"{to}.around_mixer.norm_in", f"{of}.0.layer_norm")
            if side == "decoder":
                renamed |= cross(theirs, f"{of}.1", to)
            renamed |= feed_forward(theirs, f"{of}.{last}", to)
        renamed |= norm(theirs, f"{side}.norm", f"{side}.final_layer_norm")
    return renamed


def cross(theirs: Named, of: str, to: str) -> Named:
    heads = f"{of}.EncDecAttention"
    return {
        **stacked(theirs, f"{to}.cross.heads.q", f"{heads}.q"),
        **stacked(theirs, f"{to}.cross.heads.kv", f"{heads}.k", f"{heads}.v"),
        **stacked(theirs, f"{to}.cross.heads.out", f"{heads}.o"),
        **norm(theirs, f"{to}.around_cross.norm_in", f"{of}.layer_norm"),
    }


def feed_forward(theirs: Named, of: str, to: str) -> Named:
    dense = f"{of}.DenseReluDense"
    gated = f"{dense}.wi_0.weight" in theirs
    return {
        **stacked(
            theirs,
            f"{to}.feed_forward.layer.inputs",
            *([f"{dense}.wi_0", f"{dense}.wi_1"] if gated else [f"{dense}.wi"]),
        ),
        **stacked(theirs, f"{to}.feed_forward.layer.out", f"{dense}.wo"),
        **norm(theirs, f"{to}.around_feed_forward.norm_in", f"{of}.layer_norm"),
    }


def _pair(first: bool) -> tuple[Pair, EncoderDecoder]:
    ours = build_model(settings(first), Sizes(VOCABULARY, VOCABULARY))
    assert isinstance(ours, EncoderDecoder)
    theirs = T5ForConditionalGeneration(config(first))
    if not first:
        # 1.1 shares its inputs and has an output of its own; transformers unties it only when a checkpoint says so
        theirs.lm_head.weight = nn.Parameter(theirs.lm_head.weight.detach().clone())
    return Pair.of(theirs, ours, t5), ours


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
@both_versions
def test_whole_pairs(form: Form, first: bool) -> None:
    pair, ours = _pair(first)
    sources, rows = tokens(SOURCE_LENGTHS, VOCABULARY, seed=1), tokens(LENGTHS, VOCABULARY)
    pair.agree(pairs(ours, sources, rows, form), _theirs(pair, sources, rows))


@every_form
@both_versions
@pytest.mark.parametrize("capacity", [None, max(LENGTHS)], ids=["growing", "static"])
@torch.no_grad()
def test_step_by_step(form: Form, first: bool, capacity: int | None) -> None:
    pair, ours = _pair(first)
    sources, rows = tokens(SOURCE_LENGTHS, VOCABULARY, seed=1), tokens(LENGTHS, VOCABULARY)
    steps = pairs_stepwise(ours, sources, rows, form, capacity)
    agree(steps, _theirs(pair, sources, rows), "steps of row")


@pytest.mark.parametrize("causal", [False, True], ids=["both-directions", "causal"])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 20), (12, 50)])
def test_buckets(causal: bool, buckets: int, distance: int) -> None:
    away = torch.arange(-300, 301)
    ours = T5Relative(T5(buckets=buckets, distance=distance), 1, causal).bucket(away)
    theirs = T5Attention._relative_position_bucket(away, not causal, buckets, distance)
    assert torch.equal(ours, theirs)
