"""How large a step of Muon may be, by the model, the batch and the number of steps; docs/decisions/0016."""

from collections.abc import Sequence

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.training.optimisers import Muon, OptimiserSettings

OTHER = "training.optimiser.others"
OTHERS = 0.3  # the rate of what Muon does not train, as a share of Muon's
LEAST, MOST = 0.001, 0.04  # what was measured, and a little beyond


def rate_for(width: int, batch: int, steps: int) -> float:
    """batch: tokens of a step. More tokens allow larger steps; more steps and wider models need smaller ones."""
    rate = 0.011 * (batch / 1024) ** 0.5 * (256 / width) ** 0.6 * (1200 / max(steps, 1)) ** 0.4
    return float(f"{min(MOST, max(LEAST, rate)):.2g}")


def chosen(changes: Sequence[str]) -> bool:
    """Nobody named an optimiser or a rate."""
    return not any(_names(change, "", ".kind", ".rate", ".others", ".others.rate") for change in changes)


def in_step(recipe: Recipe, changes: Sequence[str]) -> Recipe:
    """Where only Muon's rate was named, the rest follows it."""
    optimiser = recipe.training.optimiser
    named = any(_names(change, ".rate") for change in changes)
    if not isinstance(optimiser, Muon) or not named or any(OTHER in change for change in changes):
        return recipe
    training = recipe.training.model_copy(update={"optimiser": _at(optimiser, optimiser.rate)})
    return recipe.model_copy(update={"training": training})


def optimiser_for(optimiser: OptimiserSettings, width: int, batch: int, steps: int) -> OptimiserSettings:
    """Muon with the rates that suit; what else was said of it stays."""
    assert isinstance(optimiser, Muon)
    return _at(optimiser, rate_for(width, batch, steps))


def _at(optimiser: Muon, rate: float) -> Muon:
    others = optimiser.others.model_copy(update={"rate": float(f"{OTHERS * rate:.2g}")})
    return optimiser.model_copy(update={"rate": rate, "others": others})


def _names(change: str, *endings: str) -> bool:
    return change.partition("=")[0].strip() in [f"training.optimiser{ending}" for ending in endings]
