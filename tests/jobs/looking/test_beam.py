"""The search tree with words: its winner is what `predict` says."""

from typing import Any

import pytest

import seqloom
from seqloom.inspect.changes import HeadChange, TokenChange
from seqloom.jobs.lecture import lecture
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking.beam import BeamDocument, beam
from seqloom.jobs.looking.documents import to_json
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.looking.test_stream import settings_of


def document(look: Look) -> BeamDocument:
    *_, found = beam(look)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"beam": 6},
        {"beam": 1},
        {"beam": 4, "groups": 2},
        {"coverage": 0.2},
        {"length": {"kind": "mean", "alpha": 0.5}},
    ],
    ids=str,
)
def test_the_winner_is_the_answer(runs: Runs, more: dict[str, Any]) -> None:
    model = seqloom.load(runs["pairs"])
    settings = settings_of(model, **more)
    found = document(Look(model, LookRequest("abcdef", settings=settings)))
    changes = [f"generation.{name}={value}" for name, value in more.items() if name != "length"]
    changes += ["generation.length.kind=mean", "generation.length.alpha=0.5"] if "length" in more else []
    said = model.predict("abcdef", changes=changes)
    winner = found.finished[found.winner]
    assert winner.text == said.text
    assert winner.score == pytest.approx(said.score, abs=1e-6)
    assert winner.total == pytest.approx(said.log_prob, abs=1e-5)
    assert winner.length == len(said.pieces)
    assert found.length == settings.length.model_dump()
    assert max(one.score for one in found.finished if one.ended) == winner.score


def test_the_way_to_an_answer_spells_it() -> None:
    found = document(Look(lecture(), LookRequest("black cat eats")))
    for ending in found.finished:
        words, at, total = list[str](), ending.node, 0.0
        while at is not None:
            node = found.nodes[at]
            words.append(node.token.text)
            total += node.log_probability
            at = node.parent
        assert words[0] == "</s>"
        assert " ".join(words[:0:-1]) == ending.text
        assert total == pytest.approx(ending.total)
    assert {"id", "parent", "step", "token", "log_probability", "total", "kept", "finished"} <= set(
        to_json(found)["nodes"][0]
    )


def test_a_changed_model_searches_otherwise() -> None:
    plain = document(Look(lecture(), LookRequest("black cat eats")))
    for change in (HeadChange(layer="decoder.blocks.0.cross", head=0), TokenChange(place=0, text="white")):
        look = Look(lecture(), LookRequest("black cat eats", changes=(change,)))
        found = document(look)
        assert found.nodes != plain.nodes
        assert found.finished[found.winner].text == look.answer().text


def test_a_changed_answer_is_gone_on_with() -> None:
    change = TokenChange(side="target", place=0, text="chien")
    look = Look(lecture(), LookRequest("black cat eats", changes=(change,)))
    found = document(look)
    assert found.finished[found.winner].text == look.answer().text
    assert look.answer().text.startswith("chien ")


def test_what_has_no_search(runs: Runs) -> None:
    with pytest.raises(UserError, match="beam: tag is not written token by token"):
        document(Look(seqloom.load(runs["tags"]), LookRequest("the film")))
    with pytest.raises(UserError, match="beam: a target that is given is not searched for; leave it out"):
        document(Look(lecture(), LookRequest("black cat", target="chat noir")))
