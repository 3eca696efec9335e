"""A whole model's step by our kernels is that of the plain lines; with dropout it is a function of the seed alone."""

from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.layers.native.compiler import find_compiler
from seqloom.layers.paths import only_plain
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

SOURCE, TARGET = Packed.of([30, 41, 12, 3]), Packed.of([28, 40, 9, 7])
OURS = {"_AttendItselfBackward", "_AttendOverBackward", "_NativeMapsBackward", "_NormedBackward", "_TokenLossBackward"}


def model_of(place: str, activation: str, dropout: float) -> Any:
    torch.manual_seed(0)
    settings = {
        "family": "encoder-decoder",
        "width": 64,
        "depth": 2,
        "mixer": {"kind": "attention", "heads": 2, "dropout": dropout},
        "feed_forward": {"kind": "dense", "activation": activation, "dropout": dropout},
        "norm": {"kind": "layer", "place": place},
        "dropout": dropout,
        "tie": "all",
    }
    return build_model(ModelSettings.model_validate(settings), Sizes(99, 99)).train()


def step(model: Any) -> tuple[Tensor, dict[str, Tensor], set[str]]:
    """The loss, all gradients, and who made them."""
    chance = torch.Generator().manual_seed(1)
    source, given, goal = (torch.randint(99, (n,), generator=chance) for n in (86, 84, 84))
    torch.manual_seed(3)
    output = model(source, SOURCE, given, TARGET)
    loss = model.head.loss(output.hidden, TARGET, goal, smoothing=0.1)
    names, todo = set[str](), [loss.grad_fn]
    while todo:
        node = todo.pop()
        names.add(node.name())
        todo += [before for before, _ in node.next_functions if before is not None]
    model.zero_grad()
    loss.backward()
    return loss.detach(), {name: part.grad.clone() for name, part in model.named_parameters()}, names


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu-tanh"])
def test_it_is_the_plain_step(place: str, activation: str) -> None:
    model = model_of(place, activation, 0.0)
    loss, gradients, names = step(model)
    assert names >= OURS
    with only_plain():
        wanted, plain, others = step(model.double())
    assert not others & OURS
    torch.testing.assert_close(loss.double(), wanted, rtol=1e-6, atol=0)
    for name, gradient in gradients.items():
        top = plain[name].abs().max().item()
        torch.testing.assert_close(gradient.double(), plain[name], rtol=1e-4, atol=2e-5 * top + 1e-5, msg=name)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_chance_is_a_function_of_the_seed(place: str) -> None:
    """To the last bit: a run that is resumed ends as one that never stopped. Threads change only torch's products."""
    model, before, found = model_of(place, "relu", 0.2), torch.get_num_threads(), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(step(model))
    torch.set_num_threads(before)
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-6, atol=0)
    bare, _, _ = step(model.eval())
    assert not torch.equal(found[0][0], bare)
    again = step(model.train())
    assert torch.equal(found[0][0], again[0])
    assert all(torch.equal(gradient, again[1][name]) for name, gradient in found[0][1].items())
