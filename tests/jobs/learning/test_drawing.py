"""Samples of a model that learns: as likely as it says, the same in the same step, and worth more as it learns."""

from collections import Counter
from typing import Literal

import numpy as np
import pytest
import torch

from seqloom.data.cache import Examples
from seqloom.jobs.learning import drawing as module
from seqloom.jobs.learning.drawing import drawing, objective_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.build import Model
from seqloom.settings import SettingsError, loads
from seqloom.tasks import Goals, Translate, build_task
from seqloom.tasks.joined import JoinedTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import END
from seqloom.text.gleu import ngrams, sentence_gleu
from seqloom.training.optimisers import AdamW, build_optimiser
from seqloom.training.reward import Drawn, Reward
from seqloom.training.step import Work
from tests.jobs.run import PAIRS
from tests.tasks.small import CHARACTERS, encoded, model_for, task_of

WORDS = ["ab", "ba", "abc", "cab"]
LSTM = {
    "mixer": {"kind": "recurrence", "cell": "lstm"},
    "positions": {"kind": "none"},
    "encoder": {"mixer": {"kind": "recurrence", "cell": "lstm", "direction": "both"}},
    "decoder": {"mixer": {"kind": "attentive-recurrence", "cell": "lstm"}},
}


def _task(words: list[str] = WORDS) -> TranslateTask:
    task = task_of(Translate(), "pairs", CHARACTERS, words, [word[::-1] for word in words])
    assert isinstance(task, TranslateTask)
    return task


def _examples(task: TranslateTask, words: list[str] = WORDS) -> Examples:
    return encoded(task, words, [word[::-1] for word in words])


def test_samples_come_as_often_as_the_model_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tokens, marks too: what is never drawn would make the others likelier than the model says."""
    monkeypatch.setattr(module, "TIMES", 0)
    monkeypatch.setattr(module, "MORE", 1)
    task = _task(["a"])
    model = model_for(task, "encoder-decoder").eval()
    examples = _examples(task, ["a"])
    (samples,) = drawing(task)(model, examples, 4000, 7)
    assert len(samples) == 4000
    batch = task.batch(examples)
    assert batch.source is not None
    assert batch.target is not None
    with torch.no_grad():
        output = model(batch.source.tokens_N, batch.source.layout, batch.target.tokens_N, batch.target.layout)
        p = model.scores(output)[0].softmax(-1).tolist()
    found = Counter(samples)
    for token, share in enumerate(p):
        # at the longest that is allowed, an end mark is as good as none
        one = Drawn((), True) if token == END else Drawn((token,), False)
        assert found[one] / 4000 == pytest.approx(share, abs=5 * (share / 4000) ** 0.5)


def test_what_is_drawn_hangs_on_seed_and_line_alone() -> None:
    task = _task()
    model = model_for(task, "encoder-decoder").eval()
    examples, draw = _examples(task), drawing(task)
    whole = draw(model, examples, 5, 3)
    assert [len(samples) for samples in whole] == [5] * len(WORDS)
    some = np.array([3, 1, 3])
    assert draw(model, examples.take(some), 5, 3) == [whole[row] for row in some]
    assert draw(model, examples, 5, 4) != whole
    lengths = examples.columns["target"].lengths_B
    assert all(len(one.tokens) <= 2 * lengths[row] + 10 for row, samples in enumerate(whole) for one in samples)


def _expected(task: TranslateTask, model: Model, examples: Examples) -> float:
    """Of samples that no step has seen."""
    was = model.training
    model.eval()
    drawn = drawing(task)(model, examples, 60, 999)
    model.train(was)
    wanted = [ngrams(examples.columns["target"][row].tolist()) for row in range(len(examples))]
    pairs = zip(drawn, wanted, strict=True)
    return float(np.mean([sentence_gleu(ngrams(one.tokens), w) for samples, w in pairs for one in samples]))


@pytest.mark.parametrize("more", [{}, LSTM], ids=["transformer", "lstm with attention"])
def test_the_expected_reward_rises(more: dict[str, object]) -> None:
    """From a model that knows a little. Without the likelihood: the reward alone does it."""
    task = _task()
    _trained_for_reward(task, model_for(task, "encoder-decoder", dropout=0.1, **more).float().train())


def _trained_for_reward(task: TranslateTask, model: Model) -> None:
    examples = _examples(task)
    batch = task.batch(examples)
    likelihood = Work(task, model, Goals(), torch.device("cpu"), None, 1, note=lambda text: None)
    objective = objective_of(Reward(samples=6, likelihood=0), task)
    rewarded = Work(task, model, Goals(), torch.device("cpu"), None, 1, note=lambda text: None, objective=objective)
    optimiser = build_optimiser(AdamW(rate=0.02), model)
    for step in range(10):
        likelihood.gradients(step, [batch])
        optimiser.step(1.0)
    before = _expected(task, model, examples)
    assert 0.05 < before < 0.8
    for step in range(30):
        made = rewarded.make(step, [batch])
        optimiser.step(1.0)
    after = _expected(task, model, examples)
    assert after > before + 0.08
    assert made.figures["reward"] == pytest.approx(after, abs=0.2)


@pytest.mark.parametrize("learn", ["target", "all"])
def test_the_expected_reward_of_a_decoder_only_model_rises(learn: Literal["target", "all"]) -> None:
    settings = Translate(learn=learn)
    shared = CHARACTERS.model_copy(update={"shared": True})
    codecs = task_of(settings, "pairs", shared, WORDS, [word[::-1] for word in WORDS]).codecs
    task = build_task(settings, codecs, "decoder-only")
    assert isinstance(task, JoinedTask)
    model = model_for(task, "decoder-only", positions={"kind": "learned", "length": 24}).float().train()
    _trained_for_reward(task, model)


def test_answers_of_a_decoder_only_model_end_with_its_positions() -> None:
    """The source takes its share of them."""
    settings = Translate()
    codecs = task_of(settings, "pairs", CHARACTERS.model_copy(update={"shared": True}), ["abcdef"], ["f"]).codecs
    task = build_task(settings, codecs, "decoder-only")
    assert isinstance(task, JoinedTask)
    model = model_for(task, "decoder-only", positions={"kind": "learned", "length": 9}).eval()
    (samples,) = drawing(task)(model, encoded(task, ["abcdef"], ["f"]), 20, 1)
    assert max(len(one.tokens) for one in samples) == 9 - 1 - 6


def test_tasks_that_write_no_answer() -> None:
    text = PAIRS.replace("[model]", '[task]\nkind = "language"\n\n[model]\nfamily = "decoder-only"')
    text = text.replace("steps = 40", "steps = 40\nreward = { samples = 4 }")
    with pytest.raises(SettingsError, match="answers are drawn and scored, and language writes none; remove it"):
        loads(text, Recipe, (), "r.toml")


def test_gradients_with_another_precision() -> None:
    """Weights that were cast while samples were drawn, without gradients, must not be used when they are read."""
    task = _task()
    model = model_for(task, "encoder-decoder").float().train()
    objective = objective_of(Reward(samples=6, likelihood=0), task)
    work = Work(
        task, model, Goals(), torch.device("cpu"), torch.bfloat16, 1, note=lambda text: None, objective=objective
    )
    work.gradients(1, [task.batch(_examples(task))])
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    exact = Work(task, model, Goals(), torch.device("cpu"), None, 1, note=lambda text: None, objective=objective)
    exact.gradients(1, [task.batch(_examples(task))])
    assert still == [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
