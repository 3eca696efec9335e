"""Validations by heart say what the plain search says, whatever training did to the weights in between."""

import gc
import weakref

import pytest
import torch

from seqloom.data.cache import Examples
from seqloom.generation.static_writing import Static
from seqloom.jobs.answering.scorer import scorer_of
from seqloom.jobs.learning import by_heart
from seqloom.jobs.learning.answers import answers
from seqloom.jobs.learning.by_heart import ByHeart
from seqloom.layers.static_state import NotStaticError
from seqloom.models.build import Model
from seqloom.tasks import Translate
from seqloom.tasks.translate import TranslateTask
from seqloom.training.ema import Ema, MovingAverage
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of
from tests.training.small import WORDS

CPU = torch.device("cpu")
MODELS = {
    "attention": {"mixer": {"kind": "attention", "heads": 2}},
    "recurrence": {"mixer": {"kind": "recurrence", "cell": "lstm"}, "cross": {"kind": "attention", "heads": 2}},
}


class Here(ByHeart):
    """On a CPU nothing is recorded: each step is done as it is, on buffers that stay where they are."""

    def _suits(self, device: torch.device) -> bool:
        return True


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_heart, "MANY", 20)


@pytest.fixture
def task() -> TranslateTask:
    made = task_of(Translate(), "pairs", CHARACTERS, WORDS, [word[::-1] for word in WORDS])
    assert isinstance(made, TranslateTask)
    return made


@pytest.fixture
def examples(task: TranslateTask) -> Examples:
    return encoded(task, WORDS, [word[::-1] for word in WORDS])


def model_of(task: TranslateTask, name: str = "attention") -> Model:
    model = model_for(task, "encoder-decoder", **MODELS[name]).float()
    stir(model)
    return model


@torch.no_grad()
def stir(model: Model) -> None:
    for weight in model.parameters():
        weight.mul_(1.5).add_(0.3 * torch.randn_like(weight))


@pytest.mark.parametrize("name", MODELS)
def test_it_sees_what_training_did(task: TranslateTask, examples: Examples, name: str) -> None:
    model, own = model_of(task, name), Here()
    average = MovingAverage(Ema(decay=0.5), model)
    said = list[list[str]]()
    for _ in range(3):
        said.append(answers(task, model, examples, 12, own))
        assert said[-1] == answers(task, model, examples, 12)
        assert model.training
        stir(model)
        average.update(model)
        with average.applied(model):
            assert answers(task, model, examples, 12, own) == answers(task, model, examples, 12)
    assert len({tuple(one) for one in said}) == 3
    assert own.works
    assert own._static is not None
    (frame,) = own._static._frames.values()
    assert not frame.writs


def test_what_was_recorded_is_kept_while_weights_stay_where_they_are(task: TranslateTask) -> None:
    model, own = model_of(task), Here()
    scorer = scorer_of(task, [model])
    first = own.static(scorer, 100)
    own.done()
    assert own.static(scorer_of(task, [model]), 100) is first
    weight = next(iter(model.parameters()))
    weight.data = weight.data.clone()
    assert own.static(scorer, 100) is not first
    other = model_of(task)
    assert own.static(scorer_of(task, [other]), 100) is not None
    assert own._model is other


def test_few_answers_are_written_as_they_come(task: TranslateTask) -> None:
    scorer = scorer_of(task, [model_of(task)])
    assert Here().static(scorer, 19) is None
    assert ByHeart().static(scorer, 1000) is None, "that is for a GPU"


def test_what_cannot_be_is_tried_once(task: TranslateTask, examples: Examples, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def cannot(self: Static, *given: object) -> object:
        tried.append(1)
        raise NotStaticError("a state that grows")

    model, own = model_of(task), Here()
    monkeypatch.setattr(Static, "_frame", cannot)
    for _ in range(2):
        assert answers(task, model, examples, 12, own) == answers(task, model, examples, 12)
    assert len(tried) == 1
    assert not own.works
    assert own._static is None


def test_what_is_not_kept_is_gone_at_once(task: TranslateTask, examples: Examples) -> None:
    """Memory of a GPU must not wait for the collector of garbage."""
    model, own = model_of(task), Here()
    answers(task, model, examples, 12, own)
    assert own._static is not None
    (frame,) = own._static._frames.values()
    held = weakref.ref(frame.places)
    gc.collect()
    gc.disable()
    try:
        own._large = lambda device: True  # type: ignore[method-assign]
        del frame
        own.done()
        assert held() is None
    finally:
        gc.enable()
