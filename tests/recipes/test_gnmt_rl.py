"""gnmt-rl: the model of gnmt, begun from it, and trained for what it writes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqloom.data.cache import Examples
from seqloom.jobs.learning.answers import answers
from seqloom.jobs.learning.drawing import objective_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import Sizes, build_model, model_cost
from seqloom.models.build import Model
from seqloom.settings import load
from seqloom.tasks import Goals, Translate
from seqloom.tasks.translate import TranslateTask
from seqloom.training.optimisers import build_optimiser
from seqloom.training.step import Work
from tests.tasks.small import CHARACTERS, encoded, task_of

RECIPES = Path(__file__).parents[2] / "recipes"
CPU = torch.device("cpu")


def _recipe(name: str, *changes: str) -> Recipe:
    return load(RECIPES / f"{name}.toml", Recipe, changes)


def _without_dropout(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: _without_dropout(value) for name, value in values.items() if name != "dropout"}
    return [_without_dropout(value) for value in values] if isinstance(values, list | tuple) else values


@pytest.mark.parametrize("end", ["", "-small"])
def test_the_model_is_gnmt_s(end: str) -> None:
    """But for dropout, which the refinement has nowhere; so that its weights fit."""
    refined, begun = _recipe(f"gnmt-rl{end}"), _recipe(f"gnmt{end}")
    assert _without_dropout(refined.model.model_dump()) == _without_dropout(begun.model.model_dump())
    assert refined.text == begun.text
    assert refined.generation == begun.generation
    dropouts = [refined.model.dropout]
    dropouts += [getattr(mixer, "dropout", 0.0) for side in ("encoder", "decoder") for mixer in _mixers(refined, side)]
    assert set(dropouts) == {0.0}


def _mixers(recipe: Recipe, side: Any) -> Any:
    return recipe.model.side(side).mixers()


def test_its_parameters_are_gnmt_s() -> None:
    sizes = Sizes(32000, 32000)
    refined, begun = _recipe("gnmt-rl"), _recipe("gnmt")
    assert model_cost(refined.model, sizes).parameters == model_cost(begun.model, sizes).parameters
    assert refined.target.parameters == begun.target.parameters


def test_it_is_trained_as_the_paper_says() -> None:
    reward = _recipe("gnmt-rl").training.reward
    assert reward is not None
    assert (reward.kind, reward.samples, reward.likelihood) == ("gleu", 15, 0.017)


WORDS = ["ab", "bca", "cab", "ba", "cc", "bb"]


def _right(task: TranslateTask, model: Model, examples: Examples) -> float:
    said = answers(task, model, examples)
    return float(np.mean([one == word[::-1] for one, word in zip(said, WORDS, strict=True)]))


def _begun(recipe: Recipe) -> tuple[TranslateTask, Model, Examples, Work]:
    """The small sibling, narrower, taught by likelihood until it knows somewhat less than half; and how it goes on."""
    task = task_of(Translate(), "pairs", CHARACTERS, WORDS, [word[::-1] for word in WORDS])
    assert isinstance(task, TranslateTask)
    torch.manual_seed(0)
    model = build_model(recipe.model, task.sizes()).train()
    examples = encoded(task, WORDS, [word[::-1] for word in WORDS])
    optimiser = build_optimiser(recipe.training.optimiser.model_copy(update={"rate": 0.01}), model)
    likelihood = Work(task, model, Goals(), CPU, None, 1, note=lambda text: None)
    for step in range(80):
        if _right(task, model, examples) >= 0.4:
            break
        likelihood.gradients(step, [task.batch(examples)])
        optimiser.step(1.0)
    assert 0.4 <= _right(task, model, examples) < 0.9
    objective = objective_of(recipe.training.reward, task)
    return task, model, examples, Work(task, model, Goals(), CPU, None, 1, note=lambda text: None, objective=objective)


def _rewards(recipe: Recipe, *begun: *tuple[TranslateTask, Model, Examples, Work], most: int) -> list[float]:
    """Of each step; until all is right."""
    task, model, examples, work = begun
    optimiser = build_optimiser(recipe.training.optimiser.model_copy(update={"rate": 0.01}), model)
    rewards = list[float]()
    for step in range(most):
        rewards.append(work.make(step, [task.batch(examples)]).figures["reward"])
        optimiser.step(1.0)
        if np.mean(rewards[-3:]) > 0.9 and _right(task, model, examples) == 1:
            break
    return rewards


NARROW = "model.width=32", "model.encoder.mixer.hidden=32"


def test_the_reward_alone_teaches() -> None:
    """Without any likelihood beside it, so that nothing else could."""
    recipe = _recipe("gnmt-rl-small", *NARROW, "training.reward.likelihood=0", "training.reward.samples=16")
    rewards = _rewards(recipe, *_begun(recipe), most=30)
    assert np.mean(rewards[-3:]) > np.mean(rewards[:3]) + 0.2


def test_with_the_likelihood_every_answer_is_right() -> None:
    """With more of it than the paper: what is never drawn cannot be learnt by its reward."""
    recipe = _recipe("gnmt-rl-small", *NARROW, "training.reward.likelihood=0.5")
    begun = _begun(recipe)
    _rewards(recipe, *begun, most=100)
    assert _right(*begun[:3]) >= 0.99
