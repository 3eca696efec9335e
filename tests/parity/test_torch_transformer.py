"""Stacks and a whole encoder-decoder against torch.nn.TransformerEncoder, TransformerDecoder and Transformer."""
# B rows  T steps  D width

from functools import partial
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from seqloom.layers.layout import Layout, Packed
from seqloom.layers.mixer import Memory
from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.models.stack import Stack
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
    stacked,
    stepwise,
    vectors,
    whole,
)

WIDTH, HEADS, HIDDEN, DEPTH = 12, 3, 20, 2
EPSILON = 1e-3  # larger than usual, so that a wrong one shows

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)
both_norms = pytest.mark.parametrize("place", ["pre", "post"])
both_activations = pytest.mark.parametrize("activation", ["relu", "gelu"])

Place = Literal["pre", "post"]
Activation = Literal["relu", "gelu"]


def settings(place: Place, activation: Activation) -> ModelSettings:
    """Vectors in and out; torch ends each stack with a norm, whichever the place of the others."""
    return ModelSettings.model_validate(
        {
            "family": "encoder-decoder",
            "width": WIDTH,
            "depth": DEPTH,
            "mixer": {"kind": "attention", "heads": HEADS},
            "feed_forward": {"kind": "dense", "width": HIDDEN, "activation": activation},
            "norm": {"kind": "layer", "place": place, "final": True, "epsilon": EPSILON},
            "input": {"kind": "vectors"},
            "output": {"kind": "numbers"},
        }
    )


def stack(theirs: Named, their: str, our: str, place: Place, crosses: bool) -> Named:
    """torch numbers the norms of a layer in the order of their use."""
    around = "norm_in" if place == "pre" else "norm_sum"
    renamed = norm(theirs, f"{our}norm", f"{their}norm")
    for layer in range(DEPTH):
        of, to = f"{their}layers.{layer}", f"{our}blocks.{layer}"
        renamed |= {f"{to}.mixer.heads.qkv.{kind}": theirs[f"{of}.self_attn.in_proj_{kind}"] for kind in _KINDS}
        renamed |= stacked(theirs, f"{to}.mixer.heads.out", f"{of}.self_attn.out_proj")
        if crosses:
            for kind in _KINDS:
                q, kv = theirs[f"{of}.multihead_attn.in_proj_{kind}"].split([WIDTH, 2 * WIDTH])
                renamed |= {f"{to}.cross.heads.q.{kind}": q, f"{to}.cross.heads.kv.{kind}": kv}
            renamed |= stacked(theirs, f"{to}.cross.heads.out", f"{of}.multihead_attn.out_proj")
        renamed |= stacked(theirs, f"{to}.feed_forward.layer.inputs", f"{of}.linear1")
        renamed |= stacked(theirs, f"{to}.feed_forward.layer.out", f"{of}.linear2")
        for number, name in enumerate(["mixer", "cross", "feed_forward"] if crosses else ["mixer", "feed_forward"]):
            renamed |= norm(theirs, f"{to}.around_{name}.{around}", f"{of}.norm{number + 1}")
    return renamed


_KINDS = ("weight", "bias")


def transformer(theirs: Named, place: Place) -> Named:
    encoder = stack(theirs, "encoder.", "encoder.", place, crosses=False)
    return encoder | stack(theirs, "decoder.", "decoder.", place, crosses=True)


def _layer(place: Place, activation: Activation) -> dict[str, Any]:
    common = {"dropout": 0.0, "activation": activation, "layer_norm_eps": EPSILON, "batch_first": True}
    return common | {"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": HIDDEN, "norm_first": place == "pre"}


def _encoder(place: Place, activation: Activation) -> tuple[Pair, Stack]:
    ours = Stack(settings(place, activation).side("encoder"), WIDTH, causal=False)
    layer = nn.TransformerEncoderLayer(**_layer(place, activation))
    theirs = nn.TransformerEncoder(layer, DEPTH, nn.LayerNorm(WIDTH, EPSILON), enable_nested_tensor=False)
    return Pair.of(theirs, ours, partial(stack, their="", our="", place=place, crosses=False)), ours


def _decoder(place: Place, activation: Activation) -> tuple[Pair, Stack]:
    ours = Stack(settings(place, activation).side("decoder"), WIDTH, causal=True, crosses=True)
    theirs = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(**_layer(place, activation)), DEPTH, nn.LayerNorm(WIDTH, EPSILON)
    )
    return Pair.of(theirs, ours, partial(stack, their="", our="", place=place, crosses=True)), ours


def _whole(place: Place, activation: Activation) -> tuple[Pair, EncoderDecoder]:
    """torch has no inputs and outputs here: our input maps are made identities, and the head is not asked."""
    ours = build_model(settings(place, activation), Sizes(WIDTH, WIDTH))
    assert isinstance(ours, EncoderDecoder)
    own = [name for name in ours.state_dict() if not name.startswith(("encoder.", "decoder."))]
    theirs = nn.Transformer(num_encoder_layers=DEPTH, num_decoder_layers=DEPTH, **_layer(place, activation))
    for side in ours.source, ours.target:
        for parameter in side.parameters():
            nn.init.eye_(parameter) if parameter.dim() == 2 else nn.init.zeros_(parameter)
    return Pair.of(theirs, ours, partial(transformer, place=place), own=own), ours


def _future(batch: Batch) -> Tensor:
    T = batch.x_BT.shape[1]
    return torch.ones(T, T, dtype=torch.bool).triu(1)


@every_form
@both_norms
@both_activations
def test_encoder(form: Form, place: Place, activation: Activation) -> None:
    pair, ours = _encoder(place, activation)
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    batch = Batch.of(their_rows)
    theirs_BTD = pair.theirs(batch.x_BT, src_key_padding_mask=~batch.real_BT)
    pair.agree(whole(_run(ours), rows, form), batch.split(theirs_BTD), rows, their_rows)


@every_form
@both_norms
@both_activations
def test_decoder(form: Form, place: Place, activation: Activation) -> None:
    pair, ours = _decoder(place, activation)
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    sources, their_sources = (vectors(SOURCE_LENGTHS, WIDTH, seed=1) for _ in range(2))
    batch, source = Batch.of(their_rows), Batch.of(their_sources)
    theirs_BTD = _their_decoder(pair.theirs, batch, source)
    memory = Memory(torch.cat(sources), Packed.of(SOURCE_LENGTHS))
    y = whole(_run(ours), rows, form, ours.begin(len(rows), memory))
    pair.agree(y, batch.split(theirs_BTD), rows + sources, their_rows + their_sources)
    with torch.no_grad():
        steps = stepwise(_run(ours), rows, form, ours.start(len(rows), memory))
    agree(steps, batch.split(theirs_BTD), "steps of row")


def _their_decoder(decoder: nn.Module, batch: Batch, source: Batch) -> Tensor:
    y_BTD: Tensor = decoder(
        batch.x_BT,
        source.x_BT,
        tgt_mask=_future(batch),
        tgt_key_padding_mask=~batch.real_BT,
        memory_key_padding_mask=~source.real_BT,
    )
    return y_BTD


def _run(ours: Stack) -> Any:
    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Any]:
        y, after, _ = ours(x, layout, state)
        return y, after

    return run


# torch says that it will not take its own short cut when norms come first; nothing here relies on it
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@every_form
@both_norms
@both_activations
def test_whole_transformer(form: Form, place: Place, activation: Activation) -> None:
    pair, ours = _whole(place, activation)
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    sources, their_sources = (vectors(SOURCE_LENGTHS, WIDTH, seed=1) for _ in range(2))
    batch, source = Batch.of(their_rows), Batch.of(their_sources)
    theirs_BTD = pair.theirs(
        source.x_BT,
        batch.x_BT,
        tgt_mask=_future(batch),
        src_key_padding_mask=~source.real_BT,
        tgt_key_padding_mask=~batch.real_BT,
        memory_key_padding_mask=~source.real_BT,
    )
    source_layout, layout = form.layout(SOURCE_LENGTHS), form.layout(LENGTHS)
    output = ours(form.join(sources, source_layout), source_layout, form.join(rows, layout), layout)
    y = form.split(output.hidden, layout, LENGTHS)
    pair.agree(y, batch.split(theirs_BTD), rows + sources, their_rows + their_sources)
