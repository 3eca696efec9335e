"""The form that targets are written in: what is in another one, no answer can be."""

from collections.abc import Sequence
from dataclasses import dataclass

from seqloom.data.check.tally import Kind
from seqloom.text import Normalise
from seqloom.text.form import in_other_form


@dataclass(frozen=True)
class Writing:
    """settings: what they are called. remedy: what to do with targets in another form."""

    normalise: Normalise
    settings: str
    remedy: str

    @property
    def kind(self) -> Kind:
        title = f"target: not in the form that a model learns to write ({self.settings})"
        return Kind("warning", title, f"no answer can be as they are: {self.remedy}")

    def others(self, targets: Sequence[str]) -> list[int]:
        return in_other_form(targets, self.normalise)
