"""Tiny models of each kind, and all that they could say, scored by whole passes."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from seqloom.layers.layout import Padded
from seqloom.models import DecoderOnly, EncoderDecoder, Sizes, build_model
from seqloom.models.settings import ModelSettings

BEGIN, END, SIZE = 0, 1, 5

BASE: dict[str, Any] = {"width": 8, "depth": 1, "feed_forward": {"kind": "none"}, "norm": {"kind": "none"}}
PAIRS: dict[str, dict[str, Any]] = {
    "attention": {**BASE, "mixer": {"kind": "attention", "heads": 2}, "positions": {"kind": "sinusoidal"}},
    "convolution": {**BASE, "mixer": {"kind": "convolution"}, "cross": {"kind": "attention", "heads": 1}},
    "recurrence": {
        **BASE,
        "encoder": {"mixer": {"kind": "recurrence", "cell": "gru", "direction": "both"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence", "form": "bahdanau", "cell": "gru"}},
        "residual": {"kind": "none"},
    },
    "bottleneck": {
        **BASE,
        "encoder": {"mixer": {"kind": "recurrence", "cell": "lstm"}},
        "decoder": {"mixer": {"kind": "recurrence", "initial": "memory"}, "cross": {"kind": "bottleneck"}},
        "residual": {"kind": "none"},
    },
}


def pair_model(name: str, seed: int, size: int = SIZE, sharpness: float = 1.5) -> EncoderDecoder:
    """sharpness: weights are so much larger, so that what is likely depends on what was said."""
    torch.manual_seed(seed)
    model = build_model(ModelSettings.model_validate(PAIRS[name]), Sizes(size, size))
    assert isinstance(model, EncoderDecoder)
    return _sharp(model, sharpness)


def text_model(seed: int, size: int = SIZE, sharpness: float = 1.5) -> DecoderOnly:
    torch.manual_seed(seed)
    settings = ModelSettings.model_validate({**PAIRS["attention"], "family": "decoder-only"})
    model = build_model(settings, Sizes(size, size))
    assert isinstance(model, DecoderOnly)
    return _sharp(model, sharpness)


def _sharp(model: Any, sharpness: float) -> Any:
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(sharpness)
    return model.eval()


@torch.no_grad()
def read(model: EncoderDecoder, source: Sequence[int], answers: Sequence[Sequence[int]]) -> Tensor:
    """log_probs_ATV behind the begin mark and each token of some answers of one length: a whole pass."""
    given = torch.tensor([[BEGIN, *answer] for answer in answers])
    sources = torch.tensor([[*source, END]] * len(answers))
    layouts = [Padded.whole(*tokens.shape) for tokens in (sources, given)]
    return model.scores(model(sources, layouts[0], given, layouts[1])).double().log_softmax(-1)


def everything(
    model: EncoderDecoder, source: Sequence[int], shortest: int, longest: int, size: int = SIZE
) -> Iterator[tuple[tuple[int, ...], list[float]]]:
    """Each answer that ends, and the log_probs of its tokens and of the end mark."""
    for length in range(shortest, longest + 1):
        answers = list(product([token for token in range(size) if token != END], repeat=length))
        log_probs_ATV = read(model, source, answers)
        goal_AT = torch.tensor([[*answer, END] for answer in answers])
        each = log_probs_ATV.gather(2, goal_AT[..., None])[..., 0].tolist()
        yield from zip(answers, each, strict=True)


@torch.no_grad()
def attention_total(model: EncoderDecoder, source: Sequence[int], answer: Sequence[int]) -> Tensor:
    """How much each source position was looked at while an answer and its end mark were written."""
    block: Any = model.decoder.blocks[-1]
    looking = block.mixer if block.cross is None else block.cross
    seen: list[Tensor] = []
    hook = looking.register_forward_pre_hook(lambda module, args: seen.append(module.weights(*args)))
    read(model, source, [answer])
    hook.remove()
    return seen[0][0].mean(0).sum(0).double()
