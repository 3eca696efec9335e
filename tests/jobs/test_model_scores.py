"""What a model says of its own answers, and of given ones: scores."""

import math
from dataclasses import replace

import pytest
import torch

import seqloom
from seqloom.jobs.answering.answer import Scored
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs

WRITTEN = [
    "pairs",
    "short",
    "sentences",
    "backwards",
    "joined",
    "joined-short",
    "text",
    "words",
    "documents",
    "window",
]


SOURCES = {"pairs": "abcde", "short": "hgab"}


@pytest.fixture(scope="module")
def pairs(runs: Runs) -> Model:
    return seqloom.load(runs["pairs"])


@pytest.mark.parametrize("name", WRITTEN)
def test_what_it_writes_is_what_it_scores(runs: Runs, name: str) -> None:
    model, source = seqloom.load(runs[name]), SOURCES.get(name, "good film so")
    for answer in model.predict(source, n_best=2, changes=["generation.longest=9"]):
        scored = model.score(source, answer)
        assert scored.log_prob == pytest.approx(answer.log_prob, abs=1e-4)
        assert [piece.text for piece in scored.pieces] == [piece.text for piece in answer.pieces]
        assert len(answer.pieces) == len(answer.tokens) + answer.ended


def test_the_score_is_the_models_loss(pairs: Model) -> None:
    """By hand: step by step, the log-softmax of the scores."""
    from seqloom.layers.layout import Packed
    from seqloom.text import BEGIN, END

    read, wrote = (
        [*pairs.task.codecs.source.encode(["abc"])[0], END],
        [*pairs.task.codecs.source.encode(["cba"])[0], END],
    )
    network = pairs.networks[0]
    with torch.no_grad():
        given = torch.tensor([BEGIN, *wrote[:-1]])
        output = network(torch.tensor(read), Packed.of([len(read)]), given, Packed.of([len(given)]))  # type: ignore[call-arg]
        log_probs = network.scores(output).log_softmax(-1)
    by_hand = [float(log_probs[place, token]) for place, token in enumerate(wrote)]
    scored = pairs.score("abc", "cba")
    assert [piece.log_prob for piece in scored.pieces] == pytest.approx(by_hand, abs=1e-5)
    assert scored.log_prob == pytest.approx(sum(by_hand), abs=1e-5)
    assert scored.perplexity == pytest.approx(math.exp(-sum(by_hand) / 4), rel=1e-4)
    both = pairs.score(["abc", "h"], ["cba", "hhh"])
    assert both[0].log_prob == pytest.approx(scored.log_prob, abs=1e-5)


def test_what_cannot_be_scored(pairs: Model, runs: Runs) -> None:
    with pytest.raises(UserError, match="score needs a target too"):
        pairs.score("abc")
    with pytest.raises(UserError, match="2 sources, but 1 target;"):
        pairs.score(["a", "b"], ["c"])
    with pytest.raises(UserError, match=r"text 1: too long to be scored: .* end at 12; give a shorter text$"):
        seqloom.load(runs["short"]).score("a" * 30, "b")
    with pytest.raises(UserError, match="no such label: 'maybe'; the labels are neg, pos"):
        seqloom.load(runs["classes"]).score("good film", "maybe")
    with pytest.raises(UserError, match="3 words, but 2 tags"):
        seqloom.load(runs["tags"]).score("good film so", "A N")


@pytest.mark.parametrize("name", ["pairs", "tags", "classes"])
def test_an_empty_answer_to_an_empty_text_is_certain(runs: Runs, name: str) -> None:
    """By definition; the model is not asked, neither for the answer nor for its score."""
    model = seqloom.load(runs[name])
    for text in "", " \t":
        answer = model.predict(text)
        assert (answer.log_prob, answer.pieces) == (0.0, ())
        assert answer.score == (1.0 if model.labels else 0.0)
        for target in answer, "":
            assert model.score(text, target) == Scored(0.0, ())
    if name == "pairs":
        one, empty, other = model.score(["ab", "", ""], ["ba", "", "ba"])
        wanted = [model.score("ab", "ba").log_prob, model.score("", "ba").log_prob]
        assert [one.log_prob, other.log_prob] == pytest.approx(wanted, abs=1e-4)
        assert empty.log_prob == 0 > other.log_prob
        assert model.predict("ab", n_best=1)[0].log_prob < 0
        assert model.score("ab", "").log_prob < 0


def test_a_text_alone_is_scored_behind_a_line_end(runs: Runs) -> None:
    running = seqloom.load(runs["text"])
    scored = running.score("good film")
    assert scored.pieces[0].text.startswith("▁")
    assert scored.log_prob == pytest.approx(sum(piece.log_prob for piece in scored.pieces))
    documents = seqloom.load(runs["documents"]).score("good")
    assert [piece.text for piece in documents.pieces] == ["g", "o", "o", "d", "</s>"]


@pytest.mark.parametrize("name", ["text", "words", "window", "documents"])
def test_the_scores_of_parts_add_up(runs: Runs, name: str) -> None:
    """log P(a b) = log P(a) + log P(b | a); and what is written behind a prompt is scored in the same way."""
    model = seqloom.load(runs[name])
    whole, first, second = model.score("good film"), model.score("good"), model.score("good", " film")
    begun = first.pieces[:-1] if name == "documents" else first.pieces  # whose end mark is scored too
    assert [piece.text for piece in (*begun, *second.pieces)] == [piece.text for piece in whole.pieces]
    total = sum(piece.log_prob for piece in begun) + second.log_prob
    assert total == pytest.approx(whole.log_prob, abs=1e-4)
    assert model.score("", "good film").log_prob == pytest.approx(whole.log_prob, abs=1e-4)
    answer = model.predict("good", changes=["generation.longest=3"])
    total = sum(piece.log_prob for piece in begun) + answer.log_prob
    behind = model.score("", replace(answer, tokens=(*model.task.encoder.begun("good"), *answer.tokens)))  # type: ignore[attr-defined]
    assert behind.log_prob == pytest.approx(total, abs=1e-4)


def test_a_mark_before_a_prompt_is_no_part_of_it(runs: Runs) -> None:
    """What is cut is counted in the tokens of the line."""
    answer = seqloom.load(runs["window"]).predict("good film good film good film ", changes=["generation.longest=9"])
    assert answer.cut == 30 - (23 - 9)
