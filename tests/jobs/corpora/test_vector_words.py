"""Words that only a file of vectors has are known, and begin where the file says."""

from pathlib import Path

import pytest
import torch

import seqloom
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.encoder_only import EncoderOnly
from seqloom.settings import SettingsError, loads

RECIPE = """
[task]
kind = "classify"
[text]
source = {{ kind = "words" }}
[model]
family = "encoder-only"
width = 4
depth = 1
mixer = {{ kind = "convolution" }}
input = {{ kind = "tokens", vectors = "{vectors}", all_words = true, frozen = true }}
output = {{ kind = "classes" }}
[training]
steps = 2
"""


def test_a_word_that_training_never_saw(tmp_path: Path) -> None:
    vectors = tmp_path / "v.txt"
    vectors.write_text("3 4\ngood 1 0 0 0\nbad 0 1 0 0\nsplendid 0.9 0 0 0.1\n")
    data = tmp_path / "a.tsv"
    data.write_text("a good film\tyes\na bad film\tno\n" * 5)
    recipe = tmp_path / "r.toml"
    recipe.write_text(RECIPE.format(vectors=vectors))
    trained = seqloom.train(recipe, data=data, valid=data, out=tmp_path / "run", view="none")
    vocabulary = trained.corpora.task.codecs.vocabulary
    (known,) = vocabulary.encode(["splendid"])[0]
    assert isinstance(trained.model, EncoderOnly)
    torch.testing.assert_close(trained.model.input.vectors[known], torch.tensor([0.9, 0, 0, 0.1]))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('kind = "words"', 'kind = "bpe"', "the file's words are whole ones"),
        ('kind = "words"', 'kind = "words", least = 2', "without size and least"),
        ('vectors = "v.txt", ', "", "there is no file whose words they are"),
    ],
)
def test_what_cannot_be(old: str, new: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=expected):
        loads(RECIPE.format(vectors="v.txt").replace(old, new), Recipe, (), "r.toml")
