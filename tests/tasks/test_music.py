"""Pieces of music: parts of long ones, and what training makes of them by chance."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from seqloom.data.cache import Examples
from seqloom.music import Performance, Piece, Voices, event_words, read_events
from seqloom.music.settings import EventSettings
from seqloom.tasks import Goals, Music, build_task, learn
from seqloom.tasks.music import MusicTask
from seqloom.text import BEGIN, END, SPECIALS
from tests.tasks.small import WORDS, encoded, model_for, rows_of

BAND = Performance(instruments=True)


def task_of(events: EventSettings, **settings: float) -> MusicTask:
    words = " ".join(event_words(events))
    task = build_task(Music(events=events, **settings), learn(WORDS, "text", lambda: iter(()), words))  # type: ignore[arg-type]
    assert isinstance(task, MusicTask)
    return task


def piece(task: MusicTask, ids: list[int]) -> Piece:
    return read_events(task.vocabulary.decode(ids).split(), task.settings.events)


def test_every_event_is_known_whether_training_sees_it_or_not() -> None:
    assert task_of(Voices()).sizes().source == 129 + len(SPECIALS)
    assert task_of(Performance()).sizes().source == 388 + len(SPECIALS)


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=6), context=st.integers(2, 9), seed=st.integers(0, 9))
def test_each_event_is_a_goal_once_behind_the_one_before_it(lengths: list[int], context: int, seed: int) -> None:
    task = task_of(Voices(voices=1), context=context)
    texts = [" ".join(str((row * 31 + at) % 128) for at in range(length)) for row, length in enumerate(lengths)]
    examples = encoded(task, texts)
    wanted = Counter[tuple[int, int]]()
    for row in rows_of(examples.columns["target"]):
        whole = [BEGIN, *row, END]
        wanted.update(pairwise(whole))
    for draw in (None, np.random.default_rng(seed)):
        parts = task.parts(examples, draw)
        assert max(parts.columns["target"].lengths_B) <= context + 1
        batch = task.batch(parts)
        assert batch.target is not None
        assert Counter(zip(batch.target.tokens_N.tolist(), batch.goal.tolist(), strict=True)) == wanted
        # no part runs from one piece into another, and each knows which it is of
        for part, line in zip(rows_of(parts.columns["target"]), parts.line_B.tolist(), strict=True):
            assert set(part) <= {BEGIN, END, *rows_of(examples.columns["target"])[line - 1]}


def test_a_piece_that_fits_stays_whole_and_others_are_cut_elsewhere_in_each_epoch() -> None:
    task = task_of(Voices(voices=1), context=20)
    examples = encoded(task, [" ".join(["60"] * 15), " ".join(["60"] * 100)])
    seen = set()
    for seed in range(5):
        parts = task.parts(examples, np.random.default_rng(seed))
        lengths = [int(n) for n, line in zip(parts.columns["target"].lengths_B, parts.line_B, strict=True) if line == 1]
        assert lengths == [17]
        seen.add(tuple(parts.columns["target"].lengths_B))
    assert len(seen) > 1


def varied(task: MusicTask, text: str, seed: int) -> list[int]:
    rows = task.parts(encoded(task, [text]), None)
    return rows_of(task.vary(rows, [seed] * len(rows), None).columns["target"])[0]


def test_transposing_moves_all_pitches_alike_and_drums_not_at_all() -> None:
    task = task_of(BAND, transpose=4)
    text = "velocity-20 on-60 drum-36 shift-9 on-64 shift-9 off-60 off-64"
    found = set()
    for seed in range(60):
        made = piece(task, varied(task, text, seed))
        pitches = sorted(note.pitch for note in made.notes if note.program == 0)
        assert pitches[1] - pitches[0] == 4
        assert [note.pitch for note in made.notes if note.program != 0] == [36]
        found.add(pitches[0] - 60)
    assert found == set(range(-4, 5))


def test_transposing_stops_at_the_last_key() -> None:
    task = task_of(Voices(voices=2), transpose=12)
    for seed in range(40):
        pitches = [note.pitch for note in piece(task, varied(task, "126 3", seed)).notes]
        assert max(pitches) - min(pitches) == 123


def test_a_seed_says_how_a_piece_is_varied() -> None:
    task = task_of(Performance(), transpose=4, stretch=0.1)
    text = " ".join(f"on-{60 + n} shift-40 off-{60 + n}" for n in range(9))
    assert varied(task, text, 7) == varied(task, text, 7)
    assert len({tuple(varied(task, text, seed)) for seed in range(9)}) > 5


@given(shifts=st.lists(st.integers(1, 100), min_size=1, max_size=30), factor=st.floats(0.5, 1.5))
def test_stretching_moves_every_moment_and_nothing_drifts(shifts: list[int], factor: float) -> None:
    task = task_of(Performance(), stretch=0.5)
    words = [word for n, steps in enumerate(shifts) for word in (f"on-{n}", f"shift-{steps}", f"off-{n}")]
    ids = task.vocabulary.encode([" ".join(words)])[0]
    made = task._stretched(np.array(ids, np.uint16), factor).tolist()
    texts = task.vocabulary.pieces(made)
    assert [word for word in texts if not word.startswith("shift")] == [w for w in words if not w.startswith("shift")]
    now, moments = 0, []
    for word in texts:
        now += int(word.removeprefix("shift-")) if word.startswith("shift") else 0
        moments += [now] if word.startswith("on") else []
    before = np.cumsum([0, *shifts[:-1]])
    assert moments == np.rint(before * factor).astype(int).tolist()
    assert now == round(sum(shifts) * factor)


def test_a_validation_is_not_varied() -> None:
    task = task_of(Performance(), transpose=6, stretch=0.3)
    parts = task.parts(encoded(task, ["on-60 shift-50 off-60"]), None)
    assert rows_of(Examples(parts.columns, parts.corpus_B, parts.line_B).columns["target"])[0][0] == BEGIN
    assert task.valid_batch(parts).goal.tolist() == task.batch(parts).goal.tolist()


def test_a_grid_has_no_time_to_stretch() -> None:
    with pytest.raises(ValidationError, match="no time to stretch"):
        Music(events=Voices(), stretch=0.1)


def test_the_loss_is_of_a_decoder_and_can_fall() -> None:
    task = task_of(Voices(voices=2), context=40)
    parts = task.parts(encoded(task, [" ".join(["60 50 62 48"] * 8)]), None)
    model, batch = model_for(task, "decoder-only"), task.batch(parts)
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(30):
        loss = task.loss(model, batch, Goals()) / batch.count
        losses.append(float(loss.detach()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert losses[-1] < losses[0] / 2
