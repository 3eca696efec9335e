"""A pre-norm language model with learned positions against GPT-2 as transformers has it."""

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from seqloom.models.build import build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.subject import Form
from tests.parity.compare import FORMS, LENGTHS, Batch, Named, Pair, agree, decoder, norm, stepwise, tokens, whole

VOCABULARY, DEPTH, LONGEST = 29, 2, 16
EPSILON = 1e-3  # larger than usual, so that a wrong one shows

CONFIG = GPT2Config(
    vocab_size=VOCABULARY,
    n_embd=16,
    n_layer=DEPTH,
    n_head=4,
    n_positions=LONGEST,
    layer_norm_epsilon=EPSILON,
    embd_pdrop=0.0,
    attn_pdrop=0.0,
    resid_pdrop=0.0,
    bos_token_id=1,
    eos_token_id=1,
    attn_implementation="eager",
)

SETTINGS = ModelSettings.model_validate(
    {
        "family": "decoder-only",
        "width": 16,
        "depth": DEPTH,
        "mixer": {"kind": "attention", "heads": 4},
        "feed_forward": {"kind": "dense", "activation": "gelu-tanh"},
        "norm": {"kind": "layer", "place": "pre", "epsilon": EPSILON},
        "positions": {"kind": "learned", "length": LONGEST},
        "tie": "all",
    }
)

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
both_sides = pytest.mark.parametrize("left", [False, True], ids=["theirs-right", "theirs-left"])


def gpt2(theirs: Named) -> Named:
    shared = theirs["transformer.wte.weight"]
    renamed = {"input.embedding.weight_VD": shared, "head.weight_VD": shared}
    renamed["input.positions.weight_PD"] = theirs["transformer.wpe.weight"]
    for layer in range(DEPTH):
        of, to = f"transformer.h.{layer}", f"decoder.blocks.{layer}"
        renamed |= norm(theirs, f"{to}.around_mixer.norm_in", f"{of}.ln_1")
        renamed |= turned(theirs, f"{to}.mixer.heads.qkv", f"{of}.attn.c_attn")
        renamed |= turned(theirs, f"{to}.mixer.heads.out", f"{of}.attn.c_proj")
        renamed |= norm(theirs, f"{to}.around_feed_forward.norm_in", f"{of}.ln_2")
        renamed |= turned(theirs, f"{to}.feed_forward.layer.inputs", f"{of}.mlp.c_fc")
        renamed |= turned(theirs, f"{to}.feed_forward.layer.out", f"{of}.mlp.c_proj")
    return renamed | norm(theirs, "decoder.norm", "transformer.ln_f")


def turned(theirs: Named, to: str, name: str) -> Named:
    """GPT-2 keeps the matrices of its linear maps as inputs × outputs."""
    return {f"{to}.weight": theirs[f"{name}.weight"].T, f"{to}.bias": theirs[f"{name}.bias"]}


def _pair() -> tuple[Pair, DecoderOnly]:
    ours = build_model(SETTINGS, Sizes(VOCABULARY, VOCABULARY))
    assert isinstance(ours, DecoderOnly)
    return Pair.of(GPT2LMHeadModel(CONFIG), ours, gpt2), ours


def _theirs(pair: Pair, rows: list[Tensor], left: bool = False) -> list[Tensor]:
    batch = Batch.of(rows, left)
    output = pair.theirs(batch.x_BT, attention_mask=batch.real_BT.long(), position_ids=batch.places_BT)
    return batch.split(output.logits)


@every_form
@both_sides
def test_whole_rows(form: Form, left: bool) -> None:
    pair, ours = _pair()
    rows = tokens(LENGTHS, VOCABULARY)
    pair.agree(whole(decoder(ours), rows, form), _theirs(pair, rows, left))


@every_form
@pytest.mark.parametrize("capacity", [None, max(LENGTHS)], ids=["growing", "static"])
@torch.no_grad()
def test_step_by_step(form: Form, capacity: int | None) -> None:
    pair, ours = _pair()
    rows = tokens(LENGTHS, VOCABULARY)
    steps = stepwise(decoder(ours), rows, form, ours.start(len(rows), capacity))
    agree(steps, _theirs(pair, rows), "steps of row")
