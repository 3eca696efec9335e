"""Which part of one model a part of another begins from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from seqloom.data.readings import Readings
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.stack_settings import Family
from seqloom.tasks import Codecs, Known
from seqloom.text import Labels, PieceSettings, Vocabulary

Part = Literal["input", "source", "target", "encoder", "decoder", "head", "follows"]

STACKS: tuple[Part, ...] = ("encoder", "decoder")
EVERY: tuple[Part, ...] = ("input", "source", "target", *STACKS, "head", "follows")

_ONE_SIDE: dict[tuple[Family, Family], dict[Part, Part]] = {
    ("encoder-only", "decoder-only"): {"input": "input", "decoder": "encoder", "head": "head"},
    ("decoder-only", "encoder-only"): {"input": "input", "encoder": "decoder", "head": "head"},
    ("encoder-only", "encoder-decoder"): {"source": "input", "encoder": "encoder"},
    ("decoder-only", "encoder-decoder"): {"source": "input", "encoder": "decoder"},
    ("encoder-decoder", "encoder-only"): {"input": "source", "encoder": "encoder"},
    ("encoder-decoder", "decoder-only"): {"input": "target", "decoder": "decoder", "head": "head"},
}
# with one vocabulary for both sides, what is written begins from it too
_SHARED: dict[tuple[Family, Family], dict[Part, Part]] = {
    ("encoder-only", "encoder-decoder"): {"target": "input", "head": "head"},
    ("decoder-only", "encoder-decoder"): {"target": "input", "decoder": "decoder", "head": "head"},
}


@dataclass(frozen=True)
class Counterparts:
    """parts: of the new model, each with the part of the old one that it begins from."""

    parts: Mapping[Part, Part]

    @classmethod
    def of(cls, old: Recipe, new: Recipe) -> "Counterparts":
        families = old.model.family, new.model.family
        if families[0] == families[1]:
            return cls({part: part for part in EVERY})
        return cls(_ONE_SIDE[families] | (_SHARED.get(families, {}) if new.text.shared else {}))

    def known(self, codecs: Codecs, recipe: Recipe) -> Known:
        """What the new run takes over of the old vocabularies: those that its text settings agree with."""
        text, given = recipe.text, {part: side_of(codecs, old) for part, old in self.parts.items()}
        source = next((given[part] for part in ("input", "source") if part in given), None)
        target = given.get("target") or given.get("head")
        if isinstance(source, Readings):  # the weights know these scales
            same = source.settings == recipe.readings
            return Known(source if same else None, target if isinstance(target, Labels) else None)
        if isinstance(target, Labels):
            return Known(_agreeing(source, text.source), target)
        return Known(_agreeing(source, text.source), _agreeing(target, text.target or text.source))


def side_of(codecs: Codecs, part: Part) -> Vocabulary | Labels | Readings | None:
    """What the rows of a part's tables stand for; None: it has none."""
    match part:
        case "input" | "source":
            return codecs.source
        case "target" | "head":
            return codecs.target
        case _:
            return None


def _agreeing(given: Vocabulary | Labels | Readings | None, settings: PieceSettings) -> Vocabulary | None:
    return given.cut_by(settings) if isinstance(given, Vocabulary) else None
