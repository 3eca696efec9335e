"""Tiles of several rows: the equation, forward and back, also with dropout; and a recorded step is the step."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.layers.layout import Packed
from seqloom.layers.masks import Sight
from seqloom.layers.varlen import attend_packed, seen
from seqloom.tasks import Batch, Goals
from seqloom.training.ema import Ema, MovingAverage
from seqloom.training.optimisers import AdamW, Muon, build_optimiser
from seqloom.training.recorder import SEEN, Knobs, Recorder
from seqloom.training.step import Work
from tests.training.small import small

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

LENGTHS = [27, 1, 64, 3, 130, 9, 40, 200]
SIGHTS = [Sight(), Sight(causal=True), Sight(causal=True, window=7), Sight(block=16), Sight(window=40)]


def _dense(q: Tensor, k: Tensor, v: Tensor, see_NM: Tensor, scale: float, kept_HNM: Tensor | None = None) -> Tensor:
    """The equation in float64: y_NHK."""
    shared = q.shape[1] // k.shape[1]
    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    k, v = k.repeat_interleave(shared, 0), v.repeat_interleave(shared, 0)
    weights = (q @ k.mT * scale).masked_fill(~see_NM, -math.inf).softmax(-1)
    weights = weights if kept_HNM is None else weights * kept_HNM
    return (weights @ v).transpose(0, 1)


def _see(queries: Packed, keys: Packed, sight: Sight) -> Tensor:
    ranges, key_M = seen(queries, keys, sight), torch.arange(len(keys.row_N), device="cuda")
    return (key_M >= ranges[0][:, None]) & (key_M < ranges[1][:, None])


def _close(one: Tensor, other: Tensor) -> None:
    assert (one.double() - other.double()).norm() / other.double().norm() < 8e-3


@pytest.mark.parametrize("sight", SIGHTS, ids=str)
@pytest.mark.parametrize(("heads", "groups", "width"), [(4, 4, 64), (4, 2, 32), (2, 1, 24), (2, 2, 128)])
def test_tiles_are_the_equation(sight: Sight, heads: int, groups: int, width: int) -> None:
    torch.manual_seed(0)
    layout = Packed.of(LENGTHS, device="cuda")
    N = len(layout.row_N)
    made = [torch.randn(N, h, width, device="cuda", dtype=torch.bfloat16) for h in (heads, groups, groups)]
    q, k, v = (x.requires_grad_() for x in made)
    y = attend_packed(q, k, v, layout, layout, width**-0.5, sight)
    wanted = _dense(q, k, v, _see(layout, layout, sight), width**-0.5)
    _close(y, wanted)
    pull = torch.randn_like(y)
    for grad, other in zip(
        torch.autograd.grad(y, (q, k, v), pull), torch.autograd.grad(wanted, (q, k, v), pull.double()), strict=True
    ):
        _close(grad, other)


def test_tiles_over_another_sequence_in_a_frame() -> None:
    torch.manual_seed(0)
    sources = [11, 90, 2, 33, 5, 70, 1, 44]
    queries = Packed.of(LENGTHS, tokens=512, rows=10, longest=256, device="cuda")
    keys = Packed.of(sources, tokens=300, rows=10, longest=128, device="cuda")
    q = torch.randn(512, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    k, v = (torch.randn(300, 2, 64, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(2))
    y = attend_packed(q, k, v, queries, keys, 0.125, Sight())
    real, M = sum(LENGTHS), sum(sources)
    wanted = _dense(q[:real], k[:M], v[:M], _see(queries, keys, Sight())[:real, :M], 0.125)
    _close(y[:real], wanted)
    assert not y[real:].any()
    grads = torch.autograd.grad(y.double().square().sum(), (q, k, v), retain_graph=True)
    for grad, other, size in zip(
        grads, torch.autograd.grad(wanted.square().sum(), (q, k, v)), (real, M, M), strict=True
    ):
        _close(grad[:size], other[:size])
        assert not grad[size:].any()


def test_dropout_drops_the_same_there_and_back() -> None:
    rate, layout = 0.3, Packed.of([20, 40, 4], device="cuda")
    q, k = (torch.randn(64, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
    see = _see(layout, layout, Sight(causal=True))

    def run(v: Tensor) -> Tensor:
        torch.manual_seed(7)
        return attend_packed(q, k, v, layout, layout, 0.125, Sight(causal=True), rate)

    eye = torch.eye(64, device="cuda", dtype=torch.bfloat16)[:, None].expand(-1, 2, -1).contiguous()
    weights_HNM = run(eye).detach().transpose(0, 1)
    kept_HNM = (weights_HNM > 0).double() / (1 - rate)
    share = (weights_HNM > 0).sum() / (2 * see.sum())
    assert abs(float(share) - (1 - rate)) < 0.05
    v = torch.randn(64, 2, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    y, wanted = run(v), _dense(q, k, v, see, 0.125, kept_HNM)
    _close(y, wanted)
    pull = torch.randn_like(y)
    for grad, other in zip(
        torch.autograd.grad(y, (q, k, v), pull), torch.autograd.grad(wanted, (q, k, v), pull.double()), strict=True
    ):
        _close(grad, other)


MODELS: list[dict[str, Any]] = [
    {"mixer": {"kind": "attention", "heads": 2}},
    {"mixer": {"kind": "recurrence", "cell": "lstm"}},
    {
        "mixer": {"kind": "recurrence", "cell": "gru", "directions": "both"},
        "decoder": {"mixer": {"kind": "recurrence"}},
    },
    {"mixer": {"kind": "convolution", "kernel": 3}},
]


@pytest.mark.parametrize("optimiser", [AdamW(rate=0.01, epsilon=1e-3), Muon(rate=0.01)], ids=lambda each: each.kind)
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_a_recorded_step_is_the_step(number: int, optimiser: Any, tmp_path: Any) -> None:
    made, more = small(tmp_path), MODELS[number]
    (examples,) = made.cache.read([0])
    batches: list[Batch] = [made.task.batch(examples.take(part)) for part in np.array_split(np.arange(47), 2)] * 6
    ends = []
    for records in False, True:
        torch.manual_seed(3)
        model = made.model(dropout=0.2, cross={"kind": "attention", "heads": 2}, **more).cuda()
        work = Work(made.task, model, Goals(0.1), torch.device("cuda"), None, 1, lambda text: None)
        ema, notes = MovingAverage(Ema(decay=0.9), model), list[str]()
        recorder = Recorder(work, build_optimiser(optimiser, model), ema, 1.0, 64, notes.append)
        recorder.records = records
        told = []
        for step, batch in enumerate(batches, 1):
            awaited = recorder.step(step, batch, Knobs(0.5, math.inf, 0.1))
            assert awaited is not None
            told.append(awaited.read())
        assert not notes
        assert bool(recorder._recordings) == (records and len(batches) > 2 * SEEN)
        ends.append((told, {name: value.clone() for name, value in ema.weights().items()}))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-3)
    for name, value in ends[0][1].items():
        torch.testing.assert_close(value, ends[1][1][name], rtol=0, atol=2e-3)
