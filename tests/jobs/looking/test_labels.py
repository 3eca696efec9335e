"""Tags and classes, looked at: of words, texts, series and pictures."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.inspect.changes import HeadChange, TokenChange
from seqloom.inspect.equations import equation
from seqloom.jobs.look import Look, LookRequest, kind_of
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs, recipe
from tests.jobs.look_checks import check_documents

HEAD = HeadChange(layer="encoder.blocks.0.mixer", head=0)


@pytest.fixture(scope="module", params=["tags", "chain"])
def tagger(runs: Runs, request: pytest.FixtureRequest) -> Model:
    return seqloom.load(runs[request.param])


@pytest.fixture(scope="module")
def classifier(runs: Runs) -> Model:
    return seqloom.load(runs["classes"])


def test_tags_are_those_of_predict(tagger: Model) -> None:
    look = Look(tagger, LookRequest("good film so dull"))
    answer, said = look.answer(), tagger.predict("good film so dull")
    assert answer.tags is not None
    assert kind_of(tagger) == "words"
    assert (answer.text, [one.word for one in answer.tags]) == (said.text, ["good", "film", "so", "dull"])
    for one, piece in zip(answer.tags, said.pieces, strict=True):
        assert (one.tag, math.log(one.probability)) == (piece.text, pytest.approx(piece.log_prob, abs=1e-5))
        assert one.alternatives[0].label == one.tag
        assert sum(each.probability for each in one.alternatives) <= 1 + 1e-6
    assert answer.score == pytest.approx(said.score, abs=1e-6)
    check_documents(look)


def test_words_that_are_split_already(tagger: Model) -> None:
    answer = Look(tagger, LookRequest(["good", "film"])).answer()
    assert answer == Look(tagger, LookRequest({"source": "good film"})).answer()


def test_the_loss_of_tags_is_their_score(tagger: Model) -> None:
    names = tagger.task.labels.names  # type: ignore[attr-defined]
    target = f"{names[1]} {names[0]}"
    look = Look(tagger, LookRequest("good film", target=target))
    loss, scored = look.answer().loss, tagger.score("good film", target)
    assert loss is not None
    assert loss.total == pytest.approx(-scored.log_prob, abs=1e-5)
    assert [one.token.text for one in loss.tokens] == target.split()
    shown = [value for value in look.traced.values("head.loss")[-1].matrix[:, 0].tolist() if not math.isnan(value)]
    assert shown == pytest.approx([one.loss for one in loss.tokens], abs=1e-6)
    said = "of each tag by itself; the loss of the sentence is −log p(all its tags), and not the sum of these"
    assert (said in equation(look.traced, "head.loss").symbols) == (sum(shown) != pytest.approx(loss.total, abs=1e-5))
    assert Look(tagger, LookRequest("good film", target=target.split())).answer().loss == loss


def test_classes_are_those_of_predict(classifier: Model) -> None:
    look = Look(classifier, LookRequest("good film"))
    answer = look.answer()
    assert answer.classes is not None
    best = classifier.predict("good film", n_best=2)
    assert [(one.label, pytest.approx(one.probability, abs=1e-6)) for one in answer.classes] == [
        (one.text, one.score) for one in best
    ]
    assert sum(one.probability for one in answer.classes) == pytest.approx(1)
    assert answer.source[-1].text == "</s>"
    label = answer.classes[-1].label
    loss = Look(classifier, LookRequest("good film", target=label)).answer().loss
    assert loss is not None
    assert loss.total == pytest.approx(-classifier.score("good film", label).log_prob, abs=1e-5)
    check_documents(look)


def test_changes_change_the_classes(classifier: Model) -> None:
    before = Look(classifier, LookRequest("good film")).answer()
    off = Look(classifier, LookRequest("good film", changes=(HEAD,))).answer()
    assert off.classes is not None
    assert off.classes != before.classes
    assert Look(classifier, LookRequest("good film")).answer() == before
    first = before.source[0]
    same = TokenChange(place=0, text=first.text)
    assert Look(classifier, LookRequest("good film", changes=(same,))).answer() == before
    other = Look(classifier, LookRequest("good film", changes=(TokenChange(place=0, text="d"),)))
    assert other.answer().source[0].text == "d"
    assert other.answer().classes != before.classes


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (LookRequest("good film", target="N"), "2 words, but 1 tags; each word needs one"),
        (LookRequest("good", target="nothing"), "no such label: 'nothing'"),
        (LookRequest("good", target=5), "target should be tags"),
        (LookRequest(""), "input is empty"),
        (LookRequest({"text": "good"}), "an object with a source"),
        (LookRequest("good", changes=(TokenChange(side="target", place=0, text="a"),)), "writes no tokens"),
    ],
)
def test_what_is_wrong_is_said(tagger: Model, request_: LookRequest, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Look(tagger, request_).answer()


@pytest.mark.parametrize(("task", "output", "data"), [("tag", "tags", "conllu"), ("classify", "classes", "labels")])
def test_words_that_are_read_letter_by_letter(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, output: str, data: str
) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    plain = recipe(f'kind = "{task}"\nspelled = true', "encoder-only", output, text='{ kind = "words" }', steps=4)
    spelled = '[model.input]\nkind = "spelled"\nletters = 6\n[training]'
    (tmp_path / "r.toml").write_text(plain.replace("[training]", spelled))
    seqloom.train(tmp_path / "r.toml", data=runs.files[data], out=tmp_path / "run", view="none")
    model = seqloom.load(tmp_path / "run")
    look = Look(model, LookRequest("good film so"))
    said = model.predict("good film so")
    assert (look.answer().text, look.answer().score) == (said.text, pytest.approx(said.score, abs=1e-6))
    ends = [] if task == "tag" else ["</s>"]
    assert [place.text for place in look.answer().source] == ["good", "film", "so", *ends]
    check_documents(look)
    with pytest.raises(UserError, match="letter by letter"):
        Look(model, LookRequest("good film", changes=(TokenChange(place=0, text="so"),))).answer()


# -- numbers

SERIES = """
[task]
kind = "classify"
reads = "series"
[model]
family = "encoder-only"
width = 8
depth = 1
mixer = { kind = "attention", heads = 2 }
feed_forward = { kind = "none" }
positions = { kind = "sinusoidal" }
input = %s
output = { kind = "classes", pool = "attention" }
[training]
steps = 4
batch = 400
"""


def _learnt(folder: Path, reads: str, examples: list[dict[str, Any]]) -> Model:
    (folder / "r.toml").write_text(SERIES % reads)
    (folder / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples))
    seqloom.train(folder / "r.toml", data=folder / "a.jsonl", out=folder / "run", view="none")
    return seqloom.load(folder / "run")


def test_a_series_in_patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw = np.random.default_rng(1)
    rows = [{"values": draw.normal(size=(9, 2)).round(3).tolist(), "label": "ab"[n % 2]} for n in range(24)]
    model = _learnt(tmp_path, '{ kind = "patches", length = 4 }', rows)
    look = Look(model, LookRequest(rows[0]["values"]))
    answer = look.answer()
    assert kind_of(model) == "series"
    assert [place.text for place in answer.source] == ["1–4", "5–8", "9–9"]
    said = model.predict(np.array(rows[0]["values"]))
    assert (answer.text, answer.score) == (said.text, pytest.approx(said.score, abs=1e-6))
    assert answer == Look(model, LookRequest({"values": rows[0]["values"]})).answer()
    check_documents(look)
    pool = {value.name: value.matrix for value in look.traced.values("head.pool")}
    assert float(pool["w"].sum()) == pytest.approx(1)
    with pytest.raises(UserError, match="reads numbers, not tokens"):
        Look(model, LookRequest(rows[0]["values"], changes=(TokenChange(place=0, text="a"),))).answer()
    with pytest.raises(UserError, match="input: the values should be a list of steps"):
        Look(model, LookRequest("text")).answer()


def test_a_picture_in_squares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    draw = np.random.default_rng(1)
    np.savez(tmp_path / "a.npz", x=draw.random((24, 4, 6, 1)), y=np.array(["ab"[n % 2] for n in range(24)]))
    (tmp_path / "r.toml").write_text(SERIES % '{ kind = "images", patch = 2, columns = 6, channels = 1 }')
    seqloom.train(tmp_path / "r.toml", data=tmp_path / "a.npz", out=tmp_path / "run", view="none")
    model = seqloom.load(tmp_path / "run")
    picture = draw.random((4, 6)).round(3)
    look = Look(model, LookRequest(picture.tolist()))
    assert kind_of(model) == "image"
    assert [place.text for place in look.answer().source] == ["1,1", "1,2", "1,3", "2,1", "2,2", "2,3"]
    said = model.predict(picture)
    assert (look.answer().text, look.answer().score) == (said.text, pytest.approx(said.score, abs=1e-6))
    check_documents(look)
    with pytest.raises(UserError, match="as many pixels each"):
        Look(model, LookRequest([[1, 2], [1, 2, 3]])).answer()
