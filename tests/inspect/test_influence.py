"""What an answer hangs on: the numbers of a model that reads one place as zeros, whatever its layers are."""

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from seqloom.inspect.changes import HeadChange
from seqloom.inspect.influence import influence
from seqloom.inspect.trace import Example, run
from seqloom.layers.layout import Padded
from seqloom.models import ModelSettings, Sizes, build_model
from seqloom.models.build import Model
from seqloom.settings import UserError

READ, WRITTEN, GOAL = torch.tensor([5, 9, 6, 2]), torch.tensor([1, 7, 8]), torch.tensor([7, 8, 2])
PAIRS = Example(READ, WRITTEN, GOAL)
PLAIN = {"width": 8, "depth": 2}
MIXERS: dict[str, dict[str, Any]] = {
    "attention": {"mixer": {"kind": "attention", "heads": 2}},
    "convolution": {"mixer": {"kind": "convolution", "kernel": 3}},
    "recurrence": {"mixer": {"kind": "recurrence", "cell": "lstm"}, "positions": {"kind": "none"}},
}


def made(**settings: Any) -> Model:
    torch.manual_seed(1)
    return build_model(ModelSettings.model_validate({**PLAIN, **settings}), Sizes(12, 12)).eval()


def found(model: Model, example: Example, rows: list[int], goals: list[int], *changes: Any) -> Tensor:
    *_, last = influence(model, example, rows, goals, changes)
    assert last is not None
    return last


def lost(model: Model, example: Example, rows: list[int], goals: list[int], place: int) -> Tensor:
    """The same of one place, without a batch: the token has a vector of its own, which is zeros."""
    reads = model.get_submodule("source" if example.written is not None else "input")
    vectors = reads.get_parameter("embedding.weight_VD").data
    with torch.no_grad():
        before = run(model, example).double().log_softmax(-1)
        kept = vectors[example.read[place]].clone()
        vectors[example.read[place]] = 0
        after = run(model, example).double().log_softmax(-1)
        vectors[example.read[place]] = kept
    return (before - after)[rows, goals]


@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("many", [2048, 1])
def test_each_place_is_left_out(mixer: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one batch, and one by one."""
    monkeypatch.setattr("seqloom.inspect.influence.TOKENS", many)
    model = made(family="encoder-decoder", tie="none", **MIXERS[mixer], cross={"kind": "attention", "heads": 2})
    rows, goals = [0, 1, 2], GOAL.tolist()
    values_TS = found(model, PAIRS, rows, goals)
    assert values_TS.shape == (3, 4)
    for place in range(4):
        assert values_TS[:, place].tolist() == pytest.approx(lost(model, PAIRS, rows, goals, place).tolist(), abs=1e-5)
    assert values_TS.abs().max() > 1e-4


@pytest.mark.parametrize("mixer", MIXERS)
def test_what_comes_later_does_not_matter_to_what_stands_before(mixer: str) -> None:
    model = made(family="decoder-only", tie="none", **MIXERS[mixer])
    example = Example(torch.tensor([1, 5, 9, 6]), goal=torch.tensor([5, 9, 6, 2]))
    values_TS = found(model, example, [0, 1, 2, 3], [5, 9, 6, 2])
    assert values_TS.triu(1).abs().max() < 1e-6
    assert (values_TS.diagonal() != 0).all()


def test_one_answer_for_all() -> None:
    model = made(family="encoder-only", output={"kind": "classes"})
    values_TS = found(model, Example(READ), [0], [3])
    assert values_TS.shape == (1, 4)
    assert values_TS[0, 1].item() == pytest.approx(_class_lost(model, 1), abs=1e-5)


def _class_lost(model: Model, place: int) -> float:
    vectors = model.get_submodule("input").get_parameter("embedding.weight_VD").data
    with torch.no_grad():
        before = run(model, Example(READ)).double().log_softmax(-1)[3]
        vectors[READ[place]] = 0
        return float(before - run(model, Example(READ)).double().log_softmax(-1)[3])


def test_a_changed_model_hangs_on_other_places() -> None:
    model = made(family="encoder-decoder", **MIXERS["attention"])
    plain = found(model, PAIRS, [0], [7])
    off = found(
        model, PAIRS, [0], [7], *(HeadChange(layer=f"decoder.blocks.{b}.cross", head=h) for b in (0, 1) for h in (0, 1))
    )
    assert (plain != 0).any()
    assert off.abs().max() < 1e-6  # nothing of the source comes through


def test_nothing_hangs_on_the_model_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """And another thread never meets it."""
    monkeypatch.setattr("seqloom.inspect.influence.TOKENS", 1)
    model = made(family="encoder-decoder", **MIXERS["attention"])
    plain, others = run(model, PAIRS), list[Tensor]()
    for part in influence(model, PAIRS, [0], [7]):
        assert torch.equal(run(model, PAIRS), plain)
        thread = threading.Thread(target=lambda: others.append(run(model, PAIRS)))
        thread.start()
        thread.join()
        assert torch.equal(others.pop(), plain)
        assert part is None or part.shape == (1, 4)


def test_a_graph_has_no_words() -> None:
    model = made(family="encoder-only", output={"kind": "tags"})
    with pytest.raises(UserError, match="influence: a graph has no words that could be left out"):
        found(model, Example(READ, layout=Padded.whole(1, 4, "cpu")), [0], [1])
