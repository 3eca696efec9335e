"""How many targets are in another Unicode form than the one that a model learns to write."""

from dataclasses import dataclass
from typing import Any

from seqloom.data.encoding import Encoder, PairEncoder
from seqloom.data.reading import Block
from seqloom.text.form import in_other_form, would_be


@dataclass(frozen=True)
class OtherForm:
    """What no answer can be as it is. example: the first one, and how it would be written."""

    count: int = 0
    targets: int = 0
    example: str = ""

    def with_block(self, encoder: Encoder, block: Block) -> "OtherForm":
        """Of pairs only: labels are not written."""
        if not isinstance(encoder, PairEncoder):
            return self
        texts: list[Any] = block.columns[1]
        found = in_other_form(texts, encoder.target.settings.normalise)
        first = self.example or (would_be(texts[found[0]], encoder.target.normalise(texts[found[0]])) if found else "")
        return OtherForm(self.count + len(found), self.targets + len(texts), first)
