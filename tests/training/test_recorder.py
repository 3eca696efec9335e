"""A step in a frame is the step; what a GPU would record is done here as it is, on the CPU."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.layers.chain import Chain
from seqloom.layers.linear import Linear
from seqloom.layers.recording import Tape
from seqloom.models.build import Model
from seqloom.tasks import Batch, Frame, Goals
from seqloom.training import recorder as module
from seqloom.training import recorder as training_recorder
from seqloom.training.ema import Ema, MovingAverage
from seqloom.training.optimisers import SGD, AdamW, Muon, OptimiserSettings, build_optimiser, clip
from seqloom.training.recorder import Knobs, Recorder
from seqloom.training.step import Work
from seqloom.training.steps import Begun, Steps
from tests.training.small import Small

BUDGET = 64


def _work(made: Small, model: Model, **goals: Any) -> Work:
    return Work(made.task, model, Goals(0.1, **goals), torch.device("cpu"), None, 1, lambda text: None)


def _batches(made: Small, parts: int = 4) -> list[Batch]:
    (examples,) = made.cache.read([0])
    return [made.task.batch(examples.take(part)) for part in np.array_split(np.arange(47), parts)]


MIXERS: list[dict[str, Any]] = [
    {"kind": "attention", "heads": 2},
    {"kind": "recurrence", "cell": "lstm"},
    {"kind": "convolution", "kernel": 3},
]
CROSS = {"kind": "attention", "heads": 2}


@pytest.mark.parametrize(
    "optimiser", [AdamW(rate=0.01, epsilon=1e-3), SGD(rate=0.1), Muon(rate=0.01)], ids=lambda each: each.kind
)
@pytest.mark.parametrize("mixer", MIXERS, ids=lambda each: each["kind"])
def test_steps_in_a_frame_are_the_steps(made: Small, optimiser: OptimiserSettings, mixer: dict[str, Any]) -> None:
    ends = []
    for framed in False, True:
        torch.manual_seed(3)
        model = made.model(mixer=mixer, cross=CROSS).float()
        work, told = _work(made, model), []
        steps, ema = build_optimiser(optimiser, model), MovingAverage(Ema(decay=0.9), model)
        recorder = Recorder(work, steps, ema, 1.0, BUDGET, lambda text: None)
        for number, batch in enumerate(_batches(made), 1):
            if framed:
                awaited = recorder.step(number, batch, Knobs(0.5, math.inf, 1 - ema.decay))
                assert awaited is not None
                told.append(awaited.read())
                ema.steps += 1
            else:
                loss = work.gradients(number, [batch])
                told.append((loss.item(), clip(model, 1.0).item()))
                steps.step(0.5)
                ema.update(model)
        ends.append((told, {**model.state_dict()}, ema.weights()))
    (told, weights, averages), (told_framed, weights_framed, averages_framed) = ends
    np.testing.assert_allclose(told, told_framed, rtol=2e-5)
    for name in weights:
        torch.testing.assert_close(weights[name], weights_framed[name], rtol=0, atol=2e-4)
    for name in averages:
        torch.testing.assert_close(averages[name], averages_framed[name], rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    "optimiser", [AdamW(rate=0.1, decay=0.5), Muon(rate=0.1, decay=0.5)], ids=lambda each: each.kind
)
@pytest.mark.parametrize("fault", ["limit", "weight"])
def test_nonsense_changes_no_weight_and_nor_does_what_follows(
    made: Small, optimiser: OptimiserSettings, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made.model()
    work = _work(made, model)
    recorder = Recorder(work, build_optimiser(optimiser, model), None, None, BUDGET, lambda text: None)
    batches = _batches(made)
    first = recorder.step(1, batches[0], Knobs(1.0))
    assert first is not None
    before = {name: value.clone() for name, value in model.state_dict().items()}
    if fault == "limit":
        recorder.step(2, batches[1], Knobs(1.0, limit=0.0))
    else:
        loss = work.task.loss
        monkeypatch.setattr(work.task, "loss", lambda *given: loss(*given) * math.nan)
        recorder.step(2, batches[1], Knobs(1.0))
        monkeypatch.undo()
    recorder.step(3, batches[2], Knobs(1.0))
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize(
    ("mixer", "takes"),
    [("recurrence", False), ("gated-linear", False), ("memory-compressed", True), ("attention", True)],
)
def test_long_rows_that_are_gone_step_by_step_are_left_to_others(
    made: Small, mixer: str, takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_recorder, "LONGEST", 2)
    model = made.model(encoder={"mixer": {"kind": mixer}})
    recorder = Recorder(_work(made, model), build_optimiser(AdamW(), model), None, None, BUDGET, lambda text: None)
    (batch,) = _batches(made, 1)
    assert (recorder.step(1, batch, Knobs(1.0)) is not None) == takes


def test_a_chain_over_tags_goes_step_by_step_too(made: Small) -> None:
    model = made.model()
    model.chain = Chain(3)
    for kind in (model, made.model()):
        recorder = Recorder(_work(made, kind), build_optimiser(AdamW(), kind), None, None, BUDGET, lambda text: None)
        assert recorder._stepwise == (kind is model)


def test_what_needs_too_much_memory_is_left_to_others(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made.model()
    work, whole = _work(made, model), made.task.loss

    def loss(model: Model, batch: Batch, goals: Goals) -> torch.Tensor:
        if batch.source is not None and len(batch.source.tokens_N) > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(model, batch, goals)

    monkeypatch.setattr(made.task, "loss", loss)
    optimiser, told = build_optimiser(AdamW(), model), list[int]()
    recorder = Recorder(work, optimiser, None, None, BUDGET, lambda text: None)
    (large,) = _batches(made, 1)
    assert recorder.step(1, large, Knobs(1.0)) is None
    assert all(parameter.grad is None for parameter in model.parameters())
    steps = Steps(work, optimiser, None, None, recorder, lambda *_: None, lambda step, *_: told.append(step.number))
    before = model.state_dict()["head.weight_VD"].clone()
    steps.take(Begun(1, 1.0, math.inf, large.count, [large]))
    assert told == [1]
    assert not torch.equal(model.state_dict()["head.weight_VD"], before)


def test_a_batch_of_which_nothing_counts_changes_nothing_much(made: Small) -> None:
    model = made.model()
    recorder = Recorder(_work(made, model), build_optimiser(SGD(), model), None, None, BUDGET, lambda text: None)
    (batch, *_) = _batches(made)
    awaited = recorder.step(1, replace(batch, count=0), Knobs(1.0))
    assert awaited is not None
    assert all(map(math.isfinite, awaited.read()))


def test_recordings_whose_chance_nobody_seeds_are_made_anew(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a recording of something else broke off, and torch's random numbers were mended."""
    model, recorded = made.model(), list[Frame]()
    recorder = Recorder(_work(made, model), build_optimiser(SGD(), model), None, None, BUDGET, lambda text: None)

    def record(frame: Frame, batch: Batch) -> object:
        recorded.append(frame)
        return object()

    monkeypatch.setattr(recorder, "_record", record)
    (batch, *_) = _batches(made)
    frame = Frame.around(batch, BUDGET)
    assert frame is not None
    first = recorder._recording(frame, batch)
    assert recorder._recording(frame, batch) is first
    monkeypatch.setattr(Tape, "mended", Tape.mended + 1)
    assert recorder._recording(frame, batch) is not first
    assert recorded == [frame, frame]


def test_batches_of_like_sizes_share_a_frame(made: Small) -> None:
    frames = {Frame.around(batch, BUDGET) for batch in _batches(made, 8)}
    assert len(frames) < 8
    assert None not in frames


def test_a_frame_gives_back_what_was_written(made: Small) -> None:
    (batch, *_) = _batches(made, 3)
    frame = Frame.around(batch, BUDGET)
    assert frame is not None
    numbers = torch.full((frame.size,), 7)
    frame.write(batch, numbers)
    read = frame.read(batch, numbers)
    for side, other in (batch.source, read.source), (batch.target, read.target):
        assert side is not None
        assert other is not None
        real = len(side.tokens_N)
        assert torch.equal(other.tokens_N[:real], side.tokens_N)
        assert other.layout.real_N is not None
        assert other.layout.real_N.tolist() == [True] * real + [False] * (len(other.tokens_N) - real)
        x_ND = torch.randn(real, 2)
        filled_ND = torch.cat((x_ND, torch.randn(len(other.tokens_N) - real, 2)))
        rows, steps = side.layout.rows, side.layout.longest
        assert torch.equal(other.layout.pad(filled_ND)[:rows, :steps], side.layout.pad(x_ND))
        assert torch.equal(other.layout.unpad(other.layout.pad(filled_ND))[:real], x_ND)
    assert read.goal[: len(batch.goal)].equal(batch.goal)
    assert int(read.counted) == batch.count


def test_weights_in_half_precision_are_those_of_the_step(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU with Triton: turned together before each step, and at hand in all of it."""
    monkeypatch.setattr(module, "has_triton", lambda: True)
    model = made.model(mixer=MIXERS[0], cross=CROSS).float()
    work = Work(made.task, model, Goals(0.1), torch.device("cpu"), torch.bfloat16, 1, lambda text: None)
    recorder = Recorder(work, build_optimiser(SGD(rate=0.1), model), None, None, BUDGET, lambda text: None)
    maps = [part for part in model.modules() if type(part) is Linear]
    seen = list[bool]()

    def sees(part: nn.Module, given: object) -> None:
        assert isinstance(part, Linear)
        seen.append(part.halved is not None and torch.equal(part.halved[0], part.weight.bfloat16()))

    for part in maps:
        part.register_forward_pre_hook(sees)
    for number, batch in enumerate(_batches(made), 1):
        assert recorder.step(number, batch, Knobs(0.5)) is not None
    assert len(seen) >= 4 * len(maps)
    assert all(seen)
    assert all(part.halved is None for part in maps)
