"""Models that C writes in several steps at once, and how that is seen."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import torch

from seqloom.generation import GenerationSettings, Item, PairScorer, TextScorer, Written, write
from seqloom.layers.paths import only_plain
from seqloom.models import DecoderOnly, EncoderDecoder, Sizes, build_model, stretch
from seqloom.models.in_int8 import in_int8
from seqloom.models.settings import ModelSettings

BEGIN, END, SIZE = 1, 2, 40
USUAL: dict[str, Any] = {"width": 32, "depth": 2, "mixer": {"kind": "attention", "heads": 4}}
ITEMS = [Item([3 + (n * 7 + place) % 30 for place in range(1 + n % 6)], n, 3 + n * 5 % 40) for n in range(12)]
LANGUAGE = {"family": "decoder-only", "positions": {"kind": "learned", "length": 50}}
Scorer = PairScorer | TextScorer
T = TypeVar("T")


def scorer_of(
    eight: bool = False, size: int = SIZE, change: Callable[[torch.nn.Module], object] = id, **other: Any
) -> Scorer:
    torch.manual_seed(0)
    model = build_model(ModelSettings.model_validate({**USUAL, **other}), Sizes(size, size)).eval()
    with torch.no_grad():
        for weight in model.parameters():  # norms and biases that do something, and answers that differ
            weight.mul_(1.5).add_(0.2 * torch.randn_like(weight))
        change(model)
    made = in_int8(model) if eight else model
    if isinstance(made, EncoderDecoder):
        return PairScorer(made, BEGIN, END, never=[0, 1, 7])
    assert isinstance(made, DecoderOnly)
    return TextScorer(made, BEGIN, END, never=[0, 1, 7])


def written(scorer: Scorer, settings: GenerationSettings, **other: Any) -> dict[int, list[Written]]:
    return dict(write(scorer, ITEMS, settings, **other))


def used(scorer: Scorer) -> bool:
    plan = stretch._plans.get(scorer.model)
    return plan is not None and plan.written is not None


def alike(found: dict[int, list[Written]], wanted: dict[int, list[Written]], digits: float = 1e-4) -> None:
    assert found.keys() == wanted.keys()
    for number, answers in wanted.items():
        for one, other in zip(found[number], answers, strict=True):
            assert (one.tokens, one.ended) == (other.tokens, other.ended)
            assert one.log_probs == pytest.approx(other.log_probs, abs=digits)
            assert one.score == pytest.approx(other.score, abs=digits)


def calls_of_c(work: Callable[[], T]) -> tuple[T, int]:
    calls = list[str]()

    def counted(name: str) -> Callable[..., object]:
        real = getattr(stretch, name)
        return lambda *given: (calls.append(name), real(*given))[1]

    with pytest.MonkeyPatch.context() as patch:
        for name in ("ran", "best"):
            patch.setattr(stretch, name, counted(name))
        return work(), len(calls)


def same(scorer: Scorer, settings: GenerationSettings, in_c: bool = True) -> dict[int, list[Written]]:
    found, calls = calls_of_c(lambda: written(scorer, settings))
    assert used(scorer) == in_c
    assert bool(calls) == in_c
    with only_plain():
        alike(found, written(scorer, settings))
    return found


def changed(scorer: Scorer) -> Callable[[], object]:
    scorer.model.head.weight_VD = torch.nn.Parameter(scorer.model.head.weight_VD.flip(0), requires_grad=False)
    return lambda: None


GREEDY, ONE = GenerationSettings(beam=1, batch=5), GenerationSettings(beam=1, batch=1)
