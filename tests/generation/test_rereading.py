"""Read anew in each step, a model says what it says when it goes on from its state."""

import pytest
import torch
from torch import Tensor

from seqloom.generation import GenerationSettings, Item, PairScorer, TextScorer, write
from seqloom.generation.rereading import RereadingScorer
from seqloom.layers.layout import Padded
from seqloom.models.build import build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

BEGIN, END, SIZE = 1, 2, 12
SETTINGS = [
    GenerationSettings(),
    GenerationSettings(beam=4, n_best=4),
    GenerationSettings.model_validate({"sample": {"temperature": 1.0}, "n_best": 3}),
]


def _pair() -> EncoderDecoder:
    torch.manual_seed(0)
    model = build_model(ModelSettings(width=8, depth=1), Sizes(SIZE, SIZE)).eval()
    assert isinstance(model, EncoderDecoder)
    return model


@pytest.mark.parametrize("settings", SETTINGS)
def test_of_a_pair(settings: GenerationSettings) -> None:
    model, source = _pair(), [5, 6, 7]

    def scores(tokens_RT: Tensor) -> Tensor:
        rows, steps = tokens_RT.shape
        source_RS = torch.tensor([*source, END]).expand(rows, -1)
        return model.scores(model(source_RS, Padded.whole(rows, 4), tokens_RT, Padded.whole(rows, steps)))

    item = Item(source, 0, longest=6)
    never = (0, 3)
    reading = RereadingScorer(scores, [BEGIN], begin=BEGIN, end=END, size=SIZE, never=never)
    _same(write(PairScorer(model, BEGIN, END, never=never), [item], settings), write(reading, [item], settings))


@pytest.mark.parametrize("settings", SETTINGS)
def test_of_a_prompt(settings: GenerationSettings) -> None:
    torch.manual_seed(0)
    model = build_model(ModelSettings(family="decoder-only", width=8, depth=1), Sizes(SIZE, SIZE)).eval()
    assert isinstance(model, DecoderOnly)

    def scores(tokens_RT: Tensor) -> Tensor:
        rows, steps = tokens_RT.shape
        return model.scores(model(tokens_RT, Padded.whole(rows, steps)))

    item = Item([5, 6, 7], 0, longest=6)
    reading = RereadingScorer(scores, [5, 6, 7], begin=BEGIN, end=END, size=SIZE)
    _same(write(TextScorer(model, BEGIN, END, framed=False), [item], settings), write(reading, [item], settings))


def _same(wanted: object, found: object) -> None:
    ((_, one),) = list(wanted)  # type: ignore[call-overload]
    ((_, other),) = list(found)  # type: ignore[call-overload]
    assert [each.tokens for each in one] == [each.tokens for each in other]
    assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-5)


def test_it_writes_one_at_a_time() -> None:
    reading = RereadingScorer(lambda tokens: tokens, [BEGIN], begin=BEGIN, end=END, size=SIZE)
    with pytest.raises(ValueError, match="written alone"):
        reading.start([Item([5], 0, longest=2), Item([6], 1, longest=2)])
