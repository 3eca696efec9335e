"""Where a number that is none came from."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqloom.data.cache import Examples
from seqloom.data.ragged import Ragged
from seqloom.tasks import Goals, Translate
from seqloom.training.diagnosis import diagnose, lines_of
from tests.tasks.small import WORDS, encoded, model_for, task_of

CROSS = {"kind": "attention", "heads": 2}


class Root(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sqrt()


def _model(middle: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), middle, nn.Linear(3, 3))


def _run(model: nn.Module) -> Tensor:
    model.zero_grad()
    loss = model(torch.ones(2, 3)).sum()
    loss.backward()
    return loss


def test_a_weight() -> None:
    model = _model(nn.Tanh())
    with torch.no_grad():
        model[2].weight[1, 1] = float("inf")
    assert diagnose(model, lambda: _run(model)) == "the weights 2.weight were not finite before the step"


def test_the_first_output() -> None:
    model = _model(Root())
    with torch.no_grad():
        model[0].bias.fill_(-100)
    assert diagnose(model, lambda: _run(model)) == "first in the output of 1 (Root)"


def test_a_gradient() -> None:
    model = _model(Root())
    with torch.no_grad():
        model[0].weight.zero_()
        model[0].bias.zero_()  # the slope of the root is infinite at 0
    assert diagnose(model, lambda: _run(model)) == "first in the gradient of the output of 0 (Linear)"


def test_the_loss_alone() -> None:
    model = _model(nn.Tanh())
    assert diagnose(model, lambda: _run(model) * float("nan")) == ("first in the loss; every layer's output is finite")


def test_all_finite_but_large() -> None:
    model = _model(nn.Tanh())
    with torch.no_grad():
        model[2].bias.fill_(1e6)
    assert diagnose(model, lambda: _run(model)) == "the largest value of a layer, 1e+06, is in the output of 2 (Linear)"


def test_nothing_stays_hooked() -> None:
    model = _model(nn.Tanh())
    diagnose(model, lambda: _run(model))
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())


@pytest.mark.parametrize(
    "mixer",
    [
        {"kind": "attention", "heads": 2},
        {"kind": "recurrence", "cell": "lstm"},
        {"kind": "recurrence", "cell": "gru"},
        {"kind": "convolution"},
        {"kind": "gated-linear"},
    ],
    ids=lambda mixer: mixer.get("cell", mixer["kind"]),
)
def test_every_kind_of_layer_can_be_watched(mixer: dict[str, object]) -> None:
    pairs = ["a b c", "d"], ["x", "y z y"]
    task = task_of(Translate(), "pairs", WORDS, *pairs)
    model = model_for(task, "encoder-decoder", dropout=0.1, mixer=mixer, cross=CROSS).float().train()
    batch = task.batch(encoded(task, *pairs))

    def run() -> Tensor:
        loss = task.loss(model, batch, Goals())
        loss.backward()
        return loss

    assert diagnose(model, run).startswith("the largest value of a layer, ")


def _examples(places: list[tuple[int, int]]) -> Examples:
    rows = Ragged.rows([[1] for _ in places])
    corpus, line = (np.asarray(part, np.int64) for part in zip(*places, strict=True))
    return Examples({"source": rows}, corpus, line)


def test_lines() -> None:
    files = ["a.tsv", "b.en and b.de"]
    assert lines_of(_examples([(1, 4), (0, 12), (0, 3), (0, 3)]), files) == "a.tsv:3, 12, b.en and b.de:4"
    assert lines_of(_examples([(0, line) for line in range(20)]), files) == "a.tsv:0, 1, 2, 3, 4, 5, 6, 7 and 12 more"
