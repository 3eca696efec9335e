"""The laws, each told once for every mixer and every model. A law returns nothing; it fails by an assertion."""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import Tensor

from seqloom.layers.layout import Layout
from seqloom.layers.mixer import fan_out, fork, join, reorder, roomy
from seqloom.layers.paths import only_plain
from tests.laws.subject import Form, Row, Subject, outputs

PACKED = Form("packed")


def close(a: Tensor, b: Tensor, what: str, slack: float = 1) -> None:
    tolerance = slack * (1e-9 if a.dtype == torch.float64 else 2e-5)
    assert a.shape == b.shape, f"{what}: {tuple(a.shape)} and {tuple(b.shape)}"
    worst = (a - b).abs().max().item() if a.numel() else 0.0
    scale = max(1.0, b.abs().max().item() if b.numel() else 0.0)
    assert worst <= tolerance * scale, f"{what}: off by {worst:.2e}"


def same(a: Sequence[Tensor], b: Sequence[Tensor], what: str, slack: float = 1) -> None:
    for number, (one, other) in enumerate(zip(a, b, strict=True)):
        close(one, other, f"{what}, number {number}", slack)


@torch.no_grad()
def future_changes_nothing(subject: Subject, rows: list[Row], form: Form, cuts: list[int]) -> None:
    """1. What comes later does not change what came before."""
    if not subject.causal:
        return
    before, _ = outputs(subject, rows, form)
    changed = [
        Row(torch.cat((row.x[:cut], subject.draw(len(row.x) - cut))), row.memory) for row, cut in _at(rows, cuts)
    ]
    after, _ = outputs(subject, changed, form)
    for number, (a, b, cut) in enumerate(zip(before, after, cuts, strict=True)):
        close(b[:cut], a[:cut], f"the future of row {number} changed its first {cut} steps")


def _at(rows: list[Row], cuts: list[int]) -> list[tuple[Row, int]]:
    return list(zip(rows, cuts, strict=True))


@torch.no_grad()
def padding_changes_nothing(subject: Subject, rows: list[Row], form: Form) -> None:
    """2. Nor does who shares the batch: each row alone gives the same."""
    together, _ = outputs(subject, rows, form)
    alone = [outputs(subject, [row], PACKED)[0][0] for row in rows]
    same(together, alone, f"a row in a batch ({form.kind}) and alone")


@torch.no_grad()
def parts_are_the_whole(
    subject: Subject, rows: list[Row], cuts: list[list[int]], forms: list[Form], capacity: int | None
) -> None:
    """3. A state continues exactly, wherever each row is cut, with padding between the parts or not."""
    if not subject.causal:
        return
    whole, _ = outputs(subject, rows, PACKED)
    state = subject.start(rows, capacity)
    collected: list[list[Tensor]] = [[] for _ in rows]
    for part, form in enumerate(forms):
        pieces = [Row(row.x[ends[part] : ends[part + 1]], row.memory) for row, ends in zip(rows, cuts, strict=True)]
        ys, state = outputs(subject, pieces, form, state)
        for pile, y in zip(collected, ys, strict=True):
            pile.append(y)
    same([torch.cat(pile) for pile in collected], whole, "in parts and at once")


@torch.no_grad()
def reordering_commutes(subject: Subject, rows: list[Row], step: list[Row], order: list[int]) -> None:
    """4. Step, then reorder = reorder, then step."""
    if not subject.causal:
        return
    _, state = outputs(subject, rows, Form("right"), subject.start(rows, None))
    index = torch.tensor(order)
    moved = reorder(state, index)
    first, after = outputs(subject, step, Form("right"), state)
    second, moved_after = outputs(subject, [step[i] for i in order], Form("right"), moved)
    same(second, [first[i] for i in order], "reordered before and behind a step")
    for a, b in zip(_tensors(reorder(after, index)), _tensors(moved_after), strict=True):
        close(b, a, "states reordered before and behind a step")


@torch.no_grad()
def rows_join_later(subject: Subject, rows: list[Row], begun: list[list[int]], capacity: int | None) -> None:
    """Rows that join others, each behind its own steps so far, go on as if they were alone.

    begun: for each state that is to be joined, how many steps of each of its rows have gone before.
    """
    if not subject.causal:
        return
    alone = [outputs(subject, [row], PACKED)[0][0] for row in rows]
    states, first = [], 0
    for steps in begun:
        part = rows[first : first + len(steps)]
        given = [Row(row.x[:n], row.memory) for row, n in zip(part, steps, strict=True)]
        states.append(outputs(subject, given, Form("right"), subject.start(part, capacity))[1])
        first += len(steps)
    at = [n for steps in begun for n in steps]
    state = join(states)
    for _ in range(2):
        nexts = [Row(row.x[n : n + 1], row.memory) for row, n in zip(rows, at, strict=True)]
        ys, state = outputs(subject, nexts, Form("right"), state)
        wanted = [y[n : n + 1] for y, n in zip(alone, at, strict=True)]
        same(ys, wanted, "rows that joined and rows that were alone")
        at = [n + len(row.x) for n, row in zip(at, nexts, strict=True)]


@torch.no_grad()
def hypotheses_fork(subject: Subject, rows: list[Row], times: int, draw: random.Random) -> None:
    """Rows that fan out, fork, leave and are joined, all in buffers with room, go on as rows that are copied.

    Each row begins with two steps; the steps behind them are those of any row of the batch, so that forks differ.
    """
    if not subject.causal:
        return
    begun = [Row(row.x[:2], row.memory) for row in rows]
    plain = outputs(subject, begun, Form("right"), subject.start(rows, None))[1]
    shared = roomy(fan_out(plain, times), 3)
    plain = reorder(plain, torch.arange(len(rows)).repeat_interleave(times))
    items = list(range(len(rows)))
    for number in range(6):
        nexts = [Row(_step(draw.choice(rows).x, draw), rows[item].memory) for item in items for _ in range(times)]
        wanted, plain = outputs(subject, nexts, Form("right"), plain)
        ys, shared = outputs(subject, nexts, Form("right"), shared)
        same(ys, wanted, "rows that share and rows that are copied")
        stay = [place for place in range(len(items)) if draw.random() < 0.8] or [0]
        origins = torch.tensor([place * times + draw.randrange(times) for place in stay for _ in range(times)])
        shared = fork(shared, origins) if len(stay) == len(items) else reorder(shared, origins)
        plain, items = reorder(plain, origins), [items[place] for place in stay]
        if number == 2:
            shared, plain, items = join([shared, shared]), join([plain, plain]), items * 2


def _step(x: Tensor, draw: random.Random) -> Tensor:
    at = draw.randrange(len(x))
    return x[at : at + 1]


def _tensors(state: Any) -> list[Tensor]:
    if isinstance(state, Tensor):
        return [state]
    if isinstance(state, tuple):
        return [tensor for part in state for tensor in _tensors(part)]
    if hasattr(state, "__dataclass_fields__"):
        return [tensor for name in state.__dataclass_fields__ for tensor in _tensors(getattr(state, name))]
    return []


def paths_agree(subject: Subject, rows: list[Row], form: Form) -> None:
    """5. Packed = padded; the fast path = the equation; and so are their gradients."""
    fast, fast_grads = _with_gradients(subject, rows, PACKED)
    padded, padded_grads = _with_gradients(subject, rows, form)
    with only_plain():
        plain, plain_grads = _with_gradients(subject, rows, Form("right"))
    same(fast, plain, "fast and plain path")
    same(padded, plain, f"{form.kind} and plain path")
    # rounding adds up over tokens and layers, and is as large as the largest gradient makes it
    slack = 10 * max(1.0, *(grad.abs().max().item() for grad in plain_grads if grad.numel()))
    same(fast_grads, plain_grads, "gradients of fast and plain path", slack)
    same(padded_grads, plain_grads, f"gradients of {form.kind} and plain path", slack)


def _with_gradients(subject: Subject, rows: list[Row], form: Form) -> tuple[list[Tensor], list[Tensor]]:
    subject.module.zero_grad()
    rows = [Row(row.x.clone().requires_grad_(row.x.is_floating_point()), row.memory) for row in rows]
    ys, _ = outputs(subject, rows, form)
    torch.cat([y.flatten() for y in ys]).sin().sum().backward()
    learned = [*subject.module.parameters(), *(row.x for row in rows)]
    return [y.detach() for y in ys], [torch.zeros(1) if p.grad is None else p.grad for p in learned]


@torch.no_grad()
def order_is_unseen(subject: Subject, row: Row, order: Tensor) -> None:
    """6. Without positions, attention takes a set: permuting the input permutes the output."""
    (y,), _ = outputs(subject, [row], PACKED)
    (moved,), _ = outputs(subject, [Row(row.x[order], row.memory)], PACKED)
    close(moved, y[order], "permuted before and behind")


@torch.no_grad()
def loaded_is_the_same(subject: Subject, fresh: Subject, rows: list[Row]) -> None:
    """7. Save, load = the same model; `fresh` has the same settings and other weights."""
    before, _ = outputs(subject, rows, PACKED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save_model(subject.module, str(path))
        missing, unexpected = load_model(fresh.module, str(path))
    assert (missing, unexpected) == (set(), [])
    after, _ = outputs(fresh, rows, PACKED)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True)), "not the same bits after loading"


def gradients_are_right(subject: Subject, rows: list[Row]) -> None:
    """8. Gradients agree with finite differences (float64), for a packed and a padded batch, for input and weights."""
    lengths = [len(row.x) for row in rows]
    parameters = [p for p in subject.module.parameters() if p.requires_grad]
    x = torch.cat([row.x for row in rows])
    floats = [x.requires_grad_()] if x.is_floating_point() else []
    for form in PACKED, Form("right"):
        layout = form.layout(lengths)
        # only real outputs count, and of these a fixed random mixture: one number is quick to differentiate
        mixture = torch.Generator().manual_seed(3)

        def total(*_: Tensor, form: Form = form, layout: Layout = layout, mixture: torch.Generator = mixture) -> Tensor:
            mixture.manual_seed(3)
            y, out, _after = subject.run(form.join(x.split(lengths), layout), layout, subject.begin(rows, form))
            real = torch.cat(form.split(y, out, out.lengths_B.tolist()))
            return (real * torch.randn(real.shape, generator=mixture, dtype=real.dtype)).sum()

        assert torch.autograd.gradcheck(total, (*floats, *parameters), eps=1e-6, atol=1e-5, rtol=1e-4, fast_mode=True)
