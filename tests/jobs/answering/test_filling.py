"""A masked model fills gaps, and scores a text token by token."""

import json
import math
from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.jobs.answering.filling import Filler
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.model import Model
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.train import train
from seqloom.layers.layout import Packed
from seqloom.models.encoder_only import EncoderOnly
from seqloom.settings import SettingsError, UserError, loads
from seqloom.text import BEGIN, MASK, SEPARATOR
from tests.cli.run import run as command
from tests.jobs.asked_runs import RECIPES, Runs


@pytest.fixture(scope="module")
def model(runs: Runs) -> Model:
    return seqloom.load(runs["masked"])


def by_hand(model: Model, ids: list[int]) -> torch.Tensor:
    (network,) = model.networks
    assert isinstance(network, EncoderOnly)
    row = torch.tensor([BEGIN, *ids, SEPARATOR])
    with torch.no_grad():
        return network.scores(network(row, Packed.of([len(row)]))).log_softmax(-1)[1:-1]


def test_one_gap_has_the_likeliest_tokens(model: Model) -> None:
    vocabulary = model.task.codecs.source
    before, after = vocabulary.encode(["good film", "very dull"])
    scores_V = by_hand(model, [*before, MASK, *after])[len(before)]
    answers = model.predict("good film [MASK] very dull", n_best=3)
    begins = torch.tensor([piece.startswith("▁") for piece in vocabulary.pieces(range(len(vocabulary)))])
    wanted = scores_V.masked_fill(~begins, -torch.inf).topk(3)
    assert [answer.tokens[0] for answer in answers] == wanted.indices.tolist()
    assert [answer.log_prob for answer in answers] == pytest.approx(wanted.values.tolist(), abs=1e-4)
    assert answers[0].text == vocabulary.decode([*before, answers[0].tokens[0], *after])
    assert [piece.log_prob for piece in answers[0].pieces] == [answers[0].log_prob]


def test_several_gaps_and_several_texts(model: Model) -> None:
    texts = ["good [MASK] so [MASK]", "[MASK] bad", "[MASK]"]
    together = model.predict(texts, n_best=4)
    assert [len(answers[0].tokens) for answers in together] == [2, 1, 1]
    for text, answers in zip(texts, together, strict=True):
        totals = [answer.log_prob for answer in answers]
        assert totals == sorted(totals, reverse=True)
        assert totals == pytest.approx([one.log_prob for one in model.predict(text, n_best=4)], abs=1e-4)
        assert all(one.log_prob == pytest.approx(sum(piece.log_prob for piece in one.pieces)) for one in answers)


def test_a_piece_that_is_glued_to_a_gap(model: Model) -> None:
    """It does not begin a word; what comes behind a space does."""
    filler = model._answerer
    assert isinstance(filler, Filler)
    vocabulary = model.task.codecs.source
    spaced, glued = filler.ids("[MASK] m"), filler.ids("[MASK]m")
    assert vocabulary.pieces(spaced[1:])[0].startswith("▁")
    assert len(spaced) >= 2
    assert glued[0] == spaced[0] == MASK


def test_a_space_before_a_gap_begins_a_word(model: Model) -> None:
    """What fills it is what the text has room for: a word, or the rest of one."""
    for text, spaces in ("good [MASK] so", [True]), ("good[MASK] so", [False]), ("[MASK][MASK] so", [True, False]):
        for answer in model.predict(text, n_best=5):
            assert [piece.text.startswith("▁") for piece in answer.pieces] == spaces
            assert len(answer.text.split()) == len(text.split())


def test_a_text_is_scored_token_by_token(model: Model) -> None:
    (ids,) = model.task.codecs.source.encode(["good film"])
    each = [float(by_hand(model, [*ids[:at], MASK, *ids[at + 1 :]])[at, id]) for at, id in enumerate(ids)]
    scored = model.score("good film")
    assert [piece.log_prob for piece in scored.pieces] == pytest.approx(each, abs=1e-4)
    assert scored.log_prob == pytest.approx(math.fsum(each), abs=1e-4)


def test_mistakes(model: Model) -> None:
    for text, why in (
        ("good film", r"text 1: there is no gap to fill; write \[MASK\]"),
        ("good [MASK] " * 40, "but the model reads 30 at once"),
    ):
        with pytest.raises(UserError, match=why):
            model.predict(text)
    with pytest.raises(UserError, match="a gap is filled"):
        model.predict("[MASK]", prefix="good")
    with pytest.raises(UserError, match="as a whole"):
        model.score("good", "film")
    assert model.predict("").text == ""


def test_it_validates_and_is_evaluated(runs: Runs) -> None:
    rows = [json.loads(line) for line in (runs["masked"] / "metrics.jsonl").read_text().splitlines()]
    assert any("follows" in str(row) and "accuracy" in str(row) for row in rows)
    ran = command("evaluate", str(runs["masked"]), "--data", str(runs.files["paragraphs"]))
    assert ran.code == 0, ran.error
    assert "perplexity" in ran.out


def test_one_document_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.toml").write_text(RECIPES["masked"][0])
    lines = [f"the {one} sees the {other} ." for one in ("cat", "dog", "cow", "hen") for other in ("sun", "sea", "sky")]
    for name, between in ("one.txt", "\n"), ("many.txt", "\n\n"):
        Path(name).write_text(between.join(lines * 3) + "\n")
        wish = Command("r.toml", (name,), out=Path(f"{name}-run"), changes=("training.steps=0",))
        train(wish, view="lines")
        said = capsys.readouterr().err
        assert ("one.txt: no empty line stands between its sentences" in said) == (name == "one.txt")


def test_recipes_that_do_not_fit(tmp_path: Path) -> None:
    text = RECIPES["masked"][0]
    for change, why in (
        (text.replace(", follows = true", ""), "the model says nothing of it"),
        (text.replace("context = 32", "context = 32\nfollows = false"), "asks what follows"),
        (text.replace('{ kind = "sinusoidal" }', '{ kind = "learned", length = 31 }'), "positions end at 31"),
    ):
        with pytest.raises(SettingsError, match=why):
            loads(change, Recipe)
