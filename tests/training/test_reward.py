"""The estimate of the expected reward's gradient, against the exact one of a model whose answers can be counted."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.models.build import Model
from seqloom.models.undisturbed import undisturbed
from seqloom.tasks import Goals, Translate
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END
from seqloom.text.gleu import ngrams, sentence_gleu
from seqloom.training import reward as module
from seqloom.training.reward import Drawn, ExpectedReward, Reward, advantages, weighed
from seqloom.training.step import Work
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of

CPU = torch.device("cpu")


def _task() -> TranslateTask:
    task = task_of(Translate(), "pairs", CHARACTERS, ["a"], ["ab"])
    assert isinstance(task, TranslateTask)
    return task


def _answers(size: int) -> list[Drawn]:
    """All that can be written in two steps: the end mark at once, behind a token, or two tokens, cut."""
    tokens = [token for token in range(size) if token != END]
    one = [Drawn((token,), True) for token in tokens]
    return [Drawn((), True), *one, *(Drawn(pair, False) for pair in product(tokens, repeat=2))]


def _log_probs(task: TranslateTask, model: Model, answers: list[Drawn]) -> Tensor:
    """By hand: one answer at a time."""
    found = []
    for answer in answers:
        batch = task.batch(encoded(task, ["a"], ["ab"]))
        assert batch.source is not None
        given = torch.tensor([BEGIN, *answer.tokens][:2])
        goal = torch.tensor([*answer.tokens, END][:2])[: len(given)]
        layout = type(batch.source.layout).of([len(given)])
        output = model(batch.source.tokens_N, batch.source.layout, given, layout)
        found.append(model.scores(output).log_softmax(-1).gather(1, goal[:, None]).sum())
    return torch.stack(found)


def _model(task: TranslateTask) -> Model:
    return model_for(task, "encoder-decoder", width=8).train()


def _gradient(model: Model) -> Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def _exact(task: TranslateTask, model: Model, answers: list[Drawn]) -> tuple[Tensor, float]:
    """Of −E[reward], all answers counted; and E[reward]."""
    wanted = ngrams(task.target.encode(["ab"])[0])
    reward = torch.tensor([sentence_gleu(ngrams(one.tokens), wanted) for one in answers], dtype=torch.float64)
    p = _log_probs(task, model, answers).exp()
    assert p.sum().item() == pytest.approx(1)
    model.zero_grad()
    expected = (p * reward).sum()
    (-expected).backward()
    return _gradient(model), expected.item()


def _estimates(task: TranslateTask, model: Model, answers: list[Drawn], samples: int) -> Iterator[tuple[Tensor, float]]:
    p = _log_probs(task, model, answers).exp().detach()
    rows = 400

    def draw(model: Model, examples: Examples, samples: int, seed: int) -> list[list[Drawn]]:
        assert not model.training
        drawn = p.multinomial(len(examples) * samples, True, generator=torch.Generator().manual_seed(seed))
        return [[answers[number] for number in row] for row in drawn.view(-1, samples).tolist()]

    objective = ExpectedReward(Reward(samples=samples, likelihood=0), task, draw)
    work = Work(task, model, Goals(), CPU, None, 1, note=lambda text: None, objective=objective)
    batch = task.batch(encoded(task, ["a"] * rows, ["ab"] * rows))
    for step in range(12):
        made = work.make(step, [batch])
        assert made.loss.item() == pytest.approx(-made.figures["reward"], abs=1e-5)
        yield _gradient(model), made.figures["reward"]


@pytest.mark.parametrize("samples", [2, 5])
def test_the_estimate_has_the_exact_gradient_for_its_mean(samples: int) -> None:
    """With two samples, a baseline that knows the sample itself would halve the gradient."""
    task = _task()
    model = _model(task)
    answers = _answers(task.sizes().target)
    exact, expected = _exact(task, model, answers)
    found = list(_estimates(task, model, answers, samples))
    each = torch.stack([gradient for gradient, _ in found])
    mean, error = each.mean(0), each.std(0) / len(found) ** 0.5
    assert np.mean([reward for _, reward in found]) == pytest.approx(expected, rel=0.05)
    along = each @ exact / (exact @ exact)
    assert along.mean().item() == pytest.approx(1, abs=5 * along.std().item() / len(found) ** 0.5)
    assert along.std() < 0.2
    assert ((mean - exact).abs() <= 8 * error + 1e-6).all()  # of some 1,500 numbers one is far off by chance
    assert (mean - exact).norm() < 0.35 * exact.norm()


def test_advantages() -> None:
    assert advantages(np.array([1.0, 0.0, 0.5])).tolist() == pytest.approx([0.75, -0.75, 0])
    assert advantages(np.array([0.1, 0.1, 0.1])).tolist() == [0, 0, 0]


def test_equal_samples_are_read_once() -> None:
    """a, a, b for a: rewards 1, 1, 0; the others' means ½, ½, 1."""
    a, b = Drawn((7,), True), Drawn((8,), True)
    weights, mean = weighed([a, a, b], [7])
    assert weights == pytest.approx({a: 1 / 3, b: -1 / 3})
    assert mean == pytest.approx(2 / 3)
    assert weighed([a, a, a], [7]) == ({}, 1.0)


def test_an_answer_that_was_cut_is_another_than_one_that_ended() -> None:
    task = _task()
    model = _model(task)
    examples = encoded(task, ["a", "a"], ["ab", "ab"])
    rows = task.target.encode(["ab", "ab"])
    answers = type(examples.columns["target"]).rows(rows)
    batch = task.answered(examples, answers, np.array([True, False]), np.array([1.0, 2.0]))
    assert batch.weight_N is not None
    assert batch.weight_N.tolist() == [1, 1, 1, 2, 2, 0]
    ended, cut = _log_probs(task, model, [Drawn(tuple(rows[0]), False), Drawn(tuple(rows[0][:1]), False)])
    whole = task.loss(model, task.batch(examples.take(np.array([0]))), Goals())
    loss = task.loss(model, batch, Goals())
    assert loss.item() == pytest.approx(whole.item() - 2 * ended.item(), rel=1e-5)
    assert cut > ended


def test_the_likelihood_has_its_weight() -> None:
    task = _task()
    model = _model(task)
    batch = task.batch(encoded(task, ["a", "a"], ["ab", "a"]))
    right = [[Drawn(tuple(row), True)] * 2 for row in task.target.encode(["ab", "a"])]
    objective = ExpectedReward(Reward(samples=2, likelihood=0.5), task, lambda *_: right)
    made = Work(task, model, Goals(), CPU, None, 1, note=lambda text: None, objective=objective).make(1, [batch])
    loss = task.loss(model, batch, Goals()).item()
    assert made.figures == {"reward": 1.0}
    assert made.loss.item() == pytest.approx(0.5 * loss / 2 - 1, rel=1e-5)
    half = _gradient(model)
    model.zero_grad()
    (task.loss(model, batch, Goals()) / 4).backward()
    torch.testing.assert_close(half, _gradient(model))


def test_samples_are_read_in_parts_no_larger_than_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    task = _task()
    model = _model(task)
    batch = task.batch(encoded(task, ["a"] * 6, ["ab"] * 6))
    a, b = task.target.encode(["ab", "ba"])
    drawn = [[Drawn((*a, *[b[0]] * n), True) for n in range(4)]] * 6
    objective = ExpectedReward(Reward(samples=4, likelihood=0), task, lambda *_: drawn)
    assert sum(1 for _ in objective.parts(model, batch, Goals(), 0)) == 1
    monkeypatch.setattr(module, "LEAST", 0)
    parts = list(objective.parts(model, batch, Goals(), 0))
    assert len(parts) > 2
    assert sum(part.figures["reward"] for part in parts) == pytest.approx(6 * weighed(drawn[0], a)[1])
    whole = task.batch(encoded(task, ["a"] * 600, ["ab"] * 600))
    assert sum(1 for _ in objective.parts(model, whole, Goals(), 0)) == 1


def test_undisturbed_restores_the_mode() -> None:
    model = _model(_task())
    with undisturbed(model):
        assert not any(module.training for module in model.modules())
    assert all(module.training for module in model.modules())
