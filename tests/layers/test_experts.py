"""A mixture of experts: gates, noise, balance, capacity, and what padding must not do."""
# N tokens  D width  E experts  k experts a token

import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from seqloom.layers.experts import Experts, ExpertsReport, MixtureOfExperts
from seqloom.layers.layout import Layout, Packed, Padded
from seqloom.layers.paths import only_plain
from tests.examples import many

D = 6


def built(settings: Experts, seed: int = 0) -> MixtureOfExperts:
    """The gates are random: they begin at zero, where all experts tie."""
    torch.manual_seed(seed)
    layer = MixtureOfExperts(settings, D).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
    return layer


def tokens(count: int, seed: int = 1) -> Tensor:
    return torch.randn(count, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def expert(layer: MixtureOfExperts, e: int, x: Tensor) -> Tensor:
    hidden = (x @ layer.in_EDF[e] + layer.in_EF[e]).clamp(min=0)
    return hidden @ layer.out_EFD[e] + layer.out_ED[e]


@pytest.mark.parametrize("active", [1, 2, 4])
def test_the_equation(active: int) -> None:
    """Eq. 1-5 without noise: y = Σ G(x)_e E_e(x), G(x) = softmax(keep the top k of xW)."""
    layer = built(Experts(experts=4, active=active, width=5, capacity=0.1)).eval()
    x = tokens(9)
    y, report = layer(x, Packed.of([9]))
    with only_plain():
        torch.testing.assert_close(layer(x, Packed.of([9]))[0], y)
    loads = [0] * 4
    for n in range(9):
        logits = (x[n] @ layer.gate_DE).detach().numpy()
        top = np.argsort(-logits)[:active]
        gates = np.exp(logits[top]) / np.exp(logits[top]).sum()
        expected = sum(gate * expert(layer, int(e), x[n]) for gate, e in zip(gates, top, strict=True))
        torch.testing.assert_close(y[n], expected)
        for e in top:
            loads[e] += 1
    assert report.loads[0].tolist() == loads
    assert (report.routed, report.dropped) == (9 * active, 0)  # a capacity counts while training only


def noisy(layer: MixtureOfExperts, x: Tensor, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clean scores, scores with the noise of this seed, and the noise's deviation (eq. 4)."""
    assert layer.noise_DE is not None
    torch.manual_seed(seed)
    noise = torch.randn(len(x), layer.settings.experts, dtype=torch.float64).numpy()
    clean = (x @ layer.gate_DE).detach().numpy()
    spread = np.log1p(np.exp((x @ layer.noise_DE).detach().numpy())) + 1e-2
    return clean, clean + noise * spread, spread


def unevenness(x: np.ndarray) -> float:
    """The squared coefficient of variation; of a sample, hence over E - 1."""
    return x.var() / x.mean() ** 2


@pytest.mark.parametrize(("importance", "load"), [(1.0, 0.0), (0.0, 1.0), (0.3, 0.7)])
@pytest.mark.parametrize("active", [1, 2])
def test_importance_and_load_losses(importance: float, load: float, active: int) -> None:
    """Eq. 6-7 and appendix A, eq. 8-11, in NumPy with the same noise."""
    layer = built(Experts(experts=4, active=active, width=5, importance=importance, load=load)).train()
    x = tokens(7)
    clean, with_noise, spread = noisy(layer, x, seed=3)
    torch.manual_seed(3)
    _, report = layer(x, Packed.of([7]))
    shares, chances = np.zeros(4), np.zeros(4)
    for n in range(7):
        top = np.argsort(-with_noise[n])[:active]
        shares[top] += np.exp(with_noise[n, top]) / np.exp(with_noise[n, top]).sum()
        for e in range(4):
            others = np.sort(np.delete(with_noise[n], e))[::-1]
            z = (clean[n, e] - others[active - 1]) / spread[n, e]  # the k-th highest of the other experts
            chances[e] += 0.5 * (1 + math.erf(z / math.sqrt(2)))
    expected = importance * unevenness(shares) + load * unevenness(chances)
    assert report.loss.item() == pytest.approx(expected, rel=1e-6)


def test_without_noise_only_importance_counts() -> None:
    layer = built(Experts(experts=4, width=5, noise=False)).train()
    assert layer.noise_DE is None
    x = tokens(7)
    _, report = layer(x, Packed.of([7]))
    top = (x @ layer.gate_DE).topk(2, -1)
    shares = torch.zeros(7, 4).double().scatter(1, top.indices, top.values.softmax(-1)).sum(0)
    assert report.loss.item() == pytest.approx(0.1 * unevenness(shares.detach().numpy()), rel=1e-6)


def test_balanced_routing_costs_less() -> None:
    """Each token its own favourite, or all of them the same one."""
    layer = built(Experts(experts=D, active=1, width=5, noise=False)).train()
    with torch.no_grad():
        layer.gate_DE.copy_(torch.eye(D) * 5)
    _, even = layer(torch.eye(D).double(), Packed.of([D]))
    _, uneven = layer(torch.eye(D)[:1].expand(D, -1).double(), Packed.of([D]))
    assert even.loss.item() == pytest.approx(0, abs=1e-9)
    assert even.loads[0].tolist() == [1] * D
    assert uneven.loads[0].tolist() == [D, 0, 0, 0, 0, 0]
    assert uneven.loss > 0.1


def test_one_expert_is_never_uneven() -> None:
    layer = built(Experts(experts=1, active=1)).train()
    y, report = layer(tokens(3), Packed.of([3]))
    assert report.loss == 0
    torch.testing.assert_close(y, expert(layer, 0, tokens(3)))


def everyone_to(layer: MixtureOfExperts, first: int, second: int) -> None:
    """All tokens (with a 1 in front) want these two experts, in this order."""
    with torch.no_grad():
        layer.gate_DE.zero_()
        layer.gate_DE[0, first], layer.gate_DE[0, second] = 3.0, 2.0


@pytest.mark.parametrize("path", ["fast", "plain"])
def test_capacity(path: str) -> None:
    """8 tokens, 2 of 4 experts each: an even share is 4. With a capacity of 0.75 an expert takes 3; both full ones
    turn 5 away, and these tokens get nothing from them."""
    layer = built(Experts(experts=4, width=5, noise=False, capacity=0.75)).train()
    everyone_to(layer, 2, 0)
    x = tokens(8)
    x[:, 0] = 1
    if path == "fast":
        y, report = layer(x, Packed.of([8]))
    else:
        with only_plain():
            y, report = layer(x, Packed.of([8]))
    assert (report.routed, report.dropped) == (16, 10)
    assert report.loads[0].tolist() == [3, 0, 3, 0]
    first, second = torch.tensor([3.0, 2.0]).double().softmax(-1)
    kept = first * expert(layer, 2, x[:3]) + second * expert(layer, 0, x[:3])
    torch.testing.assert_close(y[:3], kept)
    assert (y[3:] == 0).all()


def test_first_choices_come_before_second_ones() -> None:
    """Two tokens have expert 1 as second choice, and stand before the one that has it as first: it goes first."""
    layer = built(Experts(experts=2, width=5, noise=False, capacity=2 / 3)).train()
    with torch.no_grad():
        layer.gate_DE.zero_()
        layer.gate_DE[0, 0] = 1.0
    x = tokens(3)
    x[:, 0] = torch.tensor([1.0, 1.0, -1.0])
    y, report = layer(x, Packed.of([3]))
    # places: ceil(2/3 · 2 · 3 / 2) = 2. Expert 0: tokens 0 and 1. Expert 1: token 2, then token 0.
    assert report.loads[0].tolist() == [2, 2]
    assert (report.routed, report.dropped) == (6, 2)
    high, low = torch.tensor([1.0, 0.0]).double().softmax(-1)
    torch.testing.assert_close(y[0], high * expert(layer, 0, x[0]) + low * expert(layer, 1, x[0]))
    torch.testing.assert_close(y[1], high * expert(layer, 0, x[1]))
    torch.testing.assert_close(y[2], high * expert(layer, 1, x[2]))


@many
@given(
    count=st.integers(1, 30),
    experts=st.integers(1, 6),
    active=st.integers(1, 3),
    capacity=st.sampled_from([0.1, 0.5, 1.0, 1.5, 10.0]),
    seed=st.integers(0, 99),
)
def test_what_was_routed_was_taken_or_dropped(
    count: int, experts: int, active: int, capacity: float, seed: int
) -> None:
    active = min(active, experts)
    layer = built(Experts(experts=experts, active=active, width=3, capacity=capacity), seed).train()
    torch.manual_seed(seed)
    _, report = layer(tokens(count, seed), Packed.of([count]))
    room = math.ceil(capacity * active * count / experts)
    assert report.routed == count * active
    assert report.loads[0].sum() + report.dropped == report.routed
    assert report.loads[0].max() <= room
    torch.manual_seed(seed)
    with only_plain():
        _, plain = layer(tokens(count, seed), Packed.of([count]))
    assert torch.equal(plain.loads[0], report.loads[0])
    _, rested = layer.eval()(tokens(count, seed), Packed.of([count]))
    assert (rested.routed, rested.dropped) == (count * active, 0)


@pytest.mark.parametrize("capacity", [None, 1.0])
@pytest.mark.parametrize("noise", [True, False])
def test_gradients_reach_gates_and_experts(capacity: float | None, noise: bool) -> None:
    layer = built(Experts(experts=4, width=5, capacity=capacity, noise=noise)).train()
    y, report = layer(tokens(20), Packed.of([20]))
    (y.square().sum() + report.loss).backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any(), name


def test_the_answer_alone_teaches_the_gates() -> None:
    layer = built(Experts(experts=4, width=5, importance=0, load=0)).train()
    y, report = layer(tokens(20), Packed.of([20]))
    assert report.loss == 0
    y.square().sum().backward()
    assert layer.gate_DE.grad is not None
    assert (layer.gate_DE.grad != 0).any()


def with_junk(x: Tensor, lengths: list[int]) -> list[tuple[Layout, Tensor]]:
    """Filler behind the tokens, and padding before them: all of it would love the same experts."""
    junk = torch.full((4, D), 50.0, dtype=torch.float64)
    width = max(lengths) + 1
    left = junk[:1].expand(len(lengths), width, D).clone()
    for b, row in enumerate(x.split(lengths)):
        left[b, width - len(row) :] = row
    framed = Packed.of(lengths, tokens=len(x) + 4, rows=len(lengths), longest=max(lengths))
    return [(framed, torch.cat((x, junk))), (Padded.of(lengths, width, [width - n for n in lengths]), left)]


@pytest.mark.parametrize("training", [True, False])
def test_padding_and_filler_are_not_routed(training: bool) -> None:
    settings = Experts(experts=4, width=5, noise=False, capacity=100.0)
    layer, lengths = built(settings).train(training), [3, 0, 2]
    x = tokens(5)
    y, expected = layer(x, Packed.of(lengths))
    for layout, given_x in with_junk(x, lengths):
        z, report = layer(given_x, layout)
        assert layout.real is not None
        torch.testing.assert_close(z[layout.real], y)
        assert (z[~layout.real] == 0).all()
        for name in ExpertsReport.__dataclass_fields__:
            torch.testing.assert_close(getattr(report, name), getattr(expected, name), msg=name)


@pytest.mark.parametrize(("capacity", "dropped"), [(4.0, 0), (2.0, 1), (1.0, 2)])
@pytest.mark.parametrize("path", ["fast", "plain"])
def test_filler_takes_no_place_and_gives_none(path: str, capacity: float, dropped: int) -> None:
    """Junk stands in front of the real tokens, wants their expert, and must neither fill it nor make it larger."""
    layer = built(Experts(experts=4, active=1, width=5, noise=False, capacity=capacity)).train()
    everyone_to(layer, 2, 0)
    x = tokens(12).view(2, 6, D)
    x[..., 0] = 1
    # of twelve three are real: room for ceil(capacity · 3 / 4)
    with only_plain() if path == "plain" else nullcontext():
        _, report = layer(x, Padded.of([2, 1], 6, [4, 5]))
    assert (report.routed, report.dropped) == (3, dropped)
    assert report.loads[0].tolist() == [0, 0, 3 - dropped, 0]


@pytest.mark.parametrize("capacity", [0.5, 1.0, 2.0, 9.0])
def test_flops_of_all_places(capacity: float) -> None:
    """Counted while they run, whether somebody takes them or not; no expert has more than one for each token."""
    settings = Experts(experts=4, active=2, width=5, capacity=capacity)
    layer = built(settings).train()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(tokens(16), Packed.of([16]))
    assert counter.get_total_flops() == 16 * settings.cost(D).flops


def test_reports_add_up() -> None:
    layer = built(Experts(experts=4, width=5, capacity=0.5)).train()
    one, other = (layer(tokens(9, seed), Packed.of([9]))[1] for seed in (1, 2))
    both = one + other
    for name in ExpertsReport.__dataclass_fields__:
        torch.testing.assert_close(getattr(both, name), getattr(one, name) + getattr(other, name))


def test_noise_only_while_training() -> None:
    layer = built(Experts(experts=4, width=5))
    x, layout = tokens(9), Packed.of([9])
    assert torch.equal(layer.eval()(x, layout)[0], layer(x, layout)[0])
    layer.train()
    assert not torch.equal(layer(x, layout)[0], layer(x, layout)[0])


def test_a_fresh_mixture_tries_all_experts() -> None:
    """Gates begin at zero, so that at first the noise alone decides."""
    torch.manual_seed(0)
    layer = MixtureOfExperts(Experts(experts=4, width=5), D).train()
    _, report = layer(torch.randn(400, D), Packed.of([400]))
    assert report.loads[0].min() > 150
    assert report.loads[0].max() < 250
