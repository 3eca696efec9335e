"""The settings of text in a recipe."""

import pytest

from seqloom.settings import SettingsError, dump, loads
from seqloom.text import BPE, Characters, Normalise, TextSettings, Words


def test_the_default_and_back() -> None:
    settings = TextSettings(source=Words(size=100), target=Characters(normalise=Normalise(lowercase=True)))
    assert loads(dump(settings), TextSettings) == settings
    assert loads("", TextSettings).source == BPE()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[source]\nkind = "bpee"', "has no kind 'bpee'; did you mean 'bpe'?"),
        ('[source]\nkind = "bpe"\ndropout = 1.0', "dropout should be a number (at least 0, below 1)"),
        ('[source]\nkind = "bpe"\nsize = 100\nbytes = true', "size 100 has no room for all bytes; 261 is the least"),
        ('[source]\nkind = "unigram"\nsize = 5', "size should be a whole number (at least 6)"),
        ('shared = true\n[target]\nkind = "bytes"', "a shared vocabulary is cut in one way"),
    ],
)
def test_impossible_settings_are_told(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        loads(text, TextSettings)
    assert message in str(caught.value)


def test_shared_with_the_same_target() -> None:
    assert TextSettings(source=BPE(size=50), target=BPE(size=50), shared=True).shared
