"""One model's weights into another, as far as they fit."""

from typing import Any

import pytest
import torch

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.starting.counterpart import Counterparts
from seqloom.jobs.starting.taking import Taken, take
from seqloom.models import build_model
from seqloom.models.build import Model
from seqloom.models.sizes import Sizes
from seqloom.tasks import Codecs
from seqloom.text import BPE, Labels, Vocabulary, Words

OLD, NEW = (Vocabulary.train(Words(), [text]) for text in ("a b c d e f g h", "h g f x y"))
SMALL = {"width": 8, "depth": 2, "mixer": {"kind": "attention", "heads": 2}}
MASKED = {"kind": "masked", "follows": False}


def _recipe(task: dict[str, Any], family: str, **more: Any) -> Recipe:
    model = {**SMALL, "family": family, **more}
    return Recipe.model_validate({"task": task, "model": model, "text": {"source": {"kind": "words"}}})


def _taken(old: Recipe, new: Recipe, here: Codecs, there: Codecs) -> tuple[Model, Model, Taken]:
    one = build_model(old.model, Sizes(len(there.source), len(there.target)))
    other = build_model(new.model, Sizes(len(here.source), len(here.target)))
    return one, other, take(other, one, Counterparts.of(old, new), here, there)


def test_rows_of_inputs_and_outputs_go_by_token() -> None:
    masked = _recipe(MASKED, "encoder-only", output={"kind": "tokens", "bias": True})
    one, other, taken = _taken(masked, masked, Codecs(NEW, NEW), Codecs(OLD, OLD))
    was, now = one.state_dict(), other.state_dict()
    for table in ("input.embedding.weight_VD", "head.weight_VD", "head.bias_V"):
        for token in ("h", "g", "f", "<mask>"):
            assert now[table][NEW.names.index(token)].equal(was[table][OLD.names.index(token)]), (table, token)
    assert taken.parts["input"].why == ["8 of 10 tokens, 2 new"]
    assert taken.parts["input"].new == 2 * 8
    assert taken.left == {}
    assert taken.misfit() is None


def test_whole_words_are_the_same_in_words_and_in_pieces_of_them() -> None:
    """The word "a" is the piece " a", which begins a word, and not the letter within others."""
    masked, text = _recipe(MASKED, "encoder-only"), "a house and a mouse and a cat " * 9
    words, pieces = Vocabulary.train(Words(), [text]), Vocabulary.train(BPE(size=80), [text])
    for there, here in ((pieces, words), (words, pieces)):
        one, other, _ = _taken(masked, masked, Codecs(here, here), Codecs(there, there))
        was, now = (model.state_dict()["input.embedding.weight_VD"] for model in (one, other))
        for word in ("house", "and", "a", "cat"):
            rows = {words: words.names.index(word), pieces: pieces.pieces(range(len(pieces))).index(f"▁{word}")}
            assert now[rows[here]].equal(was[rows[there]]), word
        assert now[here.names.index("<mask>")].equal(was[there.names.index("<mask>")])
    assert not any(row.equal(now[pieces.names.index("a")]) for row in was)


def test_new_rows_are_like_the_old_ones() -> None:
    """Far from nought, and narrow: so are the new ones."""
    masked = _recipe(MASKED, "encoder-only", tie="output")
    there = Vocabulary.train(Words(), [" ".join(f"w{n}" for n in range(200))])
    here = there.extended([" ".join(f"v{n}" for n in range(500))], 400)
    one = build_model(masked.model, Sizes(len(there), len(there)))
    with torch.no_grad():
        one.state_dict()["input.embedding.weight_VD"].normal_(3.0, 0.1)
    other = build_model(masked.model, Sizes(len(here), len(here)))
    take(other, one, Counterparts.of(masked, masked), Codecs(here, here), Codecs(there, there))
    fresh = other.state_dict()["input.embedding.weight_VD"][len(there) :]
    assert fresh.mean() == pytest.approx(3.0, abs=0.05)
    assert fresh.std() == pytest.approx(0.1, abs=0.02)


def test_the_old_model_stays_as_it_was() -> None:
    masked = _recipe(MASKED, "encoder-only")
    one, other, _ = _taken(masked, masked, Codecs(OLD, OLD), Codecs(OLD, OLD))
    with torch.no_grad():
        other.state_dict()["head.weight_VD"].zero_()
    assert one.state_dict()["head.weight_VD"].abs().sum() > 0


def test_what_is_tied_is_left_over_once_or_not_at_all() -> None:
    masked = _recipe(MASKED, "encoder-only", tie="output", output={"kind": "tokens", "bias": True, "transform": "gelu"})
    tag = _recipe({"kind": "tag"}, "encoder-only", output={"kind": "tags"})
    _, _, taken = _taken(masked, tag, Codecs(OLD, Labels(["A", "B", "C"])), Codecs(OLD, OLD))
    assert taken.left == {"head": len(OLD) + 8 * 8 + 8 + 8 + 8}
    assert taken.parts["head"].new == 3 * 8 + 3
    assert taken.lines()[-1] == f"left over there: head ({taken.left['head']})"


def test_an_encoder_of_a_translator() -> None:
    masked = _recipe(MASKED, "encoder-only")
    pairs = _recipe({"kind": "translate"}, "encoder-decoder")
    one, other, taken = _taken(masked, pairs, Codecs(OLD, NEW), Codecs(OLD, OLD))
    was, now = one.state_dict(), other.state_dict()
    assert now["source.embedding.weight_VD"].equal(was["input.embedding.weight_VD"])
    assert all(now[name].equal(was[name]) for name in was if name.startswith("encoder"))
    assert taken.parts["decoder"].taken == 0
    assert taken.misfit() is None  # nothing was meant for the decoder


def test_too_little_fits() -> None:
    masked, wide = _recipe(MASKED, "encoder-only"), _recipe(MASKED, "encoder-only", width=16)
    _, _, taken = _taken(masked, wide, Codecs(OLD, OLD), Codecs(OLD, OLD))
    assert "0% of the encoder fit (encoder.blocks.0." in (taken.misfit() or "")
    other = _recipe(
        MASKED, "encoder-only", mixer={"kind": "convolution"}, norm={"kind": "none"}, feed_forward={"kind": "none"}
    )
    _, _, taken = _taken(masked, other, Codecs(OLD, OLD), Codecs(OLD, OLD))
    assert taken.misfit() == "it has nothing for the encoder"
