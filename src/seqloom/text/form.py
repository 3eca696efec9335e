"""Texts in another Unicode form than the one that a vocabulary writes: of ᄀ and ᅡ it makes 가, which looks the same."""

from collections.abc import Sequence
from typing import Literal
from unicodedata import is_normalized

from seqloom.text.settings import Normalise, TextSettings

SHOWN = 20
"""Characters of a text, around the first that changes."""

_FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}


def in_other_form(texts: Sequence[str], settings: Normalise) -> list[int]:
    """Which of the texts change; lower case and spaces, which nobody gets unasked, are not looked at."""
    form = _FORMS.get(settings.form)
    # a line feed joins with nothing, so that all can be asked at once: mostly that is all
    if form is None or is_normalized(form, "\n".join(texts)):
        return []
    return [at for at, text in enumerate(texts) if not is_normalized(form, text)]


def would_be(text: str, written: str) -> str:
    """A text and how it is written, where they begin to differ; escaped, as they look the same."""
    alike = [a == b for a, b in zip(text, written, strict=False)]
    begin = max(0, [*alike, False].index(False) - SHOWN // 2)
    one, other = (ascii(shown[begin : begin + SHOWN]) for shown in (text, written))
    return f"{one} would be {other}"


def target_normalise(text: TextSettings) -> tuple[Normalise, tuple[str, ...]]:
    """How the targets' form is chosen, and the settings that choose it."""
    sides = ["source"] if text.target is None else ["source", "target"] if text.shared else ["target"]
    pieces = text.source if text.target is None else text.target
    return pieces.normalise, tuple(f"text.{side}.normalise.form" for side in sides)
