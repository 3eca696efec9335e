"""Tells of targets that no answer can be as they are, since training's own scores compare them in the model's form."""

from collections.abc import Sequence

from seqloom.data.other_form import OtherForm
from seqloom.text import TextSettings
from seqloom.text.form import target_normalise

BRING = "bring them to that form"


def other_form_note(parts: Sequence[OtherForm], text: TextSettings, taken: bool = False) -> str | None:
    """Of all files together. taken: whether the vocabulary is another run's, whose form no setting changes."""
    count = sum(part.count for part in parts)
    if not count:
        return None
    targets, example = sum(part.targets for part in parts), next(part.example for part in parts if part.count)
    fix = BRING if taken else remedy(text)
    return (
        f"{count:,} of {targets:,} targets are not in the form that the model learns to write "
        f"({settings_of(text)}), so that no answer can be as they are: {example}; {fix}"
    )


def settings_of(text: TextSettings) -> str:
    return ", ".join(name.removesuffix(".form") for name in target_normalise(text)[1])


def remedy(text: TextSettings) -> str:
    keep = " ".join(f"--set {name}=none" for name in target_normalise(text)[1])
    return f"{BRING}, or keep theirs: {keep}"
