"""A tagger that reads words with their letters, from the file to the answer."""

import random
import re
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.model import Model
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.train import train
from seqloom.settings import SettingsError, loads

RECIPE = """
[task]
kind = "tag"
spelled = true

[text]
source = { kind = "words", least = 2 }

[model]
family = "encoder-only"
width = 16
depth = 1
mixer = { kind = "recurrence", cell = "lstm", direction = "both" }
feed_forward = { kind = "none" }
input = { kind = "spelled", letters = 16, dropout = 0.3 }
output = { kind = "tags" }

[training]
steps = 60
batch = 800
optimiser = { kind = "adam", rate = 0.02 }
schedule = { kind = "constant" }
best = "accuracy"
"""


def _write(path: Path) -> None:
    """Words of any letters: those that end in a vowel are V, the others C."""
    draw, lines = random.Random(1), []
    for _ in range(300):
        words = ["".join(draw.choices("abcdeinopst", k=draw.randint(1, 6))) for _ in range(draw.randint(1, 6))]
        lines += [f"{at}\t{word}\t_\t{_tag(word)}" + "\t_" * 6 for at, word in enumerate(words, 1)] + [""]
    path.write_text("\n".join(lines) + "\n")


def _tag(word: str) -> str:
    return "V" if word[-1] in "aeio" else "C"


@pytest.fixture
def tagger(place: Path) -> Model:
    _write(place / "tags.conllu")
    (place / "r.toml").write_text(RECIPE)
    trained = train(Command("r.toml", ("tags.conllu",), out=Path("tagger")), view="none")
    assert trained.scores["accuracy"] > 97
    return seqloom.load("tagger")


def test_unknown_words_are_told_by_their_letters(tagger: Model) -> None:
    words = ["station", "potato", "n", "banana", "noodles", "codec"]
    assert not set(words[:2]) & set(tagger.task.codecs.source.names)
    answer = tagger.predict(" ".join(words))
    assert answer.text.split() == [_tag(word) for word in words]
    several = tagger.predict(["on", "so potato on", "", "n " * 40])
    assert [len(one.pieces) for one in several] == [1, 3, 0, 40]
    assert [one.text for one in several[:3]] == ["C", "V V C", ""]
    assert tagger.score("so on", "V C").log_prob == pytest.approx(tagger.predict("so on").log_prob, abs=1e-4)
    assert tagger.predict(seqloom.Question(["an apple", "so", ""])).text.count(" ") == 2  # one tag each, whatever it is
    assert tagger.represent("so on").vectors.shape == (2, 16)
    assert "accuracy" in str(seqloom.evaluate("tagger", data="tags.conllu"))


def test_a_classifier_that_begins_from_it_reads_letters_too(tagger: Model, place: Path) -> None:
    lines = [f"{word} {word}\t{_tag(word)}\n" for word in ("ab", "ba", "to", "on", "nice", "plot") for _ in range(9)]
    (place / "labels.tsv").write_text("".join(lines))
    change = ("training.steps=1", "task.kind=classify")
    train(Command(None, ("labels.tsv",), out=Path("new"), changes=change, start=Path("tagger")), view="none")
    model = seqloom.load("new")
    assert model.represent("potato on").words == ("potato", "on")
    assert not (model.represent("potato").vectors == model.represent("tomato").vectors).all()
    assert "letter" not in Path("new/card.md").read_text().split("left over")[-1]


def test_settings_that_belong_together() -> None:
    for change, said in (
        (
            "task.spelled=false",
            "letters are of words that are tagged, or of texts that are classified: set task.spelled",
        ),
        ("model.input={ kind = 'tokens' }", "the model reads no letters; set model.input.kind = 'spelled'"),
        ("text.source={ kind = 'bpe' }", "letters are of whole words: source = { kind = 'words' }"),
    ):
        with pytest.raises(SettingsError, match=re.escape(said)):
            loads(RECIPE, Recipe, [change])


def test_the_recipe_that_comes_along_knows_unknown_words_and_what_follows_what(place: Path) -> None:
    """Which tag a C has hangs on the word before it, not on its letters."""
    _write(place / "tags.conllu")
    text = (place / "tags.conllu").read_text()
    (place / "tags.conllu").write_text(re.sub(r"(\tV(?:\t_)+\n\d+\t\w+\t_\t)C", r"\1D", text))
    small = (
        "model.width=32",
        "model.dropout=0.1",
        "model.input.dropout=0.3",
        "model.mixer.dropout=0",
        "training.steps=120",
    )
    trained = train(Command("word-tagger", ("tags.conllu",), changes=(*small, "training.batch=800")), view="none")
    assert trained.scores["accuracy"] > 90
    assert str(seqloom.load("runs/tags").predict("tsbdo stnbcp pctbsn tnspd")) == "V D C C"
