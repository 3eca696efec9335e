"""The documents of the studio say what the model says."""

import base64
import json
import math
from array import array
from typing import Any

import pytest

import seqloom
from seqloom.inspect.changes import HeadChange, TokenChange
from seqloom.jobs.look import Look, LookRequest, entry, flow, to_json
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs


def _numbers(matrix: dict[str, Any]) -> list[float]:
    found = array("f", base64.b64decode(matrix["data"]))
    assert len(found) == math.prod(matrix["shape"])
    return list(found)


def test_a_pair_is_answered_as_predict_does(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    answer = Look(model, LookRequest("abc")).answer()
    said = model.predict("abc")
    assert (answer.text, answer.score) == (said.text, pytest.approx(said.score, abs=1e-5))
    assert [step.token.text for step in answer.steps] == [piece.text for piece in said.pieces]
    for step, piece in zip(answer.steps, said.pieces, strict=True):
        assert step.probability == pytest.approx(math.exp(piece.log_prob), abs=1e-6)
        assert [option.probability for option in step.alternatives] == sorted(
            (option.probability for option in step.alternatives), reverse=True
        )


def test_the_loss_of_a_target_is_its_score(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    look = Look(model, LookRequest("abc", target="cb"))
    loss = look.answer().loss
    assert loss is not None
    assert loss == look.trace().loss
    scored = model.score("abc", "cb")
    assert loss.total == pytest.approx(-scored.log_prob, abs=1e-5)
    assert [one.loss for one in loss.tokens] == pytest.approx([-piece.log_prob for piece in scored.pieces], abs=1e-5)
    assert [one.token.text for one in loss.tokens] == [piece.text for piece in scored.pieces]
    assert loss.value == pytest.approx(loss.total / 3)


def test_documents_are_json(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    look = Look(model, LookRequest("abc"))
    told = [entry(model, "pairs"), flow(model), look.answer(), look.trace(), look.box("head"), look.attention()]
    for document in told:
        json.dumps(to_json(document), allow_nan=False)
    box = to_json(look.box("encoder.blocks.0.mixer"))
    weights = next(value for value in box["values"] if value["name"] == "A")
    assert weights["rows"] == weights["columns"] == ["a", "b", "c", "</s>"]
    rows = _numbers(weights["matrix"])
    assert sum(rows[:4]) == pytest.approx(1)
    layer = to_json(look.attention())["layers"][0]
    assert (layer["id"], layer["kind"]) == ("encoder.blocks.0.mixer", "self")
    assert _numbers(layer["weights"]) == rows


def test_a_changed_token_is_another_input(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    changed = Look(model, LookRequest("abc", changes=(TokenChange(place=1, text="e"),))).answer()
    assert changed == Look(model, LookRequest("aec")).answer()


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (LookRequest("abc", changes=(TokenChange(place=7, text="e"),)), "the source has 3 tokens, 0 to 2, and no 7"),
        (LookRequest("abc", changes=(TokenChange(place=0, text="ab"),)), "no single piece"),
        (LookRequest("abc", changes=(HeadChange(layer="encoder.blocks.0.mixer", head=9),)), "no head 9"),
        (LookRequest("abc", changes=(HeadChange(layer="nothing", head=0),)), "no attention of the name 'nothing'"),
        (LookRequest(""), "input is empty"),
        (LookRequest(5), "input should be text"),
        (LookRequest("abc", target=5), "target should be text"),
    ],
)
def test_what_cannot_be_looked_at_is_said(runs: Runs, request_: LookRequest, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Look(seqloom.load(runs["pairs"]), request_).answer()


def test_a_box_that_is_not_there_is_said(runs: Runs) -> None:
    look = Look(seqloom.load(runs["pairs"]), LookRequest("abc"))
    with pytest.raises(UserError, match=r"did you mean 'encoder\.blocks\.0\.mixer'"):
        look.box("encoder.blocks.0.mixxer")
