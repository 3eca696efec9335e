"""What a GPU plays from a recording is the step as it would be; where none can be made, training goes on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.models.build import Model
from seqloom.tasks import Batch, Goals, Tag, Task
from seqloom.training import recorder as training_recorder
from seqloom.training.ema import Ema, MovingAverage
from seqloom.training.limits import Limits
from seqloom.training.optimisers import SGD, Adam, AdamW, Muon, OptimiserSettings, build_optimiser
from seqloom.training.recorder import Recorder
from seqloom.training.step import Work
from seqloom.training.steps import Begun, Steps
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of
from tests.tasks.test_masked import made as made_masked
from tests.tasks.test_tag import SENTENCES, TAGS
from tests.training.small import Heard, Small, small

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores"),
]

DEVICE = torch.device("cuda")
BUDGET = 64
CROSS = {"kind": "attention", "heads": 2}
ADAMW = AdamW(rate=0.01, epsilon=1e-3)


@dataclass
class Trained:
    told: list[tuple[float, float]] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    averages: dict[str, Tensor] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recorded: int = 0


@dataclass
class How:
    """How some steps are made. recorder: None, as without one; False: in frames, but nothing is recorded."""

    optimiser: OptimiserSettings = ADAMW
    precision: torch.dtype | None = None
    clip: float | None = 1.0
    ema: bool = True
    goals: Goals = field(default_factory=lambda: Goals(0.1))
    recorder: bool | None = True

    def train(self, task: Task, model: Model, steps: Sequence[Sequence[Batch]]) -> Trained:
        ended, model = Trained(), model.to(DEVICE)
        work = Work(task, model, self.goals, DEVICE, self.precision, 1, ended.notes.append)
        ema = MovingAverage(Ema(decay=0.9), model) if self.ema else None
        optimiser, recorder = build_optimiser(self.optimiser, model), None
        if self.recorder is not None:
            recorder = Recorder(work, optimiser, ema, self.clip, BUDGET, ended.notes.append)
            recorder.records = recorder.records and self.recorder

        def tell(_: Begun, loss: float, norm: float, __: Mapping[str, float]) -> None:
            ended.told.append((loss, norm))

        made = Steps(work, optimiser, ema, self.clip, recorder, lambda *_: None, tell)
        for number, batches in enumerate(steps, 1):
            count = sum(batch.count for batch in batches)
            made.take(Begun(number, 0.5, math.inf, count, list(batches)))
        made.settle()
        ended.weights = {name: value.clone() for name, value in model.state_dict().items()}
        ended.averages = {} if ema is None else {name: value.clone() for name, value in ema.weights().items()}
        ended.recorded = 0 if recorder is None else len(recorder._recordings)
        return ended


@pytest.fixture
def made(tmp_path: Path) -> Small:
    return small(tmp_path)


def batches_of(made: Small, parts: int = 2, times: int = 6) -> list[list[Batch]]:
    (examples,) = made.cache.read([0])
    return [[made.task.batch(examples.take(part))] for part in np.array_split(np.arange(47), parts)] * times


def alike(one: Trained, other: Trained, near: float = 1e-3) -> None:
    assert len(one.told) == len(other.told)
    np.testing.assert_allclose(one.told, other.told, rtol=near)
    for kept, others in (one.weights, other.weights), (one.averages, other.averages):
        for name, value in kept.items():
            apart = (value.double() - others[name].double()).norm()
            assert apart <= 2 * near * (1 + value.double().norm()), name


MODELS: dict[str, dict[str, Any]] = {
    "attention": {"mixer": {"kind": "attention", "heads": 2}},
    "lstm": {"mixer": {"kind": "recurrence", "cell": "lstm"}},
    "gru": {
        "mixer": {"kind": "recurrence", "cell": "gru"},
        "encoder": {"mixer": {"kind": "recurrence", "direction": "both"}},
    },
    "convolution": {"mixer": {"kind": "convolution", "kernel": 3}},
}


@pytest.mark.parametrize("precision", [None, torch.bfloat16], ids=str)
@pytest.mark.parametrize("optimiser", [ADAMW, Muon(rate=0.01)], ids=lambda each: each.kind)
@pytest.mark.parametrize("name", MODELS)
def test_a_recorded_step_is_the_step(
    made: Small, name: str, optimiser: OptimiserSettings, precision: torch.dtype | None
) -> None:
    """In half precision our own kernels are in the recording: tiles, norms, linear maps, LSTMs."""
    ends = []
    for records in False, True:
        model = made.model(dropout=0.2, cross=CROSS, **MODELS[name])
        how = How(optimiser, precision, recorder=records)
        ends.append(how.train(made.task, model, batches_of(made)))
        assert not ends[-1].notes
        assert bool(ends[-1].recorded) == records
    alike(*ends, near=1e-3 if precision is None else 3e-2)


HOWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "SGD": ({"optimiser": SGD(rate=0.1)}, {}),
    "Adam with l2": ({"optimiser": Adam(rate=0.01, epsilon=1e-3, l2=0.1)}, {}),
    "no clipping": ({"clip": None}, {}),
    "no average": ({"ema": False}, {}),
    "batch norm": ({}, {"encoder": {"norm": {"kind": "batch"}}}),
    "experts": (
        {},
        {"feed_forward": {"kind": "experts", "experts": 4, "width": 16, "capacity": 4.0, "noise": False, "load": 0.0}},
    ),
}


@pytest.mark.parametrize("name", HOWS)
def test_it_is_the_step_that_nobody_frames(made: Small, name: str) -> None:
    how, more = HOWS[name]
    ends = []
    for recorder in None, True:
        model = made.model(cross=CROSS, **more)
        ends.append(How(**how, recorder=recorder).train(made.task, model, batches_of(made)))
        assert not ends[-1].notes
    assert ends[1].recorded
    alike(*ends)


def test_two_passes_that_should_agree(made: Small) -> None:
    """R-Drop: each batch goes through the model twice, with other units dropped."""
    ends = []
    for records in False, True:
        how = How(goals=Goals(0.1, r_drop=1.0), recorder=records)
        ends.append(how.train(made.task, made.model(dropout=0.2, cross=CROSS), batches_of(made)))
    assert ends[1].recorded
    alike(*ends)


def test_masked_places_and_what_follows() -> None:
    task, examples = made_masked(follows=True)
    steps = [[task.batch(examples)]] * 5
    ends = []
    for recorder in None, True:
        model = model_for(task, "encoder-only", output={"kind": "tokens", "follows": True}).float().train()
        ends.append(How(recorder=recorder).train(task, model, steps))
    assert ends[1].recorded
    alike(*ends)


def test_a_chain_of_tags_of_words_in_pieces() -> None:
    task = task_of(Tag(), "tags", CHARACTERS, SENTENCES, TAGS)
    steps = [[task.batch(encoded(task, SENTENCES, TAGS))]] * 5
    ends = []
    for recorder in None, True:
        model = model_for(task, "encoder-only", output={"kind": "tags", "chain": True}).float().train()
        ends.append(How(recorder=recorder).train(task, model, steps))
        assert not ends[-1].notes
    assert ends[1].recorded
    assert ends[1].weights["head.chain.follow_VV"].abs().max() > 0
    alike(*ends)


def test_steps_of_several_batches_between_recorded_ones(made: Small) -> None:
    """They are not recorded, go through another stream, and change the same weights."""
    one, other = batches_of(made, 2, 1)
    steps = [one, other, one, other, [*one, *other], one, other, [*other, *one], one, other]
    ends = []
    for recorder in None, True:
        ends.append(How(recorder=recorder).train(made.task, made.model(cross=CROSS), steps))
    assert ends[1].recorded
    alike(*ends)


def test_frames_beyond_the_most_are_done_as_they_are(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_recorder, "MOST", 1)
    ends = []
    for recorder in None, True:
        ends.append(How(recorder=recorder).train(made.task, made.model(cross=CROSS), batches_of(made, 5, 4)))
    assert ends[1].recorded == 1
    assert not ends[1].notes
    alike(*ends)


def test_a_recording_for_which_there_is_no_memory(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its frame is left to others; frames that fit are recorded."""
    whole, failed = made.task.loss, list[int]()

    def loss(model: Model, batch: Batch, goals: Goals) -> Tensor:
        assert batch.source is not None
        if torch.cuda.is_current_stream_capturing() and not failed:
            failed.append(len(batch.source.tokens_N))
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(model, batch, goals)

    wanted = How(recorder=None).train(made.task, made.model(cross=CROSS), batches_of(made, 5, 4))
    monkeypatch.setattr(made.task, "loss", loss)
    found = How().train(made.task, made.model(cross=CROSS), batches_of(made, 5, 4))
    assert len(failed) == 1
    assert found.recorded
    assert not found.notes
    alike(wanted, found)


def test_training_goes_on_where_a_recording_breaks_off(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for the device ends the recordings of a run, and neither its dropout nor those of the next run."""
    gradients = Recorder._gradients

    def waits(self: Recorder, *given: Any) -> tuple[Tensor, Tensor]:
        told = gradients(self, *given)
        if torch.cuda.is_current_stream_capturing():
            told[0].item()
        return told

    for broken in True, False:
        monkeypatch.setattr(Recorder, "_gradients", waits if broken else gradients)
        ended = How(ema=False).train(made.task, made.model(dropout=0.2, cross=CROSS), batches_of(made))
        assert len(ended.told) == 12
        assert np.isfinite(ended.told).all()
        assert len(ended.notes) == broken
        assert bool(ended.recorded) is not broken
        torch.randn(9, device=DEVICE)


def test_experts_that_wait_for_the_device_end_recordings_once(made: Small) -> None:
    """Without a capacity it must be known who goes to which expert; all goes on as without a recorder."""
    experts = {"kind": "experts", "experts": 4, "width": 16, "noise": False, "load": 0.0}
    ends = []
    for recorder in None, True:
        model = made.model(cross=CROSS, feed_forward=experts)
        ends.append(How(recorder=recorder).train(made.task, model, batches_of(made)))
    assert len(ends[1].notes) == 1
    assert not ends[1].recorded
    alike(*ends)


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(made: Small) -> None:
    """With validations of the moving average between steps that are played."""
    settings: dict[str, Any] = {"ema": {"decay": 0.9}, "optimiser": {"kind": "adamw", "rate": 0.01, "epsilon": 1e-3}}
    ends = []
    for name, stops in ("whole", [24]), ("parts", [9, 24]):
        for steps in stops:
            heard = Heard()
            model = made.model(cross=CROSS).to(DEVICE)
            loop = made.loop(
                model=model, out=name, limits=Limits(steps, None), heard=heard, device=DEVICE, batch=BUDGET, **settings
            )
            assert loop.resume() == (steps != stops[0])
            loop.train()
            assert loop.steps.recorder is not None
            assert loop.steps.recorder._recordings
            assert not heard.notes
        assert loop.ema is not None
        averages = {key: value.clone() for key, value in loop.ema.weights().items()}
        scores = [(line["step"], line["valid.loss"]) for line in loop.run.read_metrics() if "valid.loss" in line]
        ends.append(Trained([], {**model.state_dict()}, averages))
        assert [step for step, _ in scores][-1] == 24
        ends[-1].told = [(float(step), loss) for step, loss in scores if step in (5, 24)]
    alike(*ends)
