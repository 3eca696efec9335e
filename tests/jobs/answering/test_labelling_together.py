"""Runs that know the same labels answer together, whatever vocabulary each of them reads with."""

import math
from pathlib import Path

import pytest

import seqloom
from seqloom.settings import UserError

RECIPE = """
[task]
kind = "{task}"
[text]
source = {{ kind = "{pieces}" }}
[model]
family = "encoder-only"
width = 8
depth = 1
mixer = {{ kind = "convolution" }}
positions = {positions}
output = {{ kind = "{output}" }}
[training]
steps = 3
threads = 1
"""
TEXTS = {
    "classify": "a good film\tyes\na bad film\tno\nso good\tyes\nso bad\tno\n",
    "tag": "a good film\tD A N\na bad film\tD A N\nso good\tR A\nso bad\tR A\n",
}
MORE = (
    r"^the source is longer than what the model reads, by 10 tokens; shorten it, or train with more learned positions "
    r"\(model.positions.length\)$"
)


def _trained(folder: Path, task: str, pieces: str, text: str | None = None, positions: int = 0) -> Path:
    data, recipe = folder / f"{task}.tsv", folder / "r.toml"
    data.write_text(text or TEXTS[task])
    output = "classes" if task == "classify" else "tags"
    places = f'{{ kind = "learned", length = {positions} }}' if positions else '{ kind = "none" }'
    recipe.write_text(RECIPE.format(task=task, pieces=pieces, output=output, positions=places))
    out = folder / f"{task}-{pieces}"
    seqloom.train(recipe, data=data, valid=data, out=out, view="none", force=True)
    return out


def test_classes_by_the_mean_of_the_probabilities(tmp_path: Path) -> None:
    runs = [_trained(tmp_path, "classify", pieces) for pieces in ("words", "characters")]
    alone = [seqloom.load(run) for run in runs]
    together = seqloom.load([*runs, runs[0]])  # the first has two voices
    for text in ("a good film", "so bad", "unheard of"):
        each = [{one.text: one.probability for one in model.predict(text, n_best=2)} for model in alone]
        found = {one.text: one.probability for one in together.predict(text, n_best=2)}
        assert found == pytest.approx({name: (2 * each[0][name] + each[1][name]) / 3 for name in found}, abs=1e-5)
        assert together.score(text, "yes").log_prob == pytest.approx(math.log(found["yes"]), abs=1e-5)


def test_tags_word_by_word(tmp_path: Path) -> None:
    runs = [_trained(tmp_path, "tag", pieces) for pieces in ("words", "characters")]
    alone, together = [seqloom.load(run) for run in runs], seqloom.load(runs)
    for tags in ("D A N", "D D D"):
        each = [model.score("a good film", tags) for model in alone]
        mean = [sum(2.718281828459045 ** score.pieces[word].log_prob for score in each) / 2 for word in range(3)]
        found = [math.exp(piece.log_prob) for piece in together.score("a good film", tags).pieces]
        assert found == pytest.approx(mean, abs=1e-5)
    assert len(together.predict("a good film").text.split()) == 3


def test_other_labels_and_other_tasks_do_not_answer_together(tmp_path: Path) -> None:
    first = _trained(tmp_path, "classify", "words")
    (tmp_path / "b").mkdir()
    other = _trained(tmp_path / "b", "classify", "words", TEXTS["classify"].replace("yes", "ja"))
    with pytest.raises(UserError, match="has other labels than"):
        seqloom.load([first, other])
    with pytest.raises(UserError, match=r"does another task \(tag\) than"):
        seqloom.load([first, _trained(tmp_path, "tag", "words")])


def test_words_that_one_of_them_does_not_read_are_told(tmp_path: Path) -> None:
    """Whichever is named first: they have no tag."""
    runs = [_trained(tmp_path, "tag", "words"), _trained(tmp_path, "tag", "characters", positions=8)]
    for order in (runs, runs[::-1]):
        model = seqloom.load(order)
        answer = model.predict("a bad film so good")
        assert (len(answer.text.split()), answer.cut) == (3, len("film so good") - len("fi"))
        assert model.predict("so bad").cut == 0
        with pytest.raises(UserError, match=MORE):
            model.score("a bad film so good", "D A N R A")


def test_what_has_no_label_to_be_scored_is_told(tmp_path: Path) -> None:
    model = seqloom.load(_trained(tmp_path, "classify", "characters", positions=8))
    with pytest.raises(UserError, match=r"^the source is empty: it has no label to be scored; give it a text$"):
        model.score("", "yes")
    with pytest.raises(UserError, match=MORE.replace("10 tokens", "1 token")):
        model.score("so good!", "yes")
