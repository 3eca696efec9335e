"""R-Drop, the balance of mixtures, and the rest of states, against their formulas."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.tasks import Goals, Tag, Translate
from tests.tasks.small import CHARACTERS, WORDS, by_hand, encoded, model_for, task_of

PAIRS = ["a b c", "d", "c c c c"], ["x", "y z y", "z"]


def test_r_drop() -> None:
    """½ (loss₁ + loss₂) + α/4 (KL(p₁‖p₂) + KL(p₂‖p₁)), each token."""
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    model = model_for(task, "encoder-decoder", dropout=0.3).train()
    assert isinstance(model, EncoderDecoder)
    batch = task.batch(encoded(task, *PAIRS))
    torch.manual_seed(7)
    loss = task.loss(model, batch, Goals(0.1, r_drop=5.0))
    # one pass over all rows and all of them again, of which either has chance of its own
    both = task.batch(encoded(task, *(side * 2 for side in PAIRS)))
    assert both.source is not None
    assert both.target is not None
    torch.manual_seed(7)
    scores = model.scores(model(both.source.tokens_N, both.source.layout, both.target.tokens_N, both.target.layout))
    one, other = scores.chunk(2)
    goal = [batch.goal.tolist()]
    apart = sum(
        F.kl_div(F.log_softmax(q, -1), F.log_softmax(p, -1), log_target=True, reduction="sum")
        for p, q in ((one, other), (other, one))
    )
    wanted = (by_hand([one], goal, 0.1) + by_hand([other], goal, 0.1)) / 2 + 5 / 4 * apart
    assert apart > 0.01
    torch.testing.assert_close(loss, wanted)


def test_r_drop_looks_at_what_counts_only() -> None:
    """Other pieces of a word than its first do not."""
    sentences, tags = [["ab", "cde"]], [["N", "V"]]
    task = task_of(Tag(), "tags", CHARACTERS, sentences, tags)
    model = model_for(task, "encoder-only", "tags", dropout=0.3).train()
    assert isinstance(model, EncoderOnly)
    batch = task.batch(encoded(task, sentences, tags))
    torch.manual_seed(7)
    loss = task.loss(model, batch, Goals(r_drop=2.0))
    both = task.batch(encoded(task, sentences * 2, tags * 2))
    assert both.source is not None
    torch.manual_seed(7)
    one, other = model.scores(model(both.source.tokens_N, both.source.layout)).chunk(2)
    first = [0, 3]  # a, b, a space, c
    p, q = F.softmax(one[first], -1), F.softmax(other[first], -1)
    apart = (p * (p / q).log() + q * (q / p).log()).sum()
    goal = batch.goal[first].tolist()
    wanted = (by_hand([one[first]], [goal]) + by_hand([other[first]], [goal])) / 2 + 2 / 4 * apart
    torch.testing.assert_close(loss, wanted)


def test_weights_that_would_not_count_are_refused() -> None:
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    batch = task.batch(encoded(task, *PAIRS))
    batch = replace(batch, weight_N=torch.ones(len(batch.goal)))
    with pytest.raises(ValueError, match="weights"):
        task.loss(model_for(task, "encoder-decoder").train(), batch, Goals(r_drop=5.0))
    task = task_of(Tag(), "tags", CHARACTERS, [["ab"]], [["N"]])
    batch = task.batch(encoded(task, [["ab"]], [["N"]]))
    batch = replace(batch, weight_N=torch.ones(len(batch.goal)))
    with pytest.raises(ValueError, match="weights"):
        task.loss(model_for(task, "encoder-only", "tags"), batch, Goals())


def test_in_evaluation_r_drop_is_one_plain_pass() -> None:
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    model = model_for(task, "encoder-decoder", dropout=0.3).eval()
    batch = task.batch(encoded(task, *PAIRS))
    assert task.loss(model, batch, Goals(r_drop=5.0)) == task.loss(model, batch, Goals())


def test_experts_are_kept_in_balance_for_each_token_that_counts() -> None:
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    experts = {"kind": "experts", "experts": 4, "active": 2, "width": 8, "noise": False}
    model = model_for(task, "encoder-decoder", feed_forward=experts).train()
    assert isinstance(model, EncoderDecoder)
    batch = task.batch(encoded(task, *PAIRS))
    assert batch.source is not None
    assert batch.target is not None
    output = model(batch.source.tokens_N, batch.source.layout, batch.target.tokens_N, batch.target.layout)
    assert output.report is not None
    assert output.report.loss > 0
    plain = by_hand([model.scores(output)], [batch.goal.tolist()])
    torch.testing.assert_close(task.loss(model, batch, Goals()), plain + output.report.loss * batch.count)


def test_activation_and_temporal_regularisation() -> None:
    """+ count · (α mean h² + β mean (h_{t+1} − h_t)²) of the last states; in training only."""
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    model = model_for(task, "encoder-decoder").train()
    assert isinstance(model, EncoderDecoder)
    batch = task.batch(encoded(task, *PAIRS))
    assert batch.source is not None
    assert batch.target is not None
    plain = task.loss(model, batch, Goals())
    loss = task.loss(model, batch, Goals(activation=2.0, temporal=3.0))
    output = model(batch.source.tokens_N, batch.source.layout, batch.target.tokens_N, batch.target.layout)
    rows = output.hidden.split(batch.target.layout.lengths_B.tolist())
    squares = torch.cat([row.square().flatten() for row in rows])
    changes = torch.cat([(row[1:] - row[:-1]).square().flatten() for row in rows])
    torch.testing.assert_close(loss, plain + batch.count * (2 * squares.mean() + 3 * changes.mean()))
    model.eval()
    assert torch.equal(task.loss(model, batch, Goals(activation=2.0)), task.loss(model, batch, Goals()))
