"""R-Drop in every task: two passes that are alike have the plain loss, and those that are not are told apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from seqloom.data.graph.graph import Graph
from seqloom.layers.experts import MixtureOfExperts
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.shared_chance import shares_chance
from seqloom.tasks import Batch, Classify, Frame, Goals, Language, Tag, Task, Translate, build_task, losses
from seqloom.tasks.masked import read
from seqloom.text import TextSettings
from tests.tasks.small import WORDS, encoded, model_for, task_of
from tests.tasks.test_classify_series import NAMES as SPEAKERS
from tests.tasks.test_classify_series import SERIES
from tests.tasks.test_classify_series import _task as series_task
from tests.tasks.test_masked import made as masks
from tests.tasks.test_nodes import examples as labelled
from tests.tasks.test_nodes import task_of as graph_task

PAIRS = ["a b c", "d", "c c c c"], ["x", "y z y", "z"]
TEXTS, NAMES = ["good film", "bad", "not so good a film"], ["yes", "no", "no"]
SENTENCES, TAGS = [["ab", "c"], ["c"], ["ab", "ab", "c"]], [["N", "V"], ["V"], ["N", "N", "V"]]
LINES = ["a b c d", "b c", "d e f", "a b f", "", "c c a"]
SHARED = TextSettings.model_validate({"source": {"kind": "words"}, "shared": True})

Made = tuple[Task, Model, Batch]


def translate(dropout: float) -> Made:
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    return task, model_for(task, "encoder-decoder", dropout=dropout), task.batch(encoded(task, *PAIRS))


def recurrent(dropout: float) -> Made:
    """Which pads what it reads."""
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    parts = {"mixer": {"kind": "recurrence", "cell": "gru"}, "cross": {"kind": "attention"}}
    return task, model_for(task, "encoder-decoder", dropout=dropout, **parts), task.batch(encoded(task, *PAIRS))


def joined(dropout: float) -> Made:
    settings = Translate(learn="target")
    task = build_task(settings, task_of(settings, "pairs", SHARED, *PAIRS).codecs, "decoder-only")
    return task, model_for(task, "decoder-only", dropout=dropout), task.batch(encoded(task, *PAIRS))


def language(dropout: float) -> Made:
    task = task_of(Language(context=8), "text", WORDS, LINES)
    return task, model_for(task, "decoder-only", dropout=dropout), task.batch(encoded(task, LINES))


def classify(dropout: float) -> Made:
    task = task_of(Classify(), "classes", WORDS, TEXTS, NAMES)
    return task, model_for(task, "encoder-only", "classes", dropout=dropout), task.batch(encoded(task, TEXTS, NAMES))


def tag(dropout: float) -> Made:
    task = task_of(Tag(), "tags", WORDS, SENTENCES, TAGS)
    return task, model_for(task, "encoder-only", "tags", dropout=dropout), task.batch(encoded(task, SENTENCES, TAGS))


def spelled(dropout: float) -> Made:
    """Whose output lies otherwise than what it reads."""
    task = task_of(Tag(spelled=True), "tags", WORDS, SENTENCES, TAGS)
    model = model_for(task, "encoder-only", "tags", dropout=dropout, input={"kind": "spelled", "letters": 8})
    return task, model, task.batch(encoded(task, SENTENCES, TAGS))


def masked(dropout: float, follows: bool = False, **parts: Any) -> Made:
    task, examples = masks(follows=follows)
    model = model_for(task, "encoder-only", {"kind": "tokens", "follows": follows}, dropout, **parts)
    return task, model, task.batch(examples)


def follows(dropout: float) -> Made:
    """And which sentence follows; it knows which of the two each token is of."""
    return masked(dropout, follows=True, input={"kind": "tokens", "segments": 2})


def patches(dropout: float) -> Made:
    """Which are padded from the start."""
    task = series_task()
    model = model_for(task, "encoder-only", "classes", dropout, input={"kind": "patches", "length": 3}).float()
    return task, model, task.batch(encoded(task, SERIES, SPEAKERS))


MADE = [translate, recurrent, joined, language, classify, tag, spelled, masked, follows, patches]


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_two_passes_that_are_alike_have_the_plain_loss(made: Callable[[float], Made]) -> None:
    task, model, batch = made(0.0)
    model.train()
    torch.testing.assert_close(task.loss(model, batch, Goals(0.1, r_drop=5.0)), task.loss(model, batch, Goals(0.1)))


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_two_passes_that_are_not_are_told_apart(made: Callable[[float], Made]) -> None:
    task, model, batch = made(0.4)
    model.train()
    losses = []
    for weight in (1e-9, 5.0):
        torch.manual_seed(3)
        losses.append(task.loss(model, batch, Goals(r_drop=weight)))
    assert losses[1] > losses[0] + 1e-3


@pytest.mark.parametrize("made", [translate, recurrent, language, classify, tag], ids=lambda made: made.__name__)
def test_what_fills_a_frame_up_does_not_count(made: Callable[[float], Made]) -> None:
    task, model, batch = made(0.0)
    model.train()
    frame = Frame.around(batch, 100)
    assert frame is not None
    numbers = torch.empty(frame.size, dtype=torch.int64)
    frame.write(batch, numbers)
    (loss, padded), (again, plain) = (_framed(task, model, frame.read(batch, numbers), weight) for weight in (5.0, 0.0))
    wanted = task.loss(model, batch, Goals(0.1, r_drop=5.0))
    torch.testing.assert_close(loss, wanted)
    torch.testing.assert_close(again, wanted)
    assert padded == plain  # whether it pads at all is heard of both ways


def _framed(task: Task, model: Model, framed: Batch, weight: float) -> tuple[torch.Tensor, list[bool]]:
    loss = task.loss(model, framed, Goals(0.1, r_drop=weight))
    return loss, [side.layout.padded for side in (framed.source, framed.target) if side is not None]


@pytest.mark.parametrize("features", ["dense", "sparse"])
def test_a_graph_is_read_twice(features: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Graph, "dense", features == "dense")
    task = graph_task(tmp_path)
    batch = task.batch(labelled([0, 1, 0, -1]))
    assert batch.source is not None
    assert batch.source.tokens_N.is_sparse == (features == "sparse")
    model = model_for(task, "encoder-only", "tags", input={"kind": "features"}, positions={"kind": "none"}).float()
    model.train()
    torch.testing.assert_close(task.loss(model, batch, Goals(r_drop=5.0)), task.loss(model, batch, Goals()))


EXPERTS = {"kind": "experts", "experts": 4, "active": 1, "width": 8, "capacity": 1.0, "noise": False}


@pytest.mark.parametrize(
    "parts",
    [
        {"mixer": {"kind": "recurrence", "cell": "lstm", "weight_dropout": 0.5}},
        {"input": {"kind": "tokens", "dropout": 0.5}},
    ],
    ids=["weights", "kinds of tokens"],
)
def test_what_is_left_out_of_a_whole_pass_differs_from_pass_to_pass(parts: dict[str, Any]) -> None:
    task, _, batch = language(0.0)
    model = model_for(task, "decoder-only", **parts).train()
    assert shares_chance(model)
    apart = []
    for weight in (1e-9, 5.0):
        torch.manual_seed(3)
        apart.append(task.loss(model, batch, Goals(r_drop=weight)))
    assert apart[1] > apart[0] + 1e-3


def test_what_follows_is_asked_in_both_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one after the other is made."""
    task, model, batch = masked(0.4, follows=True, input={"kind": "tokens", "dropout": 0.4})
    model.train()
    assert shares_chance(model)
    monkeypatch.setattr(losses, "_r_drop", lambda model, passes, batch, goals: passes.one.hidden.sum() * 0)
    torch.manual_seed(3)
    found = task.loss(model, batch, Goals(r_drop=5.0))
    torch.manual_seed(3)
    assert isinstance(model, EncoderOnly)
    each = [F.cross_entropy(model.follow_scores(read(model, batch)), batch.follows_B) for _ in range(2)]
    torch.testing.assert_close(found, torch.stack(each).mean() * batch.counted)
    assert abs(each[0] - each[1]) > 1e-3


def test_either_pass_has_all_places_of_the_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one queue all that find no place would be of the second pass."""
    task, _, batch = language(0.0)
    model = model_for(task, "decoder-only", feed_forward=EXPERTS).train()
    kept: list[torch.Tensor] = []
    room = MixtureOfExperts._kept

    def seen(self: MixtureOfExperts, *told: Any) -> torch.Tensor:
        kept.append(room(self, *told))
        return kept[-1]

    monkeypatch.setattr(MixtureOfExperts, "_kept", seen)
    found = task.loss(model, batch, Goals(r_drop=5.0))
    one, other = kept
    assert torch.equal(one, other)
    assert not one.all()
    torch.testing.assert_close(found, task.loss(model, batch, Goals()))  # what keeps experts balanced counts once, too


def test_the_attentive_recurrence_tells_too() -> None:
    mixer = {"kind": "attentive-recurrence", "cell": "lstm", "weight_dropout": 0.2}
    task = task_of(Translate(), "pairs", WORDS, *PAIRS)
    whole, plain = (
        {"decoder": {"mixer": each, "cross": {"kind": "none"}}} for each in (mixer, {**mixer, "weight_dropout": 0.0})
    )
    assert shares_chance(model_for(task, "encoder-decoder", **whole))
    assert not shares_chance(model_for(task, "encoder-decoder", **plain))
