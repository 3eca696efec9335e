"""What a training came to."""

from dataclasses import dataclass

from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.build import Model
from seqloom.store import RunFolder
from seqloom.training.place import Place


@dataclass(frozen=True, repr=False)
class Trained:
    """What a run came to. It stands for its folder: `seqloom.load(trained)` is a model that can be asked.

    model: the bare network, as the best validation left it.
    """

    run: RunFolder
    recipe: Recipe
    corpora: Corpora
    model: Model
    place: Place
    scores: dict[str, float]
    test_scores: dict[str, float]

    def __fspath__(self) -> str:
        return str(self.run.path)

    def __repr__(self) -> str:
        parts = [("scores", self.scores), ("test_scores", self.test_scores)]
        shown = [f"{name}={{{_shown(scores)}}}" for name, scores in parts if scores]
        return f"Trained({', '.join([repr(str(self.run.path)), f'steps={self.place.step}', *shown])})"


def _shown(scores: dict[str, float]) -> str:
    return ", ".join(f"{name!r}: {score:.4g}" for name, score in scores.items())
