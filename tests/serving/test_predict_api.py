"""POST /v1/predict answers as `model.predict` does, whoever else asks at the same time."""

import json
import random
import threading
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import seqloom
from seqloom.jobs.answering.answer import Answer
from tests.jobs.asked_runs import Runs
from tests.serving.live import PATIENCE, Live

TEXTS = {
    "pairs": ["abcd", "hgfe", "a", "", "abcdefgh", "ccc"],
    "sentences": ["the film was dull", "a book", "", "the actor was so good"],
    "joined": ["the film was dull", "a book"],
    "text": ["the film", "", "a good book was"],
    "documents": ["the film", ""],
    "tags": ["the film was dull", "", "a"],
    "chain": ["the film was dull", "", "a"],
    "classes": ["the film was dull", "a", ""],
    "masked": ["the [MASK] was dull", "a good [MASK] [MASK]"],
}
ASKED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "n_best": {"n_best": 3},
    "wide": {"n_best": 6},
    "greedy": {"beam": 1},
    "sample": {"sample": True, "n_best": 3},
}

SERIES = """
[task]
kind = "classify"
reads = "series"
[model]
family = "encoder-only"
width = 8
depth = 1
mixer = { kind = "convolution", kernel = 3, activation = "relu" }
feed_forward = { kind = "none" }
input = { kind = "vectors" }
output = { kind = "classes", pool = ["mean", "max"] }
[training]
steps = 10
batch = 200
"""


def alike(given: list[dict[str, Any]], expected: list[Answer]) -> None:
    assert [one["text"] for one in given] == [one.text for one in expected]
    assert [one["score"] for one in given] == pytest.approx([one.score for one in expected], abs=1e-4)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("asked", ASKED)
def test_the_answers_are_those_of_python(live: Live, runs: Runs, name: str, asked: str) -> None:
    if name in ("tags", "chain", "classes", "masked") and asked not in ("nothing", "n_best"):
        return
    if name in ("tags", "chain") and asked == "n_best":
        return
    more = {"n_best": 1, **ASKED[asked]}
    expected = seqloom.load(runs[name]).predict(TEXTS[name], **more)
    given = live.predict(TEXTS[name], model=name, **more)
    for one, other in zip(given, expected, strict=True):
        alike(one, other)


def test_it_is_what_the_design_says(live: Live) -> None:
    answer = live.post("/v1/predict", {"inputs": ["abcd"], "n_best": 1}).json()
    assert set(answer) == {"model", "outputs"}
    ((one,),) = answer["outputs"]
    assert set(one) == {"text", "score"}
    assert answer["model"] == "pairs"  # the first one, if none is named


def test_nothing_asked_is_nothing_answered(live: Live) -> None:
    assert live.predict([]) == []


def test_wishes(live: Live, runs: Runs) -> None:
    question = {"source": "abcd", "prefix": "d", "must": ["h"], "must_not": ["c"], "longest": 5, "id": "x"}
    ((one,),) = live.predict([question], beam=8)
    expected = seqloom.load(runs["pairs"]).predict(seqloom.Question("abcd", "d", ("h",), ("c",), 5), beam=8, n_best=1)
    alike([one], expected)
    assert one["id"] == "x"
    assert one["text"].startswith("d")
    assert "h" in one["text"]
    assert "c" not in one["text"]


def test_scores_and_alignment(live: Live, runs: Runs) -> None:
    ((one,),) = live.predict(["the film was dull"], model="sentences", scores=True, alignment=True)
    expected = seqloom.load(runs["sentences"]).predict("the film was dull", attention=True)
    assert one["alignment"] == [list(pair) for pair in expected.alignment or ()]
    assert one["log_prob"] == pytest.approx(expected.log_prob, abs=1e-4)
    assert [piece for piece, _ in one["pieces"]] == [piece.text for piece in expected.pieces]


def test_words_that_are_split_already(live: Live, runs: Runs) -> None:
    ((one,), (bare,)) = live.predict([{"source": ["the film", "was"]}, ["the film", "was"]], model="tags")
    assert bare == one
    assert one["text"] == str(seqloom.load(runs["tags"]).predict(seqloom.Question(["the film", "was"])))
    assert len(one["text"].split()) == 2
    assert one["probability"] == one["score"]


def test_how_tokens_are_drawn(live: Live, runs: Runs) -> None:
    changes = ["generation.sample.temperature=0.5", "generation.sample.top_k=5", "generation.seed=7"]
    expected = seqloom.load(runs["pairs"]).predict(["abcd", "efgh"], sample=True, changes=changes, n_best=2)
    drawn = live.predict(["abcd", "efgh"], sample={"temperature": 0.5, "top_k": 5}, seed=7, n_best=2)
    for one, other in zip(drawn, expected, strict=True):
        alike(one, other)
    assert live.predict(["abcd"] * 8, sample=True, seed=8) != live.predict(["abcd"] * 8, sample=True, seed=9)


def test_series_of_numbers(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    recipe, data, run = tmp_path / "series.toml", tmp_path / "series.jsonl", tmp_path / "series"
    recipe.write_text(SERIES)
    rows = [
        ([float(step * (1 if n % 2 else -1)) for step in range(4 + n % 5)], ("down", "up")[n % 2]) for n in range(60)
    ]
    data.write_text("".join(json.dumps({"values": x, "label": label}) + "\n" for x, label in rows))
    seqloom.train(recipe, data=data, out=run, view="none")
    expected = seqloom.load(run).predict([np.array(x)[:, None] for x, _ in rows[:4]], n_best=2)
    with Live([run]) as server:
        given = server.predict(
            [rows[0][0], {"source": rows[1][0]}, [[x] for x in rows[2][0]], {"values": rows[3][0]}], n_best=2
        )
        for one, other in zip(given, expected, strict=True):
            alike(one, other)
        for wrong, message in (
            ([{"source": ["a"]}], "input 1: step 1 is 'a', no number"),
            ([[[1.0], [1.0, 2.0]]], "input 1: step 2 has 2 readings, but step 1 has 1"),
            ([[[1.0, 2.0]]], "input 1: "),
            (["text"], "input 1: the source should be a series of numbers, but is text"),
            ([[0.0] * 5000], "input 1: 5000 tokens, but at most 4096 are read"),
        ):
            answer = server.post("/v1/predict", {"inputs": wrong})
            assert answer.status_code == 422
            assert answer.json()["error"]["message"].startswith(message)
    refused = live.post("/v1/predict", {"inputs": [[1.0, 2.0]]})
    assert refused.status_code == 422
    assert "the source should be text" in refused.text


@pytest.mark.parametrize(
    ("model", "asked", "message"),
    [
        ("pairs", {"n_best": 17}, "n_best: 17, but at most 16 may be asked for (serving.n_best)"),
        ("pairs", {"beam": 17}, "beam: 17, but at most 16 may be asked for (serving.n_best)"),
        ("pairs", {"beam": 2, "n_best": 3}, '"n_best": 3: 3 answers cannot come from a beam of 2; set beam = 3'),
        ("tags", {"n_best": 2}, '"n_best": 2: a tagger gives each word its likeliest tag; leave it out'),
        ("classes", {"sample": True}, '"sample": a classifier chooses among its labels; leave it out'),
        ("text", {"alignment": True}, "alignment: no layer of this model looks at a source while it writes"),
        ("masked", {}, "input 1: there is no gap to fill; write [MASK] where something is missing"),
        ("pairs", {"inputs": ["a", "b\0"]}, "input 2: a NUL byte at column 2; remove it"),
        ("pairs", {"inputs": [{"source": "a", "must": ["é"]}]}, "input 1: must 'é': the model cannot write it"),
        ("pairs", {"inputs": [{"source": ["a"]}]}, "input 1: the source should be text, but is a list"),
        ("pairs", {"inputs": ["a"] * 65}, "65 inputs, but a request may have 64 (serving.inputs)"),
        ("pairs", {"inputs": ["ab" * 2049]}, "input 1: 4098 tokens, but at most 4096 are read (serving.input_tokens)"),
        ("pairs", {"inputs": [{"source": "a", "longest": 5000}]}, "input 1: answers have at most 4096 tokens"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered(live: Live, model: str, asked: dict[str, Any], message: str) -> None:
    answer = live.post("/v1/predict", {"model": model, "inputs": ["ab"], **asked})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(message)
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_words_that_the_model_does_not_know_are_told(live: Live) -> None:
    asked = {"model": "pairs", "inputs": ["abc", "abzç"]}
    answer = live.client.post("/v1/predict", json=asked).json()
    assert answer["notes"] == ["input 2: the vocabulary has no 'z', 'ç': the model reads <unk> instead"]
    asked["inputs"] = ["az"]
    assert live.client.post("/v1/predict", json=asked).json()["notes"][0].startswith("the vocabulary has no 'z'")
    asked["inputs"] = ["abc"]
    assert "notes" not in live.client.post("/v1/predict", json=asked).json()


def test_an_unknown_model(live: Live) -> None:
    answer = live.post("/v1/predict", {"model": "pears", "inputs": ["ab"]})
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "there is no model 'pears'; did you mean 'pairs'?"
    for name in ("../pairs", "/etc/passwd", "\x00", "x" * 100_000):
        assert live.post("/v1/predict", {"model": name, "inputs": ["ab"]}).status_code == 404


def test_many_clients_at_once_get_what_each_would_get_alone(live: Live, runs: Runs) -> None:
    """Their rows join and leave the same batch; some hang up in the middle."""
    asked = [
        ("pairs", {}), ("pairs", {"beam": 1}), ("pairs", {"n_best": 3}), ("sentences", {}), ("text", {"beam": 2}),
        ("pairs", {"sample": True, "seed": 3}), ("pairs", {"sample": {"temperature": 2.0}, "seed": 5}),
        ("text", {"sample": True, "seed": 4}), ("tags", {}), ("classes", {"n_best": 2}),
    ]  # fmt: skip
    texts = {name: [{"source": text, "longest": 12} for text in TEXTS[name]] for name in ("pairs", "sentences", "text")}
    texts = {name: texts.get(name, TEXTS[name]) for name, _ in asked}
    alone = [live.predict(texts[name], model=name, **more) for name, more in asked]
    wrong = list[str]()

    def work(number: int) -> None:
        draw = random.Random(number)
        with httpx.Client(base_url=live.url, timeout=PATIENCE) as client:
            for _ in range(5):
                place = draw.randrange(len(asked))
                name, more = asked[place]
                body = {"inputs": texts[name], "model": name, **more}
                if draw.random() < 0.2:
                    try:
                        client.post("/v1/predict", json=body, timeout=0.01)
                    except httpx.TimeoutException:
                        continue
                answer = client.post("/v1/predict", json=body)
                outputs = answer.json().get("outputs", answer.text)
                said = [[one["text"] for one in each] for each in outputs]
                scores = [one["score"] for each in outputs for one in each]
                expected = alone[place]
                if said != [[one["text"] for one in each] for each in expected]:
                    wrong.append(f"{name} {more}: {said}")
                if scores != pytest.approx([one["score"] for each in expected for one in each], abs=1e-4):
                    wrong.append(f"{name} {more}: {scores}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
