"""lstm-lm: what it drops while training (Merity et al. 2018, sections 2, 4.2 and 4.3)."""

import pytest
import torch

from seqloom.layers.layout import Padded
from seqloom.models.build import build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.sizes import Sizes
from tests.recipes.shrunk import recipe

NARROW = {
    "lstm-lm": ("model.width=16", "model.mixer.hidden=[24, 24, 16]"),
    "lstm-lm-small": ("model.width=16", "model.mixer.hidden=[24, 16]"),
}
NOTHING_ELSE = ("model.dropout=0.0", "model.input.dropout=0.0", "model.mixer.dropout=0.0", "model.mixer.locked=false")

both = pytest.mark.parametrize("name", NARROW)


def _built(name: str, *changes: str) -> DecoderOnly:
    torch.manual_seed(0)
    model = build_model(recipe(name, *NARROW[name], *changes).model, Sizes(30, 30)).double()
    assert isinstance(model, DecoderOnly)
    return model.train()


def _moved_by_chance(model: DecoderOnly) -> list[bool]:
    """Which steps are other ones when the same text is read again."""
    text, layout = torch.arange(10)[None], Padded.whole(1, 10)
    with torch.no_grad():
        one, other = (model(text, layout).hidden[0] for _ in range(2))
    return (one != other).any(-1).tolist()


@both
def test_weights(name: str) -> None:
    """Those that read the last state, which at the first step is zero."""
    assert _moved_by_chance(_built(name, *NOTHING_ELSE)) == [False] + [True] * 9
    assert not any(_moved_by_chance(_built(name, *NOTHING_ELSE, "model.mixer.weight_dropout=0.0")))
    assert not any(_moved_by_chance(_built(name).eval()))


@both
def test_whole_words_and_units(name: str) -> None:
    """The same words of all rows; of each row its own units, at all steps."""
    model = _built(name, "model.input.dropout=0.5", "model.dropout=0.5")
    embedded, _ = model.input(torch.arange(30).repeat(2, 1), Padded.whole(2, 30))
    gone_BTD = embedded == 0
    words_BT, units_BD = gone_BTD.all(-1), gone_BTD.all(1)
    assert torch.equal(words_BT[0], words_BT[1])
    assert 5 < words_BT[0].sum() < 25
    assert torch.equal(gone_BTD, words_BT[..., None] | units_BD[:, None])
    assert not torch.equal(units_BD[0], units_BD[1])
