"""Running text by models that carry their state on: side by side as from its beginning to its end."""

import math

import numpy as np
import pytest
import torch

from seqloom.jobs.answering.scoring import Given, score
from seqloom.jobs.evaluating import carried_text
from seqloom.jobs.evaluating.carried_text import carried_log_probs
from seqloom.models.build import Model
from seqloom.tasks import Language
from seqloom.tasks.language import LanguageTask
from tests.tasks.small import CHARACTERS, model_for, task_of

CPU = torch.device("cpu")
MARK = 2


def _task(context: int = 5) -> LanguageTask:
    task = task_of(Language(context=context, carry=True), "text", CHARACTERS, ["abcdefgh ijkl"])
    assert isinstance(task, LanguageTask)
    return task


def _networks(task: LanguageTask) -> list[Model]:
    """Whose memory is shorter than what is read ahead: for them side by side is exactly at once."""
    made = [
        model_for(task, "decoder-only", mixer={"kind": "convolution", "kernel": kernel}, positions={"kind": "none"})
        for kernel in (3, 4)
    ]
    return [network.eval() for network in made]


@pytest.mark.parametrize("tokens", [1, 7, 300, 1003])
def test_each_token_given_all_before_it(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried_text, "LONG", 20)
    task = _task()
    ids_N = np.random.default_rng(0).integers(3, len(task.vocabulary), tokens)
    for networks in (_networks(task), _networks(task)[:1]):
        (whole,) = score(networks, [Given([MARK], ids_N.tolist())], task.vocabulary, CPU)
        moved = list[float]()
        found_N = carried_log_probs(networks, ids_N, MARK, 5, CPU, moved.append)
        np.testing.assert_allclose(found_N, [piece.log_prob for piece in whole.pieces], atol=1e-9)
        assert math.fsum(moved) == pytest.approx(1)


def test_long_texts_are_read_in_several_places(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list[int]()

    class Counted(carried_text.Carried):
        def read(self, model, tokens_N, layout, goes_on):  # type: ignore[no-untyped-def]
            rows.append(layout.rows)
            return super().read(model, tokens_N, layout, goes_on)

    monkeypatch.setattr(carried_text, "Carried", Counted)
    monkeypatch.setattr(carried_text, "LONG", 20)
    task = _task()
    carried_log_probs(_networks(task)[:1], np.full(1000, 4), MARK, 5, CPU, lambda share: None)
    assert set(rows) == {1000 // (carried_text.LEAST * 20)}
    rows.clear()
    monkeypatch.setattr(carried_text, "TOKENS", 20)
    carried_log_probs(_networks(task)[:1], np.full(1000, 4), MARK, 5, CPU, lambda share: None)
    assert set(rows) == {4}


@pytest.mark.parametrize(("context", "reach"), [(5, 250), (100, 390)])
def test_what_was_long_before_is_heard(context: int, reach: int) -> None:
    """Four windows before, or 256 tokens where windows are short."""
    task = _task(context)
    mixer = {"kind": "convolution", "kernel": 2, "dilation": reach}
    network = model_for(task, "decoder-only", mixer=mixer, positions={"kind": "none"}).eval()
    ids_N = np.random.default_rng(0).integers(3, len(task.vocabulary), 3500)
    (whole,) = score([network], [Given([MARK], ids_N.tolist())], task.vocabulary, CPU)
    found_N = carried_log_probs([network], ids_N, MARK, context, CPU, lambda share: None)
    np.testing.assert_allclose(found_N, [piece.log_prob for piece in whole.pieces], atol=1e-9)
