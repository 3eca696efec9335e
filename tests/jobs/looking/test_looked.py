"""What is kept of a look: the documents of the page, pictures, and words for whoever does it wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import seqloom
from seqloom.jobs.lecture import lecture
from seqloom.jobs.looking.looked import Looked
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs

HEAD = {"kind": "head", "layer": "decoder.blocks.0.cross", "head": 0}


def found(looked: Looked, path: str, **asked: Any) -> Any:
    """As the page would find it."""
    documents = vars(looked).setdefault("written", list(looked.documents()) if "written" not in vars(looked) else [])
    (answer,) = [one["answer"] for one in documents if (one["path"], one["request"]) == (path, asked)]
    return answer


@pytest.mark.parametrize(
    ("name", "text"),
    [("pairs", "abc"), ("text", "the film"), ("tags", "the film"), ("classes", "a film"), ("masked", "a [MASK] film")],
)
def test_every_kind_of_model(runs: Runs, name: str, text: str) -> None:
    model = seqloom.load(runs[name])
    looked = model.look(text)
    asked = {"model": name, "input": text}
    flow = found(looked, "flow", model=name)
    for box in flow["boxes"]:
        assert found(looked, "box", **asked, box=box["id"])["box"] == box["id"]
    assert found(looked, "answer", **asked)["text"] == str(looked) == model.predict(text).text
    (about,) = found(looked, "models")["models"]
    assert about["examples"] == [text]
    assert found(looked, "training", model=name)["metrics"]["loss"]
    json.dumps(list(looked.documents()), allow_nan=False)
    assert looked.html().startswith("<!doctype html>")


def test_several_texts_and_a_name() -> None:
    looked = lecture().look(["black cat eats", "white dog sleeps"], name="tiny")
    assert str(looked) == "chat noir mange\nchien blanc dort"
    for text in ("black cat eats", "white dog sleeps"):
        assert found(looked, "beam", model="tiny", input=text)["winner"] >= 0
    assert found(looked, "models")["models"][0]["lecture"] is True
    assert repr(looked).startswith("Looked(tiny: 'black cat eats' → 'chat noir mange'")


def test_a_target_and_a_change() -> None:
    looked = lecture().look("black cat eats", target="chien noir mange", what_if=[HEAD])
    asked = {"model": "lecture", "input": "black cat eats", "target": "chien noir mange"}
    changed = found(looked, "answer", **asked, changes=[HEAD])
    plain = found(looked, "answer", **asked)
    assert changed["loss"]["total"] != plain["loss"]["total"]
    assert plain["loss"]["total"] == pytest.approx(-lecture().score("black cat eats", "chien noir mange").log_prob)
    assert "target=chien+noir+mange" in looked.html()  # where the page opens


def test_settings_are_heeded(runs: Runs) -> None:
    model = seqloom.load(runs["pairs"])
    looked = model.look("abcdef", beam=1, changes=["generation.longest=3"])
    assert str(looked) == model.predict("abcdef", beam=1, changes=["generation.longest=3"]).text
    assert found(looked, "beam", model="pairs", input="abcdef")["beam"] == 1


def test_a_notebook_shows_it_in_a_frame() -> None:
    shown = lecture().look("black cat eats")._repr_html_()
    assert re.match(r'<iframe [^>]*src="data:text/html;base64,[A-Za-z0-9+/=]+"></iframe>$', shown)


def test_pictures_are_the_model_s_numbers(tmp_path: Path) -> None:
    looked = lecture().look("black cat eats")
    cross = looked.layers[-1]
    assert cross.kind == "cross"
    svg = looked.svg(head=1)
    assert "attention over the source, head 2" in svg
    assert f"chat looked at cat: {float(cross.weights[1, 0, 1]):.2f}" in svg
    assert "mean of all heads" in looked.svg()
    assert "encoder block 1" in looked.svg("encoder.blocks.0.mixer")
    for name, begin in ("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!doctype html>"):
        assert looked.save(tmp_path / name).read_bytes().startswith(begin)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda m: m.look([]), "there is nothing to look at: give a text"),
        (lambda m: m.look(""), "input is empty"),
        (lambda m: m.look(["a", "b"], target="c"), "target: is the answer to one input, and several are given"),
        (lambda m: m.look("a", what_if=[{"kind": "hed"}]), "what_if: 0: .*'hed'"),
        (lambda m: m.look("a", what_if=[{**HEAD, "head": 7}]), "has 2 heads, 0 to 1, and no head 7"),
        (lambda m: m.look("a", changes=["model.width=3"]), "a run is what it is"),
        (lambda m: m.look("a").svg("encoder.blocks.0.mixr"), "did you mean encoder.blocks.0.mixer"),
        (lambda m: m.look("a").svg(head=2), "has 2 heads, 0 to 1, and no head 2"),
        (lambda m: m.look("a").save("x.pdf"), r"x.pdf: what should .pdf be\? .html, .svg or .png"),
        (lambda m: m.look("a").save("no/such/a.svg"), "should be a file in a folder that is there"),
    ],
)
def test_mistakes(call: Any, why: str) -> None:
    with pytest.raises(UserError, match=why):
        call(lecture())
