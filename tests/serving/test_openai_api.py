"""The official client of OpenAI works as it is."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

import seqloom
from seqloom.serving.prompting import Told
from tests.jobs.asked_runs import Runs
from tests.serving.live import Live


@pytest.fixture
def client(live: Live) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()][:2] == ["pairs", "sentences"]
    one = client.models.retrieve("text")
    assert (one.id, one.owned_by) == ("text", "seqloom")
    assert one.created > 1.7e9
    with pytest.raises(openai.NotFoundError, match="there is no model 'texts'; did you mean 'text'"):
        client.models.retrieve("texts")


def test_a_seed_draws_what_the_command_line_draws(client: openai.OpenAI, runs: Runs) -> None:
    prompts = ["the film", "a book was"]
    changes = ["generation.seed=11", "generation.sample.temperature=0.7", "generation.longest=12"]
    expected = seqloom.load(runs["text"]).predict(prompts, sample=True, changes=changes)
    done = client.completions.create(model="text", prompt=prompts, temperature=0.7, seed=11, max_tokens=12)
    assert [choice.text for choice in done.choices] == [answer.text for answer in expected]
    assert [choice.index for choice in done.choices] == [0, 1]
    assert done.usage is not None
    assert done.usage.completion_tokens == sum(len(answer.tokens) for answer in expected)
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens


def test_greedy(client: openai.OpenAI, runs: Runs) -> None:
    expected = seqloom.load(runs["text"]).predict("the film", beam=1, changes=["generation.longest=9"])
    done = client.completions.create(model="text", prompt="the film", temperature=0, max_tokens=9, logprobs=1)
    (choice,) = done.choices
    assert choice.text == expected.text
    assert choice.finish_reason == ("stop" if expected.ended else "length")
    assert choice.logprobs is not None
    assert choice.logprobs.token_logprobs == pytest.approx([piece.log_prob for piece in expected.pieces], abs=1e-4)


def test_without_a_seed_each_request_draws_otherwise(client: openai.OpenAI) -> None:
    texts = {client.completions.create(model="text", prompt="the", max_tokens=8).choices[0].text for _ in range(5)}
    assert len(texts) > 1


def test_several_of_one_prompt(client: openai.OpenAI) -> None:
    done = client.completions.create(model="text", prompt=["the", "a"], n=3, seed=1, max_tokens=8, echo=True)
    assert [choice.index for choice in done.choices] == list(range(6))
    assert len({choice.text for choice in done.choices}) > 3
    assert [choice.text.split()[0][:1] for choice in done.choices] == list("tttaaa")
    alone = client.completions.create(model="text", prompt="the", seed=2, max_tokens=8, echo=True)
    assert alone.choices[0].text == done.choices[1].text  # the next one has the next seed


@pytest.mark.parametrize("model", ["text", "documents", "pairs"])
@pytest.mark.parametrize("stop", [None, ["m", "oo"]])
def test_a_stream_is_the_same_text_in_parts(client: openai.OpenAI, model: str, stop: list[str] | None) -> None:
    prompt = "abcd" if model == "pairs" else "the film"
    asked: dict[str, Any] = {"model": model, "prompt": prompt, "seed": 3, "max_tokens": 20, "stop": stop}
    (whole,) = client.completions.create(**asked, temperature=1).choices
    parts = list(client.completions.create(**asked, temperature=1, stream=True))
    choices = [part.choices[0] for part in parts]
    assert "".join(choice.text for choice in choices) == whole.text
    assert len(parts) > 2 or len(whole.text) < 5
    assert [choice.finish_reason for choice in choices] == [None] * (len(parts) - 1) + [whole.finish_reason]
    assert len({part.id for part in parts}) == 1
    assert not any(phrase in whole.text for phrase in stop or ())


def test_a_beam_comes_at_its_end(client: openai.OpenAI, runs: Runs) -> None:
    """What a search has so far may still be dropped; without a temperature pairs are searched as the run says."""
    parts = list(client.completions.create(model="pairs", prompt="abcd", stream=True))
    assert [part.choices[0].text for part in parts] == [str(seqloom.load(runs["pairs"]).predict("abcd")), ""]


def test_chat(client: openai.OpenAI, live: Live) -> None:
    messages: Any = [
        {"role": "system", "content": "the film was dull"},
        {"role": "user", "content": [{"type": "text", "text": "the "}, {"type": "text", "text": "book"}]},
    ]
    done = client.chat.completions.create(
        model="text", messages=messages, seed=5, max_completion_tokens=10, logprobs=True
    )
    (choice,) = done.choices
    (plain,) = client.completions.create(
        model="text", prompt="the film was dull\nthe book", seed=5, max_tokens=10
    ).choices
    assert choice.message.content == plain.text
    assert choice.logprobs is not None
    assert done.usage is not None
    assert len(choice.logprobs.content or ()) in (done.usage.completion_tokens, done.usage.completion_tokens + 1)
    parts = list(
        client.chat.completions.create(
            model="text", messages=messages, seed=5, max_tokens=10, stream=True,
            stream_options={"include_usage": True},
        )
    )  # fmt: skip
    assert parts[0].choices[0].delta.role == "assistant"
    assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == plain.text
    assert parts[-1].usage == done.usage
    assert parts[-2].choices[0].finish_reason == choice.finish_reason


def test_words_that_the_model_does_not_know_are_told(client: openai.OpenAI) -> None:
    """In a field that clients pass on, or do not look at."""
    done = client.completions.create(model="pairs", prompt=["abc", "az"], max_tokens=4)
    (note,) = done.notes  # type: ignore[attr-defined]
    assert note == "input 2: the vocabulary has no 'z': the model reads <unk> instead"
    parts = list(client.completions.create(model="pairs", prompt="az", max_tokens=4, stream=True))
    told = [part.notes for part in parts if getattr(part, "notes", None)]  # type: ignore[attr-defined]
    assert told == [["the vocabulary has no 'z': the model reads <unk> instead"]]
    known = client.completions.create(model="pairs", prompt="abc", max_tokens=4)
    assert getattr(known, "notes", None) is None


def test_stop_phrases_cut_the_text_before_them(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "text", "prompt": "the film", "seed": 4, "max_tokens": 30}
    (free,) = client.completions.create(**asked).choices
    phrase = free.text.strip()[3:6]
    (cut,) = client.completions.create(**asked, stop=phrase, logprobs=0).choices
    assert cut.text == free.text[: free.text.index(phrase)]
    assert cut.finish_reason == "stop"
    assert cut.logprobs is not None
    assert len(cut.logprobs.tokens or ()) > 0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"presence_penalty": 0.5}, "presence_penalty: is not supported by this server; leave it out"),
        ({"best_of": 2}, "best_of: is not supported"),
        ({"suffix": "x"}, "suffix: is not supported"),
        ({"logprobs": 5}, "logprobs: is not supported"),
        ({"stop": [""]}, "stop: at most 16 phrases, and none of them empty"),
        ({"model": "tags"}, "model 'tags' writes no text (tag); ask it with POST /v1/predict"),
        ({"model": "pairs", "n": 2}, "n: answers are searched for, and all would be the same"),
        ({"prompt": []}, "prompt: an empty list"),
        ({"prompt": [1, 2]}, "prompt.0: should be text"),
        ({"temperature": -1}, "temperature: should be at least 0"),
        ({"max_tokens": 5000}, "input 1: answers have at most 4096 tokens"),
        ({"n": 65}, "65 inputs, but a request may have 64 (serving.inputs)"),
        ({"extra_body": {"tempreature": 1}}, "tempreature: there is no such field"),
    ],
)
def test_what_cannot_be_had(client: openai.OpenAI, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        client.completions.create(**{"model": "text", "prompt": "the", **asked})
    assert isinstance(caught.value.body, dict)
    assert message in str(caught.value.body["message"])


def test_what_only_describes_the_caller_is_taken(client: openai.OpenAI) -> None:
    client.completions.create(model="text", prompt="the", max_tokens=2, user="me", frequency_penalty=0, logit_bias={})


def test_what_is_told_of_a_growing_text() -> None:
    told = Told(["stop", "."])
    assert [told.more(text) for text in ["a", "ab s", "ab st", "ab sti", "ab sti\ufffd", "ab stié st"]] == [
        "a", "b ", "", "sti", "", "é ",
    ]  # fmt: skip
    assert told.last("ab stié st") == "st"
