"""Masked tokens: which are asked for, what stands in their place, and the loss, against the same by hand."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.order import Order, Weighted
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.settings import SettingsError, loads
from seqloom.tasks import Frame, Goals, Masked
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.recut import seeds_of
from seqloom.text import BEGIN, END, MASK, SEPARATOR, SPECIALS
from seqloom.training.stream import stream
from tests.tasks.small import WORDS, encoded, model_for, rows_of, task_of

LINES = [*(f"a{n} b{n} c{n} d{n} e{n}" for n in range(12)), "", *(f"v{n} w{n} x{n} y{n}" for n in range(12)), ""]


def made(**settings: Any) -> tuple[MaskedTask, Examples]:
    task = task_of(Masked(context=24, **settings), "text", WORDS, LINES)
    assert isinstance(task, MaskedTask)
    return task, task.segments(encoded(task, LINES), None)


def test_an_empty_line_is_an_end() -> None:
    task = task_of(Masked(), "text", WORDS, LINES)
    rows = rows_of(encoded(task, LINES).columns["target"])
    assert [row for row in rows if row == [END]] == [[END], [END]]
    assert rows[12] == rows[25] == [END]
    assert len(rows) == 26


@pytest.mark.parametrize("follows", [False, True])
def test_the_loss_in_a_frame_is_the_loss(follows: bool) -> None:
    task, examples = made(follows=follows)
    model = model_for(task, "encoder-only", output={"kind": "tokens", "follows": follows})
    assert isinstance(model, EncoderOnly)
    batch = task.batch(examples)
    frame = Frame.around(batch, 512)
    assert frame is not None
    assert frame.asked
    numbers = torch.full((frame.size,), 3)
    frame.write(batch, numbers)
    framed = frame.read(batch, numbers)
    assert framed.asked_M is not None
    assert len(framed.asked_M) > batch.count
    assert framed.source is not None
    assert framed.source.layout.rows >= len(examples)
    wanted = task.loss(model, batch, Goals(0.1))
    torch.testing.assert_close(task.loss(model, framed, Goals(0.1)), wanted)


def test_rows_and_segments() -> None:
    task, examples = made()
    batch = task.batch(examples)
    assert batch.source is not None
    assert batch.source.segments_N is not None
    lengths = batch.source.layout.lengths_B.tolist()
    whole = rows_of(batch.examples.columns["source"])
    for row, kinds in zip(whole, batch.source.segments_N.split(lengths), strict=True):
        assert len(row) <= 24
        assert row[0] == BEGIN
        assert row.count(SEPARATOR) == 2
        assert row[-1] == SEPARATOR
        first = row.index(SEPARATOR) + 1
        assert kinds.tolist() == [0] * first + [1] * (len(row) - first)


def test_single_segments_without_what_follows() -> None:
    task, examples = made(follows=False)
    rows = rows_of(examples.columns["source"])
    assert [token for row in rows for token in row] == [
        token for row in rows_of(encoded(task, LINES).columns["target"]) if row != [END] for token in row
    ]
    assert max(map(len, rows)) <= 22
    assert task.batch(examples).follows_B is None


def test_long_sentences_are_several() -> None:
    lines = ["a b c d e f g h " * 10, "", "x y"]
    task = task_of(Masked(context=12), "text", WORDS, lines)
    assert isinstance(task, MaskedTask)
    examples = task.segments(encoded(task, lines), np.random.default_rng(1))
    assert max(map(len, rows_of(examples.columns["source"]))) <= 10
    assert set(examples.line_B.tolist()) == {1, 3}


def test_fifteen_in_a_hundred_are_asked_for() -> None:
    task, examples = made(share=0.15)
    asked = same = masked = count = 0
    for epoch in range(40):
        varied = task.vary(examples, seeds_of(examples, 1, epoch), None)
        whole, given, flags = (varied.columns[name].values_N for name in ("source", "given", "asked"))
        at = flags == 1
        assert np.array_equal(whole[~at], given[~at])
        assert not np.isin(whole[at], [BEGIN, SEPARATOR]).any()
        assert not np.isin(given[at], [id for id in range(len(SPECIALS)) if id != MASK]).any()
        asked += int(at.sum())
        masked += int((given[at] == MASK).sum())
        same += int((given[at] == whole[at]).sum())
        count += int((whole >= len(SPECIALS)).sum())
    assert asked / count == pytest.approx(0.15, abs=0.02)
    assert masked / asked == pytest.approx(0.8, abs=0.04)
    assert same / asked == pytest.approx(0.1, abs=0.04)


def test_other_masks_in_each_epoch_and_the_same_again() -> None:
    task, examples = made()
    one, again, other = (
        task.vary(examples, seeds_of(examples, 1, epoch), None).columns["given"].values_N for epoch in (0, 0, 1)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    few = examples.take(np.array([2, 0]))
    assert (
        rows_of(task.vary(few, seeds_of(few, 1, 0), None).columns["given"])[1]
        == one[: len(rows_of(few.columns["source"])[1]) + 2].tolist()
    )


def test_a_half_of_a_batch_keeps_its_masks() -> None:
    """Where memory runs out, a batch is made again of a part of its examples."""
    task, examples = made()
    batch = task.batch(task.vary(examples, seeds_of(examples, 3, 5), None))
    half = task.batch(batch.examples.take(np.arange(2)))
    assert half.source is not None
    assert batch.source is not None
    assert half.source.tokens_N.tolist() == batch.source.tokens_N[: len(half.source.tokens_N)].tolist()


@pytest.mark.parametrize("segments", [0, 2])
def test_the_loss_is_the_sum_of_two_means(segments: int) -> None:
    task, examples = made()
    output = {"kind": "tokens", "bias": True, "transform": "gelu", "follows": True}
    model = model_for(task, "encoder-only", output, input={"kind": "tokens", "segments": segments}).eval()
    assert isinstance(model, EncoderOnly)
    batch = task.batch(examples)
    loss = task.loss(model, batch, Goals())
    assert batch.source is not None
    assert batch.asked_M is not None
    assert batch.follows_B is not None
    kinds = batch.source.segments_N if segments else None
    out = model(batch.source.tokens_N, batch.source.layout, kinds)
    words = F.cross_entropy(model.scores(out)[batch.asked_M], batch.goal)
    rows = F.cross_entropy(model.follow_scores(out), batch.follows_B)
    torch.testing.assert_close(loss / batch.count, words + rows, rtol=1e-5, atol=1e-5)


def test_what_does_not_fit() -> None:
    assert "not decoder-only" in (MaskedTask.refuses(ModelSettings(family="decoder-only")) or "")
    tags = ModelSettings.model_validate({"family": "encoder-only", "output": {"kind": "tags"}})
    assert "writes tags" in (MaskedTask.refuses(tags) or "")
    with pytest.raises(SettingsError, match="more than all"):
        loads("masked = 0.9\nrandom = 0.2\n", Masked)


def test_a_run_goes_on_with_the_same_batches(tmp_path: Path) -> None:
    """From any place of an epoch on: the same pairs, the same masks."""
    task = task_of(Masked(context=24), "text", WORDS, LINES)
    with CacheWriter(tmp_path / "lines.arrow", task.encoder.columns, {}) as writer:
        writer.add(encoded(task, LINES))
    order = Order([Weighted(Cache(tmp_path / "lines.arrow"))], 60, 1, task.reshape, task.marks)
    straight = list(islice(stream(task, order, 1, None, 0, (0, 0, 0)), 12))
    assert len({spot[0] for spot, *_ in straight}) > 1
    for number, (spot, *_) in enumerate(straight[:8]):
        again = islice(stream(task, order, 1, None, 0, spot), 3)
        for (*_, one), (*_, other) in zip(again, straight[number : number + 3], strict=True):
            assert one.source is not None
            assert other.source is not None
            assert one.source.tokens_N.tolist() == other.source.tokens_N.tolist()
            assert one.goal.tolist() == other.goal.tolist()
