"""Numbers that are none end a run, and are traced to where they come from."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from seqloom.settings import FailedError
from seqloom.store import weights
from seqloom.training.limits import Limits
from seqloom.training.loop import Loop
from seqloom.training.nonsense import ENOUGH, WARM, Result, jump, refuse_nonsense
from seqloom.training.place import Place
from tests.training.small import FILE, WORDS, Small, scripted


def _planted(loop: Loop, step: int, name: str, value: float, at: Any = ...) -> None:
    """Behind a step a weight is spoilt."""
    real = loop.optimiser.step

    def spoil(factor: float = 1.0) -> None:
        real(factor)
        if loop.place.step + 1 == step:
            with torch.no_grad():
                loop.model.get_parameter(name)[at] = value

    loop.optimiser.step = spoil  # type: ignore[method-assign]


def _fails(loop: Loop) -> str:
    with pytest.raises(FailedError) as caught:
        loop.train()
    return str(caught.value)


def test_a_weight_that_is_no_number(made: Small) -> None:
    loop = made.loop(limits=Limits(20, None), every=4)
    name = next(name for name, _ in loop.model.named_parameters() if "decoder.blocks.0.feed_forward" in name)
    _planted(loop, 6, name, float("nan"), 0)
    message = _fails(loop)
    assert message.startswith(f"step 7: the loss is no number; the weights {name} were not finite before the step.\n")
    lines = re.findall(r"pairs\.tsv:(\d+), (\d+)", message)
    assert lines
    assert all(0 < int(line) <= len(WORDS) for line in lines[0])
    assert "Try a lower rate (--set training.optimiser.rate=…)" in message
    # the last checkpoint stays, and is from before
    again = made.loop(limits=Limits(20, None))
    assert again.resume()
    assert again.place.step == 4
    assert all(tensor.isfinite().all() for tensor in weights(again.model).values())


def test_one_token_in_one_line(made: Small) -> None:
    """Of a batch of many lines, the one that holds the token is named."""
    loop = made.loop(batch=1000)
    (examples,) = made.cache.read([0])
    token = made.task.codecs.source.encode(["f"])[0][0]
    rows = [row for row in range(len(examples)) if token in examples.columns["source"][row]]
    keep = [row for row in range(len(examples)) if row not in rows[1:]]
    order = loop.setup.order
    some = examples.take(torch.tensor(keep).numpy())

    order.numbered = lambda *place: iter([(0, 0, 1.0, some)])  # type: ignore[method-assign]
    loop.setup = replace(loop.setup, validate=lambda model: {"loss": 1.0})
    with torch.no_grad():
        loop.model.get_parameter("source.embedding.weight_VD")[token] = float("inf")
    message = _fails(loop)
    assert "step 1: the loss is no number; the weights source.embedding.weight_VD" in message
    assert f"{len(keep)} examples, of which these alone give no number: {FILE}:{rows[0] + 1}." in message


def test_the_first_layer_is_named_where_weights_are_finite(made: Small) -> None:
    loop = made.loop(limits=Limits(20, None), every=100)
    layers = [n for n, module in loop.model.named_modules() if isinstance(module, torch.nn.Linear) and "encoder" in n]
    last = layers[-1]
    _planted(loop, 3, f"{last}.weight", 3e38)
    message = _fails(loop)
    assert re.match(rf"step 4: the loss is no number; first in the output of {re.escape(last)} \(\w+\)\.\n", message), (
        message
    )


def test_a_gradient_that_is_no_number(made: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is a number still; what flows back is none."""
    real = made.task.loss

    class Explode(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
            return grads[0] * float("inf")

    monkeypatch.setattr(made.task, "loss", lambda *given: Explode.apply(real(*given)))
    monkeypatch.setattr(Small, "validate", lambda self, model: {"loss": 1.0})
    message = _fails(made.loop())
    assert message.startswith("step 1: a gradient is no number; first in the gradient of ")
    assert f"The batch: {FILE}:" in message


def test_a_loss_that_jumps(made: Small) -> None:
    loop = made.loop(limits=Limits(WARM + 20, None), every=1000)
    real = loop.optimiser.step

    def spoil(factor: float = 1.0) -> None:
        real(factor)
        if loop.place.step + 1 == WARM + 5:
            with torch.no_grad():
                loop.model.get_parameter("head.weight_VD").mul_(1000)

    loop.optimiser.step = spoil  # type: ignore[method-assign]
    message = _fails(loop)
    assert re.match(rf"step {WARM + 6}: the loss jumped from [\d.]+ to [\d.e+]+; the largest value of a layer", message)
    assert "or allow jumps: --set training.spike=0" in message


def test_a_validation_that_is_no_number(made: Small) -> None:
    loop = made.loop(validate=scripted([1.0, math.nan, math.nan]), limits=Limits(20, None))
    message = _fails(loop)
    assert message.startswith("step 10: the validation's loss is no number (nan); ")


def test_a_jump_is_told_by_how_even_the_loss_was() -> None:
    even = Place(step=WARM + 1, mean_loss=2.0, mean_square=0.01)
    uneven = replace(even, mean_square=0.25)
    work: Any = None

    def refuse(place: Place, spike: float, loss: float) -> None:
        refuse_nonsense(work, place, Result(place.step + 1, loss, 1.0, jump(place, spike, 4096)), [], [])

    for place, loss in (even, 2.9), (uneven, 6.9):  # within a nat, and within ten deviations
        refuse(place, 10.0, loss)
    refuse(uneven, 0.0, 99.0)
    refuse(replace(even, step=WARM), 10.0, 99.0)
    for place, loss in (even, 3.1), (uneven, 7.1):
        with pytest.raises(AttributeError):  # it looks for where it came from, and there is no model here
            refuse(place, 10.0, loss)


def test_the_loss_of_a_small_batch_may_jump_higher() -> None:
    """The mean of a few tokens goes up and down by itself."""
    even = Place(step=WARM + 1, mean_loss=2.0, mean_square=0.01)
    assert [jump(even, 10.0, tokens) for tokens in (100_000, ENOUGH, ENOUGH // 4)] == [3.0, 3.0, 4.0]
