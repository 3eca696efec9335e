"""The lecture: a Transformer so small that every number of it can be looked at, and that comes along trained.

Three words are read and three are written, of vocabularies of 11 tokens each; it is 6 wide. English puts the adjective
first and French the noun, so that what it attends to is not simply what stands at the same place. Its weights are
rounded to two decimals, to be copied to a blackboard. `python -m seqloom.jobs.lecture.train` trains it anew.
"""

import json
from itertools import product
from pathlib import Path

import torch

from seqloom.jobs.model import Model
from seqloom.jobs.opened import Opened
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import build_model
from seqloom.settings import loads
from seqloom.store import RunFolder, load_weights
from seqloom.tasks import Codecs, build_task
from seqloom.text import Vocabulary

NAME = "lecture"
FOLDER = Path(__file__).parent
RECIPE, WEIGHTS = FOLDER / "recipe.toml", FOLDER / "weights.json"
_WORDS = (
    (("black", "noir"), ("white", "blanc")),
    (("cat", "chat"), ("dog", "chien")),
    (("sleeps", "dort"), ("eats", "mange")),
)


def pairs() -> list[tuple[str, str]]:
    """All that it knows: ("black cat sleeps", "chat noir dort"), …"""
    return [
        (f"{colour} {animal} {does}", f"{said_animal} {said_colour} {said_does}")
        for (colour, said_colour), (animal, said_animal), (does, said_does) in product(*_WORDS)
    ]


def lecture() -> Model:
    """Made anew each time; on the CPU, wherever others are."""
    text = RECIPE.read_text(encoding="utf-8")
    recipe = loads(text, Recipe, name=str(RECIPE))
    source, target = (Vocabulary.train(recipe.text.source, side) for side in zip(*pairs(), strict=True))
    task = build_task(recipe.task, Codecs(source, target), recipe.model.family)
    network = build_model(recipe.model, task.sizes())
    kept = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    load_weights(network, {name: torch.tensor(numbers) for name, numbers in kept.items()})
    parameters = sum(parameter.numel() for parameter in network.parameters())
    run = RunFolder(FOLDER)
    return Model([Opened(run, text, recipe, task, network.eval(), parameters, torch.device("cpu"))])
