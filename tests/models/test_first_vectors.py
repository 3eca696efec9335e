"""A recipe may name word vectors to begin from."""

from pathlib import Path

import pytest
import torch

from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.first_vectors import start_vectors
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

SMALL = {"width": 4, "depth": 1, "mixer": {"kind": "attention", "heads": 2}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text("2 4\ncat 1 2 3 4\ndog 5 6 7 8\n", encoding="utf-8")
    return path


def test_words_that_are_in_the_file_begin_from_it(file: Path) -> None:
    settings = {"family": "encoder-only", "input": {"kind": "tokens", "vectors": str(file), "frozen": True}}
    model = build_model(ModelSettings.model_validate(SMALL | settings), Sizes(3, 3))
    assert isinstance(model, EncoderOnly)
    before = model.input.vectors.detach().clone()
    assert start_vectors(model, ["emu", "dog", "cat"]) == {"input": 2}
    assert model.input.vectors.tolist()[1:] == [[5, 6, 7, 8], [1, 2, 3, 4]]
    assert torch.equal(model.input.vectors[0], before[0])
    assert not model.input.vectors.requires_grad


def test_both_inputs_may_have_a_file(file: Path) -> None:
    tokens = {"kind": "tokens", "vectors": str(file)}
    model = build_model(ModelSettings.model_validate(SMALL | {"input": tokens, "target_input": tokens}), Sizes(2, 1))
    assert isinstance(model, EncoderDecoder)
    assert start_vectors(model, ["cat", "owl"], ["dog"]) == {"source": 1, "target": 1}
    assert model.target.vectors.tolist() == [[5, 6, 7, 8]]
    with pytest.raises(ValueError, match=r"the target begins from .*vectors\.txt, so its words are needed"):
        start_vectors(model, ["cat", "owl"])


def test_no_file_no_change() -> None:
    model = build_model(ModelSettings.model_validate(SMALL), Sizes(2, 2))
    assert start_vectors(model, ["a", "b"]) == {}
