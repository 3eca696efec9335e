"""Gaps that are filled, looked at."""

import math

import pytest

import seqloom
from seqloom.inspect.changes import LayerChange, TokenChange
from seqloom.jobs.look import Look, LookRequest, kind_of
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.look_checks import check_documents

TEXT = "good [MASK] so [MASK]"


def test_gaps_are_filled_as_predict_does(runs: Runs) -> None:
    model = seqloom.load(runs["masked"])
    look = Look(model, LookRequest(TEXT))
    answer, said = look.answer(), model.predict(TEXT)
    assert kind_of(model) == "text"
    assert (answer.text, answer.score) == (said.text, pytest.approx(said.score, abs=1e-5))
    assert [step.token.text for step in answer.steps] == [piece.text for piece in said.pieces]
    for step, piece in zip(answer.steps, said.pieces, strict=True):
        assert math.log(step.probability) == pytest.approx(piece.log_prob, abs=1e-5)
    assert [place.text for place in answer.source].count("<mask>") == 2
    check_documents(look)


def test_a_changed_model_fills_otherwise(runs: Runs) -> None:
    model = seqloom.load(runs["masked"])
    before = Look(model, LookRequest(TEXT)).answer()
    after = Look(model, LookRequest(TEXT, changes=(LayerChange(box="encoder.blocks.0"),))).answer()
    assert after.score != pytest.approx(before.score)
    best = after.steps[0].alternatives[0]
    assert best.probability >= after.steps[0].probability
    assert Look(model, LookRequest(TEXT)).answer() == before


def test_a_token_beside_a_gap(runs: Runs) -> None:
    model = seqloom.load(runs["masked"])
    look = Look(model, LookRequest(TEXT, changes=(TokenChange(place=1, text="d"),)))
    assert look.answer().source[1].text == "d"
    gap = [place.text for place in Look(model, LookRequest("[MASK]")).answer().source].index("<mask>")
    with pytest.raises(UserError, match="no gap is left"):
        Look(model, LookRequest("[MASK]", changes=(TokenChange(place=gap, text="d"),))).answer()
    with pytest.raises(UserError, match="target: a masked model fills gaps"):
        Look(model, LookRequest(TEXT, target="good")).answer()
