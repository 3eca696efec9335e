"""Validations on a GPU write by heart what the plain search writes, while training changes the weights in place."""

from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.jobs.learning import by_heart
from seqloom.jobs.learning.answers import answers
from seqloom.jobs.learning.by_heart import ByHeart
from seqloom.jobs.learning.scores import metrics_of, validator
from seqloom.tasks.translate import TranslateTask
from seqloom.training.limits import Limits
from tests.training.small import Heard, Small, small

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # torch's own, about kernels and precision
]

GPU = torch.device("cuda")
MODELS: dict[str, dict[str, Any]] = {
    "attention": {"mixer": {"kind": "attention", "heads": 2}},
    "recurrence": {"mixer": {"kind": "recurrence", "cell": "lstm"}, "cross": {"kind": "attention", "heads": 2}},
}


@pytest.fixture(autouse=True)
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    monkeypatch.setattr(by_heart, "MANY", 20)


@pytest.fixture
def made(tmp_path: Path) -> Small:
    return small(tmp_path)


@pytest.mark.parametrize("name", MODELS)
def test_what_was_recorded_sees_the_new_weights(made: Small, name: str) -> None:
    torch.manual_seed(1)
    assert isinstance(made.task, TranslateTask)
    (examples,) = made.cache.read([0])
    model, notes = made.model(**MODELS[name]).to(GPU), list[str]()
    own, plain, said = ByHeart(notes.append), ByHeart(), list[list[str]]()
    plain.works = False
    for _ in range(4):
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.3).add_(0.2 * torch.randn_like(weight))
        found, wanted = (answers(made.task, model, examples, 12, way) for way in (own, plain))
        same = sum(one == other for one, other in zip(found, wanted, strict=True))
        assert same >= 0.95 * len(wanted)  # of two that are as good, either may be found
        said.append(found)
    assert len({tuple(one) for one in said}) == 4
    assert not notes
    assert own.works
    assert own._static is not None
    (frame,) = own._static._frames.values()
    assert any(recording._graph is not None for recording in frame._recordings.values())


def test_what_is_large_is_not_kept(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_heart, "KEPT", 0.0)
    assert isinstance(made.task, TranslateTask)
    (examples,) = made.cache.read([0])
    model, own = made.model().to(GPU), ByHeart()
    stream = torch.cuda.Stream(GPU)
    monkeypatch.setattr(torch.cuda, "Stream", lambda *given, **how: stream)  # products keep some memory for each stream
    answers(made.task, model, examples, 12, own)  # what is made once stays
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    answers(made.task, model, examples, 12, own)
    assert own._static is None
    assert own.works
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= before + (1 << 20)


def test_a_run_that_records_both(made: Small) -> None:
    """Steps of training and steps of writing are recorded side by side, and dropout goes on in between."""
    heard = Heard()
    metrics = metrics_of(made.task, [made.cache])
    validate = validator(made.task, [made.cache], 200, GPU, metrics, note=heard.note)
    model = made.model(dropout=0.2, cross={"kind": "attention", "heads": 2}).to(GPU)
    limits = Limits(60, None)
    loop = made.loop(model=model, limits=limits, heard=heard, device=GPU, batch=64, every=10, validate=validate)
    loop.train()
    assert not heard.notes
    assert loop.steps.recorder is not None
    assert loop.steps.recorder._recordings
    losses = [line["valid.loss"] for line in heard.validations]
    assert len(losses) == 6
    assert losses[-1] < losses[0]
