"""Attention against torch.nn.MultiheadAttention."""
# B rows  H heads  T queries  S keys  D width

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention
from seqloom.layers.layout import Packed
from seqloom.layers.mixer import Memory
from tests.laws.subject import Form
from tests.parity.compare import FORMS, LENGTHS, SOURCE_LENGTHS, Batch, Named, Pair, agree, stepwise, vectors, whole

WIDTH, HEADS, MEMORY_WIDTH = 12, 3, 10

every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.kind)


def self_attention(theirs: Named) -> Named:
    """Ours has the three maps in one, in the same order."""
    return {
        "heads.qkv.weight": theirs["in_proj_weight"],
        "heads.qkv.bias": theirs["in_proj_bias"],
        "heads.out.weight": theirs["out_proj.weight"],
        "heads.out.bias": theirs["out_proj.bias"],
    }


def memory_attention(theirs: Named) -> Named:
    """Theirs keeps three maps apart when the memory has another width, and all biases in one."""
    q_bias, kv_bias = theirs["in_proj_bias"].split([WIDTH, 2 * WIDTH])
    return {
        "heads.q.weight": theirs["q_proj_weight"],
        "heads.q.bias": q_bias,
        "heads.kv.weight": torch.cat((theirs["k_proj_weight"], theirs["v_proj_weight"])),
        "heads.kv.bias": kv_bias,
        "heads.out.weight": theirs["out_proj.weight"],
        "heads.out.bias": theirs["out_proj.bias"],
    }


def _self_pair(causal: bool) -> tuple[Pair, SelfAttention]:
    ours = SelfAttention(Attention(heads=HEADS), WIDTH, causal)
    return Pair.of(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), ours, self_attention), ours


def _cross_pair() -> tuple[Pair, MemoryAttention]:
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, kdim=MEMORY_WIDTH, vdim=MEMORY_WIDTH)
    ours = MemoryAttention(CrossAttention(heads=HEADS), WIDTH, MEMORY_WIDTH)
    return Pair.of(theirs, ours, memory_attention), ours


def _theirs(module: nn.Module, queries: Batch, keys: Batch, causal: bool) -> tuple[Tensor, Tensor]:
    hidden_TS = torch.ones(queries.x_BT.shape[1], keys.x_BT.shape[1], dtype=torch.bool).triu(1) if causal else None
    y_BTD, weights_BHTS = module(
        queries.x_BT,
        keys.x_BT,
        keys.x_BT,
        key_padding_mask=~keys.real_BT,
        attn_mask=hidden_TS,
        average_attn_weights=False,
    )
    return y_BTD, weights_BHTS


def _cut(weights_BHTS: Tensor, queries: tuple[int, ...], keys: tuple[int, ...]) -> list[Tensor]:
    return [w_HTS[:, :t, :s] for w_HTS, t, s in zip(weights_BHTS, queries, keys, strict=True)]


@every_form
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_self_attention(form: Form, causal: bool) -> None:
    pair, mixer = _self_pair(causal)
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    batch = Batch.of(their_rows)
    y_BTD, weights_BHTS = _theirs(pair.theirs, batch, batch, causal)
    pair.agree(whole(mixer, rows, form), batch.split(y_BTD), rows, their_rows)
    layout = form.layout(LENGTHS)
    seen_BHTS = mixer.weights(form.join(rows, layout), layout)
    agree(_cut(seen_BHTS, LENGTHS, LENGTHS), _cut(weights_BHTS, LENGTHS, LENGTHS), "weights of row")


@every_form
@pytest.mark.parametrize("capacity", [None, max(LENGTHS)], ids=["growing", "static"])
@torch.no_grad()
def test_self_attention_step_by_step(form: Form, capacity: int | None) -> None:
    pair, mixer = _self_pair(causal=True)
    rows = vectors(LENGTHS, WIDTH)
    batch = Batch.of(rows)
    y_BTD, _ = _theirs(pair.theirs, batch, batch, causal=True)
    agree(stepwise(mixer, rows, form, mixer.start(len(rows), None, capacity)), batch.split(y_BTD), "steps of row")


@every_form
@pytest.mark.parametrize("source_form", FORMS, ids=lambda form: f"source-{form.kind}")
def test_memory_attention(form: Form, source_form: Form) -> None:
    pair, mixer = _cross_pair()
    rows, their_rows = vectors(LENGTHS, WIDTH), vectors(LENGTHS, WIDTH)
    sources, their_sources = (vectors(SOURCE_LENGTHS, MEMORY_WIDTH, seed=1) for _ in range(2))
    queries, keys = Batch.of(their_rows), Batch.of(their_sources)
    y_BTD, weights_BHTS = _theirs(pair.theirs, queries, keys, causal=False)
    source_layout = source_form.layout(SOURCE_LENGTHS)
    state = mixer.start(len(rows), Memory(source_form.join(sources, source_layout), source_layout))
    ours = whole(mixer, rows, form, state)
    pair.agree(ours, queries.split(y_BTD), rows + sources, their_rows + their_sources)
    layout = form.layout(LENGTHS)
    seen_BHTS = mixer.weights(form.join(rows, layout), layout, state)
    cut = partial(_cut, queries=LENGTHS, keys=SOURCE_LENGTHS)
    agree(cut(seen_BHTS), cut(weights_BHTS), "weights of row")


@every_form
@torch.no_grad()
def test_memory_attention_step_by_step(form: Form) -> None:
    pair, mixer = _cross_pair()
    rows, sources = vectors(LENGTHS, WIDTH), vectors(SOURCE_LENGTHS, MEMORY_WIDTH, seed=1)
    queries = Batch.of(rows)
    y_BTD, _ = _theirs(pair.theirs, queries, Batch.of(sources), causal=False)
    state = mixer.start(len(rows), Memory(torch.cat(sources), Packed.of(SOURCE_LENGTHS)))
    agree(stepwise(mixer, rows, form, state), queries.split(y_BTD), "steps of row")
