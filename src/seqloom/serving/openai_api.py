"""What clients of OpenAI's interface ask: /v1/completions, /v1/chat/completions, /v1/models."""

import time
import uuid
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from fastapi import APIRouter, Request

from seqloom.jobs.lines.json_line import json_line
from seqloom.serving.asking import Pending
from seqloom.serving.body import JsonRoute
from seqloom.serving.continuing import streamed, whole
from seqloom.serving.openai_forms import ChatForm, Form, TextForm
from seqloom.serving.openai_requests import ChatRequest, CompletionRequest, Writes
from seqloom.serving.plain_json import PlainJson
from seqloom.serving.prompting import Prompting, Told, chat_prompt
from seqloom.serving.service import service
from seqloom.serving.shelf import Book
from seqloom.serving.stream import EVENTS
from seqloom.serving.ticket import Going

router = APIRouter(route_class=JsonRoute, tags=["as OpenAI"])


@router.post("/v1/completions", summary="Go on with a prompt")
async def completions(asked: CompletionRequest, request: Request) -> Any:
    """Tokens are drawn; `temperature: 0` takes the likeliest. With `stream` they come one by one."""
    prompts = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
    form = TextForm(_id("cmpl"), int(time.time()), prompts if asked.echo else None, asked.logprobs is not None)
    return await _written(request, asked, asked.prompting(prompts, asked.max_tokens), form)


@router.post("/v1/chat/completions", summary="Answer messages")
async def chat(asked: ChatRequest, request: Request) -> Any:
    """The messages become one prompt (`serving.chat`), which the model goes on with."""
    prompt = chat_prompt(asked.texts(), service(request).settings.chat)
    form = ChatForm(_id("chatcmpl"), int(time.time()), bool(asked.logprobs))
    longest = asked.max_completion_tokens or asked.max_tokens
    return await _written(request, asked, asked.prompting([prompt], longest), form)


@router.get("/v1/models", summary="The models that are served")
async def models(request: Request) -> Any:
    return {"object": "list", "data": [_described(book) for book in service(request).shelf.runs]}


@router.get("/v1/models/{model:path}", summary="One of them")
async def model(model: str, request: Request) -> Any:
    return _described(service(request).shelf.find(model))


def _described(book: Book) -> dict[str, Any]:
    return {"id": book.name, "object": "model", "created": int(book.changed), "owned_by": "seqloom", "task": book.kind}


def _id(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


async def _written(request: Request, asked: Writes, prompting: Prompting, form: Form) -> Any:
    it = service(request)
    asked.refuse_unsupported()
    book = it.shelf.find(asked.model)
    if asked.stream:
        use = asked.stream_options is not None and asked.stream_options.include_usage
        parts = partial(_parts, book.name, prompting, form, use)
        return await streamed(it, request, book, prompting, parts, EVENTS, lambda no: _event(no.content("/v1/")))
    waiting, said = await whole(it, request, book, prompting)
    choices = [form.choice(place, place // prompting.count, one) for place, one in enumerate(said)]
    written = sum(len(one.answers[0].tokens) for one in said)
    return PlainJson(form.whole(book.name, choices, usage(waiting.read, written)) | waiting.noted(prompting.count))


async def _parts(model: str, prompting: Prompting, form: Form, use: bool, waiting: Pending) -> AsyncIterator[str]:
    """use: the last part says how many tokens there were. The first that ends a text says what should be known."""
    told = [Told(prompting.stops) for _ in range(prompting.inputs)]
    written, noted = 0, waiting.noted(prompting.count)
    for place in range(prompting.inputs):
        if (first := form.first(place, place // prompting.count)) is not None:
            yield _event(form.part(model, [first]))
    async for place, event in waiting.heard():
        if isinstance(event, Going):
            if new := told[place].more(event.text):
                yield _event(form.part(model, [form.delta(place, new)]))
            continue
        written += len(event.answers[0].tokens)
        if rest := told[place].last(event.answers[0].text):
            yield _event(form.part(model, [form.delta(place, rest)]))
        yield _event(form.part(model, [form.end(place, event)]) | noted)
        noted = {}
    if use:
        yield _event(form.part(model, []) | {"usage": usage(waiting.read, written)})
    yield "data: [DONE]\n\n"


def usage(read: int, written: int) -> dict[str, int]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _event(content: Any) -> str:
    return f"data: {json_line(content)}\n"
