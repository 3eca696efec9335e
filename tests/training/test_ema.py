"""The moving average against its formula, the swap, and a state that goes on exactly."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from seqloom.training.ema import Ema, MovingAverage


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)
        self.two.weight = self.one.weight
        self.fixed = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("places", torch.arange(3), persistent=False)


def move(model: nn.Module, average: MovingAverage, steps: range) -> None:
    for step in steps:
        with torch.no_grad():
            for value in [*model.parameters(), *model.buffers()]:
                if value.is_floating_point():
                    value += torch.randn(value.shape, generator=torch.Generator().manual_seed(step))
        average.update(model)


def test_the_formula() -> None:
    model = Small()
    average = MovingAverage(Ema(decay=0.5), model)
    expected = model.one.weight.detach().double()
    for step in range(12):
        move(model, average, range(step, step + 1))
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model.one.weight.detach().double()
    torch.testing.assert_close(average.weights()["one.weight"].double(), expected, atol=1e-5, rtol=1e-5)


def test_tied_once_buffers_and_frozen_copied() -> None:
    model = Small()
    average = MovingAverage(Ema(warm=False), model)
    assert average.decay == 0.999
    move(model, average, range(3))
    assert set(average.weights()) == {"one.weight", "one.bias", "two.bias", "fixed", "mean"}
    assert torch.equal(average.weights()["mean"], model.get_buffer("mean"))
    assert torch.equal(average.weights()["fixed"], model.fixed)


def test_applied_and_taken_back() -> None:
    model = Small()
    average = MovingAverage(Ema(), model)
    move(model, average, range(3))
    own = {name: value.clone() for name, value in model.state_dict().items()}

    def raises_inside() -> None:
        with average.applied(model) as averaged:
            assert torch.equal(averaged.two.weight, average.weights()["one.weight"])  # type: ignore[union-attr, arg-type]
            assert not torch.equal(model.one.weight, own["one.weight"])
            with pytest.raises(RuntimeError, match="outside of applied"):
                average.update(model)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        raises_inside()
    assert all(torch.equal(own[name], value) for name, value in model.state_dict().items())
    average.update(model)


def test_half_precision_weights_are_averaged_in_single() -> None:
    model = Small().to(torch.bfloat16)
    average = MovingAverage(Ema(warm=False), model)
    with torch.no_grad():
        model.one.weight += 1
    start = average.weights()["one.weight"].clone()
    average.update(model)
    assert not torch.equal(start, average.weights()["one.weight"])


def test_it_goes_on_exactly(tmp_path: Path) -> None:
    straight, model = Small(), Small()
    whole = MovingAverage(Ema(), straight)
    move(straight, whole, range(10))
    first = MovingAverage(Ema(), model)
    move(model, first, range(5))
    tensors, numbers = first.state()
    save_file(tensors, tmp_path / "ema.safetensors")
    second = MovingAverage(Ema(), Small())
    second.load(load_file(tmp_path / "ema.safetensors"), json.loads(json.dumps(numbers)))
    move(model, second, range(5, 10))
    assert second.steps == 10
    assert all(torch.equal(value, second.weights()[name]) for name, value in whole.weights().items())


def test_another_models_average_is_refused() -> None:
    average = MovingAverage(Ema(), Small())
    tensors = {**average.weights(), "other": torch.ones(1), "one.bias": torch.ones(7)}
    del tensors["mean"]
    with pytest.raises(ValueError, match=r"these differ: mean, other, one\.bias"):
        average.load(tensors, {"steps": 1})
