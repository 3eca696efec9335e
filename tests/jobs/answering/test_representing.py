"""Contextual vectors, from any layer."""

import numpy as np
import pytest
import torch

import seqloom
from seqloom.layers.layout import Packed
from seqloom.models.encoder_only import EncoderOnly
from seqloom.settings import UserError
from seqloom.text import BEGIN, SEPARATOR
from tests.jobs.asked_runs import Runs

TEXT = "good film so nice"


@pytest.mark.parametrize(
    "run", ["masked", "text", "words", "documents", "tags", "classes", "pairs", "backwards", "joined"]
)
def test_every_task_has_vectors(runs: Runs, run: str) -> None:
    model = seqloom.load(runs[run])
    text = "abc" if run == "pairs" else TEXT
    found = model.represent(text)
    assert isinstance(found.vectors, np.ndarray)
    assert found.vectors.shape == (len(found.tokens), 16)
    assert found.words == tuple(text.split())
    assert found.of_words.shape == (len(found.words), 16)
    assert found.pooled().shape == (16,)
    np.testing.assert_allclose(found.pooled("mean"), found.vectors.mean(0), rtol=1e-5)
    np.testing.assert_allclose(found.pooled("last"), found.vectors[-1])
    every = model.represent(text, layer="all", kind="torch")
    assert isinstance(every.vectors, torch.Tensor)
    assert every.vectors.shape == (2, len(found.tokens), 16)
    np.testing.assert_allclose(every.vectors[-1], found.vectors, atol=1e-6)
    np.testing.assert_allclose(model.represent(text, layer=0).vectors, every.vectors[0], atol=1e-6)
    assert every.of_words.shape == (2, len(found.words), 16)
    assert every.pooled().shape == (2, 16)


def test_they_are_the_model_s_states(runs: Runs) -> None:
    model = seqloom.load(runs["masked"])
    (network,) = model.networks
    assert isinstance(network, EncoderOnly)
    ids = model.task.codecs.source.encode([TEXT])[0]
    row = torch.tensor([BEGIN, *ids, SEPARATOR])
    with torch.no_grad():
        states = network(row, Packed.of([len(row)])).hidden[1:-1]
    np.testing.assert_allclose(model.represent(TEXT).vectors, states.numpy(), atol=1e-5)


def test_a_word_is_the_mean_of_its_tokens(runs: Runs) -> None:
    found = seqloom.load(runs["masked"]).represent("good films")
    assert len(found.tokens) > len(found.words)
    of = np.array(found.word_of)
    np.testing.assert_allclose(np.asarray(found.of_words)[1], np.asarray(found)[of == 1].mean(0), rtol=1e-4, atol=1e-6)


def test_spaces_are_in_no_word(runs: Runs) -> None:
    found = seqloom.load(runs["documents"]).represent("so nice")
    assert found.word_of == (0, 0, -1, 1, 1, 1, 1)
    assert found.tokens[2] == "▁"


def test_the_same_word_has_another_vector_elsewhere(runs: Runs) -> None:
    one, other = seqloom.load(runs["masked"]).represent(["good film", "bad film"])
    assert one.words[1] == other.words[1] == "film"
    assert not np.allclose(one.of_words[1], other.of_words[1], atol=1e-4)


def test_together_as_alone(runs: Runs) -> None:
    model = seqloom.load(runs["masked"])
    texts = ["good", "bad film so very dull", "nice plot"]
    for text, found in zip(texts, model.represent(texts), strict=True):
        np.testing.assert_allclose(found.vectors, model.represent(text).vectors, atol=1e-5)


def test_a_source_that_is_read_backwards_keeps_its_order(runs: Runs) -> None:
    model = seqloom.load(runs["backwards"])
    whole, first = model.represent("good film", layer=0), model.represent("film", layer=0)
    assert whole.tokens == ("good", "film")
    # the word that is read first stands at the first position
    np.testing.assert_allclose(whole.vectors[1], first.vectors[0], atol=1e-5)


def test_a_tagger_takes_words(runs: Runs) -> None:
    model = seqloom.load(runs["tags"])
    (found,) = model.represent([["good film", "so"]])
    assert found.words == ("good film", "so")
    assert found.of_words.shape == (2, 16)


def test_what_is_refused(runs: Runs) -> None:
    model = seqloom.load(runs["masked"])
    for layer in (2, -3, True, "last", 0.5):
        with pytest.raises(UserError, match=r"layer should be 0 \(what the first block reads\) to 1"):
            model.represent(TEXT, layer=layer)  # type: ignore[call-overload]
    with pytest.raises(UserError, match="text 2: is empty, so that there is nothing to represent"):
        model.represent(["good", " "])
    with pytest.raises(UserError, match="a text is needed, not a list of words"):
        model.represent([["good", "film"]])
    with pytest.raises(UserError, match="kind should be 'numpy' or 'torch', but is 'jax'"):
        model.represent(TEXT, kind="jax")  # type: ignore[call-overload]
    with pytest.raises(UserError, match="pool should be 'mean', 'max', 'first' or 'last'"):
        model.represent(TEXT).pooled("sum")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="text 1: 41 tokens, but the model's learned positions end at 24"):
        seqloom.load(runs["window"]).represent("good " * 8)
    with pytest.raises(UserError, match="the vectors of several runs have nothing in common"):
        seqloom.load([runs["pairs"], runs["pairs"]]).represent("abc")
