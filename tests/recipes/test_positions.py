"""Recipes know where a token or a patch stands: with their positions taken away, they do not."""

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.layers.positions import NoPositions
from seqloom.models.build import Model, build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.cases import stirred
from tests.recipes.shrunk import recipe

# in a second causal layer order is seen even so, by what each step could see
ONE_LAYER = ("model.width=192", "model.depth=1", "model.feed_forward.width=32")
PUBLISHED = ["transformer-base", "transformer-decoder", "transformer-modern", "t5-style", "bert"]
PUBLISHED += ["gpt", "llama-style", "music-transformer"]


def _built(settings: ModelSettings) -> Model:
    torch.manual_seed(1)
    return stirred(build_model(settings, Sizes(11, 11)), 0.05).double().eval()


def _blind(settings: ModelSettings) -> ModelSettings:
    mixer = settings.mixer.model_copy(update={"relative": None})
    return settings.model_copy(update={"positions": NoPositions(), "mixer": mixer})


def _apart(one: Tensor, other: Tensor) -> bool:
    return not torch.allclose(one, other, rtol=0, atol=1e-13)  # a token may look at itself nearly alone


@torch.no_grad()
def _order_is_seen(settings: ModelSettings) -> bool:
    """By the last of three tokens, when the others change places."""
    model, layout = _built(settings), Packed.of([3])
    read = model.encode if isinstance(model, EncoderDecoder) else model
    found = [read(torch.tensor(tokens), layout) for tokens in ([5, 6, 7], [6, 5, 7])]
    return _apart(*((each.states if isinstance(model, EncoderDecoder) else each.hidden)[-1] for each in found))


@pytest.mark.parametrize(
    "name", [*PUBLISHED, "transformer-big", "transformer-big-small", *(f"{name}-small" for name in PUBLISHED)]
)
def test_tokens(name: str) -> None:
    settings = recipe(name, *ONE_LAYER).model
    assert _order_is_seen(settings)
    assert not _order_is_seen(_blind(settings))


@torch.no_grad()
def _places_are_seen(settings: ModelSettings) -> bool:
    """When the left and the right half of a picture, a patch wide each, change places."""
    model = _built(settings)
    picture = torch.randint(11, (4, 4), generator=torch.Generator().manual_seed(1))
    end = torch.zeros(1, dtype=torch.int64)
    both = (torch.cat((each.flatten(), end)) for each in (picture, picture.roll(2, 1)))
    return _apart(*(model.scores(model(tokens, Packed.of([17]))) for tokens in both))


@pytest.mark.parametrize("name", ["vit", "vit-small"])
def test_patches(name: str) -> None:
    small = ("model.input.patch=2", "model.input.columns=4", "model.input.channels=1")
    settings = recipe(name, *ONE_LAYER, *small).model
    assert _places_are_seen(settings)
    assert not _places_are_seen(_blind(settings))
