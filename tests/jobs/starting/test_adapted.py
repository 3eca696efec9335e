"""Any model of text, fitted to any task of text."""

import pytest

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import find
from seqloom.jobs.starting.adapted import FAMILY, adapted_model, adapted_text
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError, load
from seqloom.tasks import task_class
from seqloom.tasks.settings import Classify, Language, Masked, Tag, TaskSettings, Translate
from seqloom.text import TextSettings

TASKS: list[TaskSettings] = [Tag(), Classify(), Masked(), Language(), Translate()]
NAMES = ("bert-small", "gpt-small", "llama-style-small", "lstm-lm-small", "transformer-base-small", "t5-style-small")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
@pytest.mark.parametrize("name", NAMES)
def test_every_model_can_do_every_task(name: str, task: TaskSettings) -> None:
    path = find(name)
    model = load(path, Recipe).model
    fitted = adapted_model(model, task.kind)
    assert task_class(task).refuses(fitted) is None
    assert (fitted.width, fitted.input.kind) == (model.width, model.input.kind)
    old, new = ("decoder" if one.family == "decoder-only" else "encoder" for one in (model, fitted))
    if (model.family, fitted.family) != ("encoder-decoder", "decoder-only"):
        was, now = (one.side(side) for one, side in ((model, old), (fitted, new)))
        assert was.mixers() == now.mixers()
        assert was.feed_forwards() == now.feed_forwards()


def test_what_only_the_old_task_had_is_gone() -> None:
    bert = load(find("bert-small"), Recipe).model
    assert adapted_model(bert, "tag").tie == "none"
    assert adapted_model(bert, "tag").output.kind == "tags"
    assert getattr(adapted_model(bert, "translate").output, "follows", None) is False
    assert adapted_model(bert, "forecast") == bert


def test_one_text_has_one_vocabulary() -> None:
    gpt = load(find("gpt-small"), Recipe).model
    assert adapted_text(TextSettings(), gpt, "translate").shared
    assert not adapted_text(TextSettings(), gpt, "language").shared
    assert set(FAMILY) == {task.kind for task in TASKS}


def test_a_model_that_reads_both_ways_says_nothing_next() -> None:
    both = {"family": "encoder-only", "mixer": {"kind": "recurrence", "direction": "both"}, "output": {"kind": "tags"}}
    with pytest.raises(UserError, match=r"its \[model\] cannot do language as it is \(.*'both' reads the future"):
        adapted_model(ModelSettings.model_validate(both), "language")
