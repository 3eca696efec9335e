"""How fast each recipe would train on this machine, by its pace: nothing is trained."""

from collections.abc import Iterator

import torch

from seqloom.jobs.deciding.plan import passes
from seqloom.jobs.recipes import shipped
from seqloom.jobs.recipes.cost import counted_sizes
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import Sizes
from seqloom.settings import UserError, load
from seqloom.tasks import Forecast, Nodes
from seqloom.training.calibration import pace_here
from seqloom.training.figures import count
from seqloom.training.load import Lengths, load_of, reads_tokens
from seqloom.training.pace import Pace

BATCH = 2048  # tokens, where a recipe names none or more than a CPU should take at once
HEAD = ("recipe", "tokens/s", "a step of")


def lines() -> Iterator[str]:
    """The machine is measured first, if it never was."""
    pace = pace_here(measure=True)
    assert pace is not None
    rows = [HEAD, *((name, *_row(name, pace)) for name in sorted(shipped.names()))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    for name, speed, step in rows:
        yield f"{name:{widths[0]}}  {speed:>{widths[1]}}  {step}".rstrip()
    yield ""
    yield f"training on this CPU with {torch.get_num_threads()} threads, foretold by its pace, mostly within 20%;"
    yield f"a step: so many tokens, and how long it takes. At most {BATCH:,} tokens are taken at once."


def _row(name: str, pace: Pace) -> tuple[str, str]:
    try:
        recipe = load(shipped.names()[name], Recipe)
    except UserError:
        return "", f"(broken: `seqloom recipes {name}` says why)"
    if isinstance(recipe.task, Forecast | Nodes) or not reads_tokens(recipe.model):
        return "–", "not foretold: it reads other things than tokens"
    return foretold(recipe, pace)


def foretold(recipe: Recipe, pace: Pace) -> tuple[str, str]:
    """Tokens a second, and the step that this is about."""
    sizes, length, asked = counted_sizes(recipe)
    named = recipe.training.batch
    tokens = BATCH if named == "auto" else min(BATCH, named)
    batch = Lengths(max(tokens, length), length, asked=asked)
    seconds = passes(recipe.training) * pace.predict(
        load_of(recipe.model, Sizes(*sizes), batch, recipe.training.optimiser)
    )
    return count(batch.tokens / seconds), f"{batch.tokens:,.0f} tokens, {_shown(seconds)}"


def _shown(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"
