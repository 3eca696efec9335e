"""The studio's documents over HTTP: the model's own numbers, clear refusals, bounded memory, no waiting for others."""

import base64
import json
import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import seqloom
from seqloom.jobs import lecture
from seqloom.jobs.look import Look, LookRequest
from seqloom.serving.studio_requests import StudioRequest
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live, paused, until

API = "/studio/api"
CAT = {"model": "lecture", "input": "black cat eats"}
TEXTS = {"pairs": "abc", "joined": "so very good", "text": "the film", "documents": "the film"}


@pytest.fixture(scope="module")
def studio(runs: Runs) -> Iterator[Live]:
    with Live([runs[name] for name in (*TEXTS, "tags", "classes", "masked")], lecture=True) as server:
        yield server


def ask(live: Live, path: str, **asked: Any) -> Any:
    answer = live.post(f"{API}/{path}", asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(live: Live, path: str, status: int = 422, **asked: Any) -> str:
    answer = live.post(f"{API}/{path}", asked)
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"]["message"])


def numbers(matrix: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(matrix["data"]), "<f4").reshape(matrix["shape"])


def test_models(studio: Live) -> None:
    found = {one["name"]: one for one in studio.client.get(f"{API}/models").json()["models"]}
    kinds = {"pairs": "pairs", "joined": "pairs", "text": "prompt", "tags": "words", "classes": "text"}
    assert {name: found[name]["kind"] for name in kinds} == kinds
    assert [one["name"] for one in found.values() if one["lecture"]] == ["lecture"]
    assert found["lecture"]["examples"][0] == "black cat sleeps"
    assert found["pairs"]["examples"]
    assert not any(one["training"] for one in found.values())


@pytest.mark.parametrize("name", [*TEXTS, "lecture"])
def test_documents_of_every_model_that_writes(studio: Live, runs: Runs, name: str) -> None:
    text = TEXTS.get(name, "black cat eats")
    flow = studio.client.get(f"{API}/flow", params={"model": name}).json()
    ids = [box["id"] for box in flow["boxes"]]
    assert len(set(ids)) == len(ids)
    assert all(start in ids and end in ids for start, end, _ in flow["edges"])
    trace = ask(studio, "trace", model=name, input=text)
    assert set(trace["boxes"]) == set(ids)
    for id in ids:
        box = ask(studio, "box", model=name, input=text, box=id)
        assert box["box"] == id
        shapes = [value["matrix"]["shape"] for value in box["values"]]
        made = trace["boxes"][id]["shapes"]
        assert shapes[len(shapes) - len(made) :] == made  # before them, perhaps, what was learnt
        for value in box["values"]:
            assert numbers(value["matrix"]).shape[-2:] == tuple(value["matrix"]["shape"][-2:])
            for labels, count in zip((value["rows"], value["columns"]), value["matrix"]["shape"][-2:], strict=True):
                assert labels is None or len(labels) == count


@pytest.mark.parametrize("name", TEXTS)
def test_the_answer_is_that_of_predict(studio: Live, runs: Runs, name: str) -> None:
    answer = ask(studio, "answer", model=name, input=TEXTS[name], settings={"longest": 12})
    said = seqloom.load(runs[name]).predict(TEXTS[name], changes=["generation.longest=12"])
    assert answer["text"] == said.text
    assert answer["score"] == pytest.approx(said.score, abs=1e-5)
    assert [step["token"]["text"] for step in answer["steps"]] == [piece.text for piece in said.pieces]
    for step, piece in zip(answer["steps"], said.pieces, strict=True):
        assert step["probability"] == pytest.approx(math.exp(piece.log_prob), abs=1e-5)


def test_attention_is_to_the_last_bit_the_model_s(studio: Live) -> None:
    found = ask(studio, "attention", **CAT)
    model = lecture.lecture()
    own = Look(model, LookRequest(CAT["input"])).attention()
    assert [layer["id"] for layer in found["layers"]] == [layer.id for layer in own.layers]
    for layer, other in zip(found["layers"], own.layers, strict=True):
        assert np.array_equal(numbers(layer["weights"]), other.weights.numpy())
        assert np.allclose(numbers(layer["weights"]).sum(-1), 1, atol=1e-6)
    said = model.predict(CAT["input"], attention=True)
    assert said.attention_TS is not None
    cross = numbers(found["layers"][-1]["weights"]).mean(0)
    assert np.allclose(cross, said.attention_TS.numpy(), atol=1e-6)


def test_weights_come_layer_by_layer_where_they_are_many(studio: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ask(studio, "attention", **CAT)["layers"]
    light = ask(studio, "attention", **CAT, weights="light")["layers"]
    assert light == whole
    monkeypatch.setattr("seqloom.jobs.looking.attention.LIGHT", 50)
    other = {**CAT, "input": "white cat eats"}
    light = ask(studio, "attention", **other, weights="light")["layers"]
    assert [layer["weights"]["shape"] for layer in light] == [[2, 0, 0]] * 3
    whole = ask(studio, "attention", **other)["layers"]
    for layer, there in zip(light, whole, strict=True):
        assert layer["heads"] == there["heads"]
        assert ask(studio, "attention", **other, layer=layer["id"])["layers"] == [there]


def test_small_weights_lose_no_peak(studio: Live) -> None:
    long = {"model": "text", "input": "the film " * 40, "settings": {"longest": 2}}
    whole, small = (ask(studio, "attention", **long, weights=each)["layers"] for each in ("all", "small"))
    for layer, there in zip(small, whole, strict=True):
        assert max(layer["weights"]["shape"]) == 96 < max(there["weights"]["shape"])
        assert numbers(layer["weights"]).max() == numbers(there["weights"]).max()


def test_what_the_answer_hangs_on(studio: Live) -> None:
    """log p of each token, less what the model says when the embedding of a word is zeros."""
    found = ask(studio, "influence", **CAT, target="chat noir mange")
    assert [place["text"] for place in found["columns"]] == ["black", "cat", "eats", "</s>"]
    assert [place["text"] for place in found["rows"]] == ["chat", "noir", "mange", "</s>"]
    model = lecture.lecture()
    plain = [piece.log_prob for piece in model.score(CAT["input"], "chat noir mange").pieces]
    vectors = model.networks[0].get_submodule("source").get_parameter("embedding.weight_VD").data
    for column, place in enumerate(found["columns"][:3]):
        kept = vectors[place["id"]].clone()
        vectors[place["id"]] = 0
        without = [piece.log_prob for piece in model.score(CAT["input"], "chat noir mange").pieces]
        vectors[place["id"]] = kept
        lost = [before - now for before, now in zip(plain, without, strict=True)]
        assert numbers(found["values"])[:, column] == pytest.approx(lost, abs=1e-5)


def test_words_that_it_does_not_know_are_told(studio: Live) -> None:
    assert ask(studio, "answer", **CAT)["notes"] == []
    (note,) = ask(studio, "answer", model="lecture", input="black zebra eats zebra")["notes"]
    assert note == "the vocabulary has no 'zebra': the model reads <unk> instead"
    assert ask(studio, "trace", model="lecture", input="black zebra eats zebra")["notes"] == [note]
    (note,) = ask(studio, "answer", model="text", input="good", settings={"shortest": 5, "longest": 5})["notes"]
    assert note == "the answer is cut at 5 tokens (generation.longest)"


def test_a_loss_needs_the_right_answer(studio: Live) -> None:
    asked = {"model": "tags", "input": "the film", "box": "head.loss"}
    assert "give it, and its loss is computed" in ask(studio, "box", **asked)["equation"]["symbols"]
    tags = " ".join(one["tag"] for one in ask(studio, "answer", model="tags", input="the film")["tags"])
    assert ask(studio, "box", **asked, target=tags)["equation"]["numbers"].startswith("L")


def test_the_flow_says_what_can_be_taken_away(studio: Live) -> None:
    flow = studio.client.get(f"{API}/flow", params={"model": "lecture"}).json()
    assert flow["rules"] == [
        {"kind": "positions", "side": "encoder"},
        {"kind": "positions", "side": "decoder"},
        {"kind": "mask"},
    ]
    flow = studio.client.get(f"{API}/flow", params={"model": "classes"}).json()
    assert {"kind": "mask"} not in flow["rules"]


def test_a_target_has_its_loss(studio: Live) -> None:
    answer = ask(studio, "answer", **CAT, target="chien noir mange")
    scored = lecture.lecture().score(CAT["input"], "chien noir mange")
    assert answer["loss"]["total"] == pytest.approx(-scored.log_prob, abs=1e-5)
    assert ask(studio, "answer", **CAT)["loss"] is None


def test_a_change_is_of_its_request_alone(studio: Live) -> None:
    plain = ask(studio, "answer", **CAT)
    change = {"kind": "head", "layer": "decoder.blocks.0.cross", "head": 0}
    changed = ask(studio, "answer", **CAT, changes=[change])
    assert changed["steps"] != plain["steps"]
    assert ask(studio, "answer", **CAT) == plain
    assert studio.predict([CAT["input"]], model="lecture")[0][0]["text"] == plain["text"]


def test_the_beam_s_winner_is_the_answer(studio: Live) -> None:
    found = ask(studio, "beam", **CAT, settings={"beam": 4, "length": {"kind": "mean", "alpha": 0.8}})
    winner = found["finished"][found["winner"]]
    said = lecture.lecture().predict(
        CAT["input"], beam=4, changes=["generation.length.kind=mean", "generation.length.alpha=0.8"]
    )
    assert winner["text"] == said.text
    assert winner["score"] == pytest.approx(said.score, rel=1e-5)
    assert found["length"] == {"kind": "mean", "alpha": 0.8}


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("asked", [{}, {"settings": {"beam": 1}}, {"target": "chat noir"}, {"prefix": [7]}], ids=str)
def test_writing_ends_with_the_answer(studio: Live, asked: dict[str, Any]) -> None:
    answer = studio.post(f"{API}/write", {**CAT, **asked})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    *steps, last = lines(answer.text)
    assert [line["step"]["token"] for line in steps] == [step["token"] for step in last["answer"]["steps"]]
    if "prefix" not in asked:
        assert last["answer"] == ask(studio, "answer", **CAT, **asked)
    again = lines(studio.post(f"{API}/write", {**CAT, **asked}).text)
    assert [line["step"]["token"] for line in again[:-1]] == [line["step"]["token"] for line in steps]


def test_it_is_told_as_it_is_written(studio: Live) -> None:
    """The first lines are here while the model is held in the middle of the answer."""
    asked = {"model": "text", "input": "the", "settings": {"beam": 1, "shortest": 200, "longest": 200}}
    held = ExitStack()
    held.enter_context(paused(studio, "text", 100))
    with held, studio.client.stream("POST", f"{API}/write", json=asked) as answer:
        told = answer.iter_lines()
        assert all("step" in json.loads(next(told)) for _ in range(50))
        held.close()
        assert len(list(told)) == 151


@pytest.mark.parametrize(
    ("path", "asked", "why"),
    [
        ("answer", {}, "input: is missing"),
        ("answer", {"input": ""}, "input is empty"),
        ("answer", {"input": "a\0b"}, "NUL byte"),
        ("answer", {"input": 5}, "input should be text, but is 5"),
        ("answer", {"input": "a", "inpt": 5}, "inpt: there is no such field"),
        ("trace", {"input": "a b " * 400}, r"800 tokens, but at most 512 are looked into \(serving.look_tokens\)"),
        ("trace", {"input": "a", "target": "a b " * 400}, r"target: 80. tokens, but at most 512"),
        ("influence", {"input": "a b " * 400}, "800 tokens, but at most 512 are looked into"),
        ("answer", {"input": "a b " * 2400}, r"4800 tokens, but at most 4096 are read \(serving.input_tokens\)"),
        ("attention", {"input": "a", "layer": "encoder.blocks.0.mixr"}, "did you mean 'encoder.blocks.0.mixer'"),
        ("attention", {"input": "a", "weights": "some"}, "weights"),
        ("answer", {"input": "a", "settings": {"bean": 1}}, "settings.bean: there is no such field"),
        ("answer", {"input": "a", "settings": {"beam": 0}}, "settings.beam: should be at least 1"),
        ("answer", {"input": "a", "settings": {"beam": 17}}, r"settings.beam: at most 16 .* \(serving.n_best\)"),
        ("answer", {"input": "a", "settings": {"longest": 10000}}, r"longest: at most 512 \(serving.look_tokens\)"),
        ("answer", {"input": "a", "settings": {"length": {"kind": "none", "alpha": 1}}}, "settings.length"),
        ("box", {"input": "a"}, "box: is missing"),
        ("box", {"input": "a", "box": "encoder.blocks.0.mixr"}, "did you mean 'encoder.blocks.0.mixer'"),
        ("answer", {"input": "a", "changes": [{"kind": "hed"}]}, "changes.0: .*'hed'.*'head', 'layer'"),
        ("answer", {"input": "a", "changes": [{"kind": "head", "layer": "x", "head": 0}]}, "no attention of the name"),
        ("trace", {"input": "a", "changes": [{"kind": "layer", "box": "head"}]}, "is no layer that can be left out"),
        ("trace", {"input": "a", "changes": [{"kind": "token", "place": 7, "text": "cat"}]}, "token: the source has 1"),
        ("answer", {"input": "a", "changes": [{"kind": "mask"}] * 65}, "changes: .*at most 64"),
        ("answer", {"input": "a", "prefix": [2]}, "prefix.0: token 2 is a mark"),
        ("beam", {"input": "a", "target": "b"}, "beam: a target that is given is not searched for"),
    ],
)  # fmt: skip
def test_what_is_refused(studio: Live, path: str, asked: dict[str, Any], why: str) -> None:
    message = refused(studio, path, model="lecture", **asked)
    assert re.search(why, message), message


def test_a_long_text_is_answered_though_not_looked_into(studio: Live) -> None:
    answer = ask(studio, "answer", model="lecture", input="black cat " * 400, settings={"longest": 4})
    assert len(answer["source"]) == 801


def test_there_is_no_such_model(studio: Live) -> None:
    assert "did you mean 'lecture'?" in refused(studio, "trace", 404, model="lectures", input="a")
    assert studio.client.get(f"{API}/flow", params={"model": "../pairs"}).status_code == 404
    assert studio.client.get(f"{API}/training", params={"model": "/etc"}).status_code == 404


def test_a_setting_that_the_task_does_not_use(studio: Live) -> None:
    assert "settings.beam: a tagger gives each word" in refused(
        studio, "answer", model="tags", input="the film", settings={"beam": 3}
    )


def test_after_the_first_it_is_quick(studio: Live) -> None:
    """The searched answer and the traced pass are kept."""
    ask(studio, "trace", **CAT)
    desk = studio.shelf.books["lecture"].desk
    assert desk is not None
    kept = dict(desk.looks._kept)
    for path in "answer", "trace", "attention":
        ask(studio, path, **CAT)
    before = sum("/box 200" in line for line in studio.log)
    ask(studio, "box", **CAT, box="head")
    assert dict(desk.looks._kept) == kept
    ask(studio, "box", **CAT, box="encoder.blocks.0.mixer.weights")
    # a line is written when its answer is already there
    until(lambda: sum("/box 200" in line for line in studio.log) >= before + 2)
    *_, line = [line for line in studio.log if "/box 200" in line]
    assert int(line.split(" 200 ")[1].split(" ms")[0]) < 200


def test_memory_is_bounded(runs: Runs) -> None:
    with Live([], "serving.look_memory=0.0002", lecture=True) as live:  # a fifth of a megabyte
        desk = live.shelf.books["lecture"].desk
        assert desk is not None
        for number in range(12):
            ask(live, "trace", input=" ".join(["black"] * (1 + number)), settings={"beam": 1, "longest": 4})
            assert desk.looks.bytes <= 200_000
        assert len(desk.looks) < 12
        assert len(desk.looks) >= 1


def test_answers_go_on_while_somebody_looks(studio: Live) -> None:
    """A search of hundreds of steps is made a step at a time."""
    ends = list[float]()

    def look() -> None:
        ask(studio, "beam", model="text", input="the", settings={"beam": 4, "shortest": 400, "longest": 400})
        ends.append(time.monotonic())

    thread = threading.Thread(target=look)
    thread.start()
    desk = studio.shelf.books["text"].desk
    assert desk is not None
    until(lambda: studio.shelf.users[desk])
    studio.predict([{"source": "the", "longest": 3}], model="text")
    answered = time.monotonic()
    thread.join()
    assert ends[0] > answered


def test_two_who_ask_the_same_at_once(studio: Live) -> None:
    asked = {"model": "text", "input": "the actor", "settings": {"longest": 40}}
    found = list[Any]()
    threads = [threading.Thread(target=lambda: found.append(ask(studio, "trace", **asked))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one == found[0] for one in found)
    desk = studio.shelf.books["text"].desk
    assert desk is not None
    assert not desk.looks.busy


def test_who_asks_the_same_as_a_slow_reader_waits_for_it(studio: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The desk's thread has pauses meanwhile."""
    asked = {"model": "text", "input": "the film", "settings": {"longest": 20}}
    desk = studio.shelf.books["text"].desk
    assert desk is not None
    look, turns, found = desk._go_on, list[float](), list[Any]()

    def go_on() -> None:
        turns.append(time.monotonic())
        look()

    monkeypatch.setattr(desk, "_go_on", go_on)
    key = StudioRequest.model_validate(asked).key
    desk.looks.busy.add(key)  # as if its reader were slow
    threads = [
        threading.Thread(target=lambda path=path: found.append(ask(studio, path, **asked)))  # type: ignore[misc]
        for path in ("answer", "beam", "influence")
    ]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(desk._errands) == 3)
        before = len(turns)
        time.sleep(0.5)
        assert len(turns) - before < 50
        assert not found
    finally:
        desk.looks.busy.discard(key)
    for thread in threads:
        thread.join()
    assert len(found) == 3


def test_whoever_leaves_frees_the_desk(studio: Live) -> None:
    asked = {"model": "text", "input": "the", "settings": {"beam": 1, "shortest": 500, "longest": 500}}
    with studio.client.stream("POST", f"{API}/write", json=asked) as answer:
        next(answer.iter_lines())
    desk = studio.shelf.books["text"].desk
    assert desk is not None
    until(lambda: not desk._errands)
    until(lambda: not studio.shelf.users[desk])


def test_the_lecture_is_in_no_list_of_runs(studio: Live) -> None:
    assert "lecture" not in studio.client.get("/v1/models").text
    assert "lecture" not in studio.client.get("/api/tags").text
    assert studio.predict(["white dog sleeps"], model="lecture")[0][0]["text"] == "chien blanc dort"
    with Live([], lecture=True) as alone:
        assert [one["id"] for one in alone.client.get("/v1/models").json()["data"]] == ["lecture"]
        assert alone.predict(["white dog sleeps"])[0][0]["text"] == "chien blanc dort"


def test_a_token_is_needed(runs: Runs) -> None:
    with Live([], lecture=True, token="secret") as live:
        assert live.client.get(f"{API}/models").status_code == 401
        assert live.post(f"{API}/answer", CAT).status_code == 401
        with_token = {"authorization": "Bearer secret"}
        assert live.client.get(f"{API}/models", headers=with_token).status_code == 200
