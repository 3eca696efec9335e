"""Mixed precision: weights in float32, products in bfloat16, as in training on most GPUs."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from seqloom.layers.layout import Packed, Padded
from seqloom.models.build import build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

HEADS = {"kind": "attention", "heads": 2}
RELATIVE = [{**HEADS, "relative": {"kind": kind}} for kind in ("shaw", "music", "t5", "alibi", "rotary")]
MIXERS: list[dict[str, Any]] = [
    HEADS,
    {**HEADS, "score": "additive"},
    {**HEADS, "window": 2},
    *RELATIVE,
    {"kind": "memory-compressed", "heads": 2},
    {"kind": "recurrence"},
    {"kind": "convolution"},
    {"kind": "gated-linear", "heads": 2},
]
TOKENS = torch.tensor([1, 2, 3, 4, 0, 1, 2, 3, 4])
LAYOUT = Packed.of([6, 3])


def built(**settings: Any) -> DecoderOnly:
    torch.manual_seed(0)
    given = {"family": "decoder-only", "width": 8, "depth": 1, "mixer": HEADS, **settings}
    model = build_model(ModelSettings.model_validate(given), Sizes(5, 5))
    assert isinstance(model, DecoderOnly)
    return model


def trained(model: DecoderOnly) -> None:
    """One step's loss and gradients, about the same as in full precision."""
    exact = F.cross_entropy(model.scores(model(TOKENS, LAYOUT)), TOKENS, reduction="sum")
    with torch.autocast("cpu", torch.bfloat16):
        output = model(TOKENS, LAYOUT)
        loss = model.head.loss(output.hidden, output.layout, TOKENS)
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=0.05)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("mixer", MIXERS, ids=str)
def test_training(mixer: dict[str, Any]) -> None:
    trained(built(mixer=mixer))


def test_training_where_no_norm_brings_back_float32() -> None:
    trained(
        built(
            mixer={"kind": "convolution"},
            norm={"kind": "none"},
            residual={"kind": "none"},
            feed_forward={"kind": "none"},
        )
    )


@pytest.mark.parametrize("place", ["pre", "post", "both"])
def test_training_with_norms(place: str) -> None:
    trained(built(norm={"kind": "layer", "place": place}))


def test_training_with_normed_queries_and_keys() -> None:
    trained(built(mixer={**HEADS, "qk_norm": True}, norm={"kind": "rms", "place": "both"}))


def test_training_with_batch_norm_on_both_sides() -> None:
    model = build_model(
        ModelSettings.model_validate(
            {
                "family": "encoder-only",
                "width": 8,
                "depth": 1,
                "mixer": HEADS,
                "norm": {"kind": "batch", "place": "both"},
            }
        ),
        Sizes(5, 5),
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert model(TOKENS, LAYOUT).hidden.isfinite().all()


@pytest.mark.parametrize("capacity", [None, 4.0])
def test_training_with_experts(capacity: float | None) -> None:
    experts = {"kind": "experts", "experts": 4, "noise": False}
    trained(built(feed_forward=experts if capacity is None else {**experts, "capacity": capacity}))


@pytest.mark.parametrize("capacity", [None, 4])
@pytest.mark.parametrize("mixer", MIXERS, ids=str)
@torch.no_grad()
def test_step_by_step(mixer: dict[str, Any], capacity: int | None) -> None:
    """Rows of unequal length, of which some rest while others go on."""
    model = built(mixer=mixer).eval()
    whole = model(TOKENS[:7], Packed.of([3, 4])).hidden
    with torch.autocast("cpu", torch.bfloat16):
        state = model.start(2, capacity)
        for step, lengths in enumerate(([1, 1], [1, 1], [0, 1], [1, 1])):
            at = [min(step, 2) if step != 3 else 2, 3 + step]
            output = model(TOKENS[at][:, None], Padded.of(lengths, 1), state)
            assert output.state is not None
            state = output.state
    torch.testing.assert_close(output.hidden[:, 0].float(), whole[[2, 6]], atol=0.1, rtol=0.1)


@pytest.mark.parametrize("form", ["luong", "bahdanau"])
def test_recurrent_decoders(form: str) -> None:
    settings = {
        "width": 8,
        "depth": 1,
        "mixer": HEADS,
        "decoder": {"mixer": {"kind": "attentive-recurrence", "form": form}},
    }
    model = build_model(ModelSettings.model_validate(settings), Sizes(5, 5))
    assert isinstance(model, EncoderDecoder)
    exact = model.scores(model(TOKENS, LAYOUT, TOKENS, LAYOUT))
    with torch.autocast("cpu", torch.bfloat16):
        scores = model.scores(model(TOKENS, LAYOUT, TOKENS, LAYOUT))
    torch.testing.assert_close(scores.float(), exact, atol=0.1, rtol=0.1)
