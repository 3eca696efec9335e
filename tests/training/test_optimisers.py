"""Optimisers: the right rule for each parameter, the schedule's factor, and a state that goes on exactly."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seqloom.models import ModelSettings, Sizes, build_model
from seqloom.settings import SettingsError, loads
from seqloom.settings.base import Frozen
from seqloom.training.muon import orthogonal
from seqloom.training.optimisers import SGD, Adam, AdamW, Muon, Optimiser, OptimiserSettings, build_optimiser, clip
from seqloom.training.roles import roles

KINDS = [Adam(), AdamW(), AdamW(decay=0.1), Muon(), Muon(decay=0.1, nesterov=False), SGD(rate=0.1), SGD(decay=0.1)]


class Small(nn.Module):
    """With a tied, a frozen and an unused parameter."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(11, 8)
        self.up, self.down, self.norm = nn.Linear(8, 24), nn.Linear(24, 8), nn.LayerNorm(8)
        self.out = nn.Linear(8, 11)
        self.out.weight = self.table.weight
        self.fixed = nn.Linear(8, 8).requires_grad_(False)
        self.unused = nn.Parameter(torch.ones(3, 4))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.fixed(self.table(tokens))
        return self.out(self.norm(x + self.down(self.up(x).relu())))


def learn(model: nn.Module, optimiser: Optimiser, steps: range) -> list[float]:
    norms = []
    for step in steps:
        seed = torch.Generator().manual_seed(step)
        tokens, goal = torch.randint(11, (2, 16), generator=seed)
        model.zero_grad()
        nn.functional.cross_entropy(model(tokens), goal).backward()
        norms.append(float(clip(model, 0.5)))
        optimiser.step(1 / (1 + step))
    return norms


@pytest.mark.parametrize("settings", KINDS)
def test_it_goes_on_exactly_after_a_reload(settings: OptimiserSettings, tmp_path: Path) -> None:
    straight = Small()
    norms = learn(straight, build_optimiser(settings, straight), range(10))

    first = Small()
    optimiser = build_optimiser(settings, first)
    learn(first, optimiser, range(5))
    tensors, numbers = optimiser.state()
    save_file(tensors, tmp_path / "optimiser.safetensors")
    (tmp_path / "numbers.json").write_text(json.dumps(numbers))

    second = Small()
    second.load_state_dict(first.state_dict())
    again = build_optimiser(settings, second)
    again.load(load_file(tmp_path / "optimiser.safetensors"), json.loads((tmp_path / "numbers.json").read_text()))
    assert learn(second, again, range(5, 10)) == norms[5:]
    for name, weight in straight.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name]), name
    before, after = build_optimiser(settings, Small()).state()[0], again.state()[0]
    assert any(not torch.equal(before[name], after[name]) for name in before) or not before


@pytest.mark.parametrize("settings", KINDS)
def test_it_learns(settings: OptimiserSettings) -> None:
    model = Small()
    optimiser = build_optimiser(settings, model)
    tokens = torch.arange(11)
    losses = []
    for _ in range(60):
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens), tokens.roll(1))
        loss.backward()
        clip(model, 1.0)
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_tied_once_and_frozen_left_out() -> None:
    tensors, _ = build_optimiser(AdamW(), Small()).state()
    names = {name.rpartition("/")[0] for name in tensors}
    assert "table.weight" in names
    assert not names & {"out.weight", "fixed.weight", "fixed.bias"}


def test_state_says_what_does_not_fit() -> None:
    optimiser = build_optimiser(AdamW(), Small())
    tensors, numbers = optimiser.state()
    other = dict(tensors)
    other["down.weight/exp_avg"] = torch.zeros(3)
    other["left.weight/exp_avg"] = other.pop("up.weight/exp_avg")
    with pytest.raises(ValueError, match="another model") as caught:
        optimiser.load(other, {"steps": {**numbers["steps"], "new": 1}})
    said = str(caught.value)
    assert "up.weight/exp_avg is missing" in said
    assert "left.weight/exp_avg is unknown" in said
    assert "new/step is unknown" in said
    assert "down.weight/exp_avg is float32 (3,), not float32 (8, 24)" in said
    with pytest.raises(ValueError, match="momentum_buffer is missing"):
        build_optimiser(SGD(), Small()).load(tensors, numbers)


def test_refused_state_changes_nothing() -> None:
    model = Small()
    optimiser = build_optimiser(Adam(), model)
    learn(model, optimiser, range(2))
    before = {name: tensor.clone() for name, tensor in optimiser.state()[0].items()}
    with pytest.raises(ValueError, match="missing"):
        optimiser.load({}, {})
    assert all(torch.equal(before[name], tensor) for name, tensor in optimiser.state()[0].items())


def test_the_factor_scales_each_groups_own_rate() -> None:
    model = Small()
    optimiser = build_optimiser(Muon(rate=0.02, others=AdamW(rate=0.001)), model)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimiser.step(0.5)
    assert optimiser.rate(0.5) == 0.01
    moved = (before["norm.bias"] - model.norm.bias).abs()
    assert torch.allclose(moved, torch.tensor(0.0005))  # the first step of Adam is the rate itself
    optimiser.step(0.0)
    assert optimiser.rate(0.0) == 0


def test_gains_and_biases_do_not_decay() -> None:
    model = Small()
    optimiser = build_optimiser(AdamW(rate=0.1, decay=0.5), model)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimiser.step()
    after = dict(model.named_parameters())
    assert torch.equal(before["norm.weight"], after["norm.weight"])
    assert torch.equal(before["up.bias"], after["up.bias"])
    assert torch.allclose(before["up.weight"] * 0.95, after["up.weight"])
    assert torch.allclose(before["table.weight"] * 0.95, after["table.weight"])


def reference(kind: OptimiserSettings) -> Callable[[nn.Module], torch.optim.Optimizer]:
    match kind:
        case Adam():
            return lambda model: torch.optim.Adam(model.parameters(), 1e-3, (0.9, 0.98), 1e-9)
        case SGD():
            return lambda model: torch.optim.SGD(model.parameters(), 0.25, 0.99, nesterov=True)
        case _:
            return lambda model: torch.optim.AdamW(model.parameters(), 1e-3, (0.9, 0.98), 1e-8, weight_decay=0.0)


@pytest.mark.parametrize("settings", [Adam(), AdamW(decay=0.0), SGD()])
def test_as_torchs_own(settings: OptimiserSettings) -> None:
    ours, theirs = nn.Linear(5, 4), nn.Linear(5, 4)
    theirs.load_state_dict(ours.state_dict())
    optimiser, other = build_optimiser(settings, ours), reference(settings)(theirs)
    for step in range(4):
        x = torch.randn(6, 5, generator=torch.Generator().manual_seed(step))
        for model in (ours, theirs):
            model.zero_grad()
            model(x).square().mean().backward()
        optimiser.step()
        other.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_muon_as_torchs_own(shape: tuple[int, int]) -> None:
    """torch's runs the iteration in bfloat16, so only about."""
    ours = nn.Linear(shape[1], shape[0], bias=False)
    other = nn.Parameter(ours.weight.detach().clone())
    optimiser = build_optimiser(Muon(decay=0.1), ours)
    theirs = torch.optim.Muon([other], lr=0.02, weight_decay=0.1, momentum=0.95)
    for step in range(3):
        gradient = torch.randn(shape, generator=torch.Generator().manual_seed(step))
        ours.weight.grad, other.grad = gradient.clone(), gradient.clone()
        optimiser.step()
        theirs.step()
    torch.testing.assert_close(ours.weight, other, atol=2e-3, rtol=0)


def test_orthogonal_matrices_turn_every_direction_alike() -> None:
    x = torch.randn(3, 6, 20, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonal(x, 5, torch.float32))
    assert values.min() > 0.6
    assert values.max() < 1.3
    torch.testing.assert_close(orthogonal(x.mT, 5, torch.float32), orthogonal(x, 5, torch.float32).mT)


def test_roles_of_a_whole_model() -> None:
    settings = ModelSettings.model_validate(
        {
            "width": 8,
            "depth": 1,
            "mixer": {"kind": "attention", "heads": 2, "score": "additive"},
            "positions": {"kind": "learned", "length": 10},
            "feed_forward": {"kind": "experts", "experts": 2, "width": 16},
            "tie": "all",
        }
    )
    model = build_model(settings, Sizes(source=13, target=13))
    by_role: dict[str, set[str]] = {}
    for name, role in roles(model).items():
        by_role.setdefault(role, set()).add(name.rpartition(".")[2] if role != "matrix" else name)
    assert {"in_EDF", "out_EFD"} == by_role["stack"]
    assert {"weight_VD", "weight_PD", "gate_DE", "query_HKA"} <= by_role["table"]
    assert {"gain_D", "in_EF", "out_ED", "bias_HA"} <= by_role["vector"]
    assert all(name.endswith((".weight", "weight")) for name in by_role["matrix"])
    assert any("qkv" in name for name in by_role["matrix"])
    optimiser = build_optimiser(Muon(), model)
    for index, parameter in enumerate(model.parameters()):
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(index))
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimiser.step()
    assert [name for name, parameter in model.named_parameters() if torch.equal(before[name], parameter)] == []


def test_a_recurrent_layers_weights_are_matrices() -> None:
    assert set(roles(nn.LSTM(4, 6)).values()) == {"matrix", "vector"}


def test_clip_measures_and_limits() -> None:
    model = nn.Linear(3, 1)
    assert float(clip(model, 1.0)) == 0  # no gradients yet
    model.weight.grad = torch.tensor([[3.0, 0.0, 4.0]])
    assert float(clip(model, None)) == 5
    assert float(clip(model, 1.0)) == 5
    torch.testing.assert_close(model.weight.grad, torch.tensor([[0.6, 0.0, 0.8]]))


def test_nothing_to_train_is_said() -> None:
    with pytest.raises(ValueError, match="no parameters that are trained"):
        build_optimiser(Adam(), nn.Linear(2, 2).requires_grad_(False))


class Holder(Frozen):
    optimiser: OptimiserSettings


def test_settings_from_a_recipe() -> None:
    text = 'optimiser = { kind = "muon", others = { kind = "adamw", betas = [0.9, 0.95] } }'
    settings = loads(text, Holder).optimiser
    assert isinstance(settings, Muon)
    assert settings.others.betas == (0.9, 0.95)
    with pytest.raises(SettingsError, match="nesterov looks ahead along the momentum"):
        loads('optimiser = { kind = "sgd", momentum = 0.0 }', Holder)


def test_no_compiler_is_imported() -> None:
    """Its import would take longer than a first step."""
    code = (
        "import sys, torch\n"
        "from seqloom.training.optimisers import SGD, Adam, AdamW, Muon, build_optimiser, clip\n"
        "for settings in (Adam(), AdamW(), Muon(), SGD()):\n"
        "    model = torch.nn.Linear(3, 3)\n"
        "    optimiser = build_optimiser(settings, model)\n"
        "    model(torch.ones(2, 3)).sum().backward()\n"
        "    clip(model, 1.0)\n"
        "    optimiser.step(1.0)\n"
        "    model.zero_grad()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
