"""The official client of Ollama works as it is."""

from collections.abc import Iterator
from typing import Any

import ollama
import pytest

import seqloom
from seqloom import __version__
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live


@pytest.fixture
def client(live: Live) -> Iterator[ollama.Client]:
    with ollama.Client(host=live.url) as client:
        yield client


def test_the_models(client: ollama.Client, live: Live) -> None:
    models = client.list().models
    assert [model.model for model in models][:2] == ["pairs", "sentences"]
    assert all(model.size and model.digest and model.modified_at for model in models)
    assert len(client.ps().models) == len(models)
    shown = client.show("text:latest")
    assert shown.details is not None
    assert shown.details.family == "language"
    assert shown.capabilities == ["completion"]
    assert client.show("tags").capabilities == []
    assert live.client.get("/api/version").json() == {"version": __version__}


@pytest.mark.parametrize("model", ["text", "text:latest"])
def test_generate(client: ollama.Client, runs: Runs, model: str) -> None:
    options = {"temperature": 0.7, "seed": 11, "num_predict": 12, "num_ctx": 2048}
    changes = ["generation.seed=11", "generation.sample.temperature=0.7", "generation.longest=12"]
    expected = seqloom.load(runs["text"]).predict("the film", sample=True, changes=changes)
    whole = client.generate(model=model, prompt="the film", options=options)
    assert whole.response == expected.text
    assert whole.done
    assert whole.done_reason == "length"
    assert (whole.eval_count, whole.model) == (len(expected.tokens), model)
    parts = list(client.generate(model=model, prompt="the film", options=options, stream=True))
    assert "".join(part.response or "" for part in parts) == expected.text
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert len(parts) > 4


def test_chat(client: ollama.Client) -> None:
    messages = [{"role": "system", "content": "a book"}, {"role": "user", "content": "the film"}]
    options: dict[str, Any] = {"seed": 1, "num_predict": 8}
    whole = client.chat(model="text", messages=messages, options=options)
    parts = list(client.chat(model="text", messages=messages, options=options, stream=True))
    assert "".join(part.message.content or "" for part in parts) == whole.message.content
    assert whole.message.role == "assistant"
    same = client.generate(model="text", prompt="the film", system="a book", options=options)
    assert same.response == whole.message.content


def test_a_line_is_sent_for_each_part_unless_asked_otherwise(live: Live) -> None:
    options = {"num_predict": 8, "seed": 1}  # without a seed it may draw the end at once
    answer = live.post("/api/generate", {"model": "text", "prompt": "the film", "options": options})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert len(answer.text.splitlines()) > 2


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ({"model": "none"}, 404, "there is no model 'none'"),
        ({"options": {"repeat_penalty": 1.1}}, 422, "options.repeat_penalty: is not supported"),
        ({"options": {"stop": [""]}}, 422, "options.stop: at most 16"),
        ({"options": {"num_predict": 0}}, 422, "options.num_predict: 0 tokens are none"),
        ({"format": "json"}, 422, "format: "),
        ({"model": "classes"}, 422, "writes no text (classify)"),
    ],
)
def test_what_cannot_be_had(client: ollama.Client, asked: dict[str, Any], status: int, message: str) -> None:
    with pytest.raises(ollama.ResponseError) as caught:
        client.generate(**{"model": "text", "prompt": "the", **asked})
    assert caught.value.status_code == status
    assert message in caught.value.error
