"""What is told while an answer is written is what the answer is."""

from typing import Any

import pytest

import seqloom
from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changes import HeadChange, TokenChange
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.lecture import lecture
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking.documents import Step
from seqloom.jobs.looking.stream import searched
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs

HEAD = HeadChange(layer="decoder.blocks.0.cross", head=0)


def settings_of(model: Model, **changed: Any) -> GenerationSettings:
    own = generation_of(model.opened[0]).model_dump()
    return GenerationSettings.model_validate(own | changed)


def told(look: Look, prefix: tuple[int, ...] = ()) -> list[Step]:
    return [step for step in searched(look, prefix) if step is not None]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(("name", "text"), [("pairs", "abcdef"), ("joined", "so very good"), ("documents", "the")])
def test_the_steps_are_those_of_the_answer(runs: Runs, name: str, text: str, beam: int) -> None:
    model = seqloom.load(runs[name])
    settings = settings_of(model, beam=beam, longest=12)
    streaming, plain = (Look(model, LookRequest(text, settings=settings)) for _ in range(2))
    steps, answer = told(streaming), plain.answer()
    assert [step.token for step in steps] == [step.token for step in answer.steps]
    for step, other in zip(steps, answer.steps, strict=True):
        assert step.probability == pytest.approx(other.probability, abs=1e-5)
        assert step.alternatives
        chances = {one.token.id: one.probability for one in step.alternatives}
        for one in other.alternatives:
            if one.token.id in chances:  # marks are never written, and may be left out
                assert chances[one.token.id] == pytest.approx(one.probability, abs=1e-5)
    assert streaming.answer().text == answer.text
    assert streaming.answer().score == pytest.approx(answer.score, abs=1e-6)


def test_a_greedy_answer_comes_token_by_token() -> None:
    model = lecture()
    look = Look(model, LookRequest("black cat eats", settings=settings_of(model, beam=1)))
    assert all(step is not None for step in searched(look))


def test_with_a_change_it_is_the_changed_answer() -> None:
    model = lecture()
    for changes in [(HEAD,), (TokenChange(side="source", place=1, text="dog"),)]:
        streaming, plain = (Look(model, LookRequest("black cat eats", changes=changes)) for _ in range(2))
        assert [step.token for step in told(streaming)] == [step.token for step in plain.answer().steps]
    assert model.predict("black cat eats").text == "chat noir mange"  # and nothing of it stays


def test_between_two_steps_the_model_is_as_it_was() -> None:
    model = lecture()
    before = model.predict("white dog sleeps")
    for _ in searched(Look(model, LookRequest("black cat eats", changes=(HEAD,)))):
        assert model.predict("white dog sleeps") == before
        assert not any(module._forward_hooks for module in model.networks[0].modules())


def test_a_beginning_is_kept() -> None:
    model = lecture()
    writer = model.writer
    assert writer is not None
    (chien,) = writer.target.encode(["chien"])[0]
    look = Look(model, LookRequest("black cat eats"))
    steps = told(look, (chien,))
    assert steps[0].token.text == "chien"
    assert steps[0].probability < 0.1  # what the model says of it
    assert look.answer().text.startswith("chien")
    assert [step.token for step in look.answer().steps] == [step.token for step in steps]


@pytest.mark.parametrize(
    ("prefix", "why"), [((99,), "there is no token 99"), ((2,), "token 2 is a mark"), ((-1,), "no token -1")]
)
def test_a_beginning_that_cannot_be(prefix: tuple[int, ...], why: str) -> None:
    with pytest.raises(UserError, match=why):
        told(Look(lecture(), LookRequest("black cat eats")), prefix)


def test_what_is_known_is_not_written_again() -> None:
    look = Look(lecture(), LookRequest("black cat eats"))
    assert told(look)
    assert list(searched(look)) == []
    assert list(searched(Look(lecture(), LookRequest("black cat", target="chat noir")))) == []
