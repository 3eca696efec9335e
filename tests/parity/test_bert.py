"""A post-norm encoder with segments against BERT, with its masked-token head, as transformers has it."""

import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

from seqloom.layers.layout import Layout
from seqloom.models.build import build_model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.subject import Form
from tests.parity.compare import FORMS, LENGTHS, Batch, Named, Pair, norm, stacked, tokens, whole

VOCABULARY, DEPTH, LONGEST, SEGMENTS = 29, 2, 16, 3
EPSILON = 1e-3  # larger than usual, so that a wrong one shows

CONFIG = BertConfig(
    vocab_size=VOCABULARY,
    hidden_size=16,
    num_hidden_layers=DEPTH,
    num_attention_heads=4,
    intermediate_size=20,
    max_position_embeddings=LONGEST,
    type_vocab_size=SEGMENTS,
    layer_norm_eps=EPSILON,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    attn_implementation="eager",
)

SETTINGS = ModelSettings.model_validate(
    {
        "family": "encoder-only",
        "width": 16,
        "depth": DEPTH,
        "input": {"kind": "tokens", "segments": SEGMENTS, "norm": True},
        "mixer": {"kind": "attention", "heads": 4},
        "feed_forward": {"kind": "dense", "width": 20, "activation": "gelu"},
        "norm": {"kind": "layer", "place": "post", "epsilon": EPSILON},
        "positions": {"kind": "learned", "length": LONGEST},
        "output": {"kind": "tokens", "bias": True, "transform": "gelu"},
        "tie": "all",
    }
)

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)


def bert(theirs: Named) -> Named:
    shared = theirs["bert.embeddings.word_embeddings.weight"]
    renamed = {
        "input.embedding.weight_VD": shared,
        "input.embedding.segment_SD": theirs["bert.embeddings.token_type_embeddings.weight"],
        "input.positions.weight_PD": theirs["bert.embeddings.position_embeddings.weight"],
        "head.weight_VD": shared,
        "head.bias_V": theirs["cls.predictions.bias"],
    }
    renamed |= norm(theirs, "input.norm", "bert.embeddings.LayerNorm")
    for layer in range(DEPTH):
        of, to = f"bert.encoder.layer.{layer}", f"encoder.blocks.{layer}"
        parts = (f"{of}.attention.self.{part}" for part in ("query", "key", "value"))
        renamed |= stacked(theirs, f"{to}.mixer.heads.qkv", *parts)
        renamed |= stacked(theirs, f"{to}.mixer.heads.out", f"{of}.attention.output.dense")
        renamed |= norm(theirs, f"{to}.around_mixer.norm_sum", f"{of}.attention.output.LayerNorm")
        renamed |= stacked(theirs, f"{to}.feed_forward.layer.inputs", f"{of}.intermediate.dense")
        renamed |= stacked(theirs, f"{to}.feed_forward.layer.out", f"{of}.output.dense")
        renamed |= norm(theirs, f"{to}.around_feed_forward.norm_sum", f"{of}.output.LayerNorm")
    renamed |= stacked(theirs, "head.transform.dense", "cls.predictions.transform.dense")
    return renamed | norm(theirs, "head.transform.norm", "cls.predictions.transform.LayerNorm")


def _pair() -> tuple[Pair, EncoderOnly]:
    ours = build_model(SETTINGS, Sizes(VOCABULARY, VOCABULARY))
    assert isinstance(ours, EncoderOnly)
    return Pair.of(BertForMaskedLM(CONFIG), ours, bert), ours


def _segments() -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randint(SEGMENTS, (n,), generator=generator) for n in LENGTHS]


@every_form
@pytest.mark.parametrize("segmented", [True, False], ids=["segments", "no-segments"])
def test_whole_rows(form: Form, segmented: bool) -> None:
    """Rows without segments are all of the first kind, for both."""
    pair, ours = _pair()
    rows, kinds = tokens(LENGTHS, VOCABULARY), _segments()
    batch, kinds_BT = Batch.of(rows), Batch.of(kinds).x_BT if segmented else None
    theirs = pair.theirs(batch.x_BT, attention_mask=batch.real_BT.long(), token_type_ids=kinds_BT)

    def run(x: Tensor, layout: Layout, _: None) -> tuple[Tensor, None]:
        return ours.scores(ours(x, layout, form.join(kinds, layout) if segmented else None)), None

    pair.agree(whole(run, rows, form), batch.split(theirs.logits))
