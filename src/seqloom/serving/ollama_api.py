"""What clients of Ollama ask: /api/generate, /api/chat, /api/tags and what describes the models."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, Literal

from fastapi import APIRouter, Request

from seqloom import __version__
from seqloom.jobs.lines.json_line import json_line
from seqloom.serving.asking import Pending
from seqloom.serving.body import JsonRoute
from seqloom.serving.continuing import streamed, whole
from seqloom.serving.ollama_requests import ChatRequest, GenerateRequest, ShowRequest, Writes
from seqloom.serving.openai_forms import reason
from seqloom.serving.plain_json import PlainJson
from seqloom.serving.prompting import Prompting, Told, chat_prompt
from seqloom.serving.service import service
from seqloom.serving.shelf import Book
from seqloom.serving.stream import LINES
from seqloom.serving.ticket import Going, Said

router = APIRouter(route_class=JsonRoute, tags=["as Ollama"])
Table = dict[str, Any]


@dataclass(frozen=True)
class Lines:
    """What each line says. began: in nanoseconds, of a clock that only runs forward."""

    model: str
    kind: Literal["generate", "chat"]
    began: int

    def line(self, text: str, done: bool = False) -> Table:
        said = {"response": text} if self.kind == "generate" else {"message": {"role": "assistant", "content": text}}
        return {"model": self.model, "created_at": datetime.now(UTC).isoformat(), **said, "done": done}

    def last(self, text: str, said: Said, read: int) -> Table:
        took = time.monotonic_ns() - self.began
        return self.line(text, done=True) | {
            "done_reason": reason(said),
            "total_duration": took,
            "load_duration": 0,
            "prompt_eval_count": read,
            "prompt_eval_duration": 0,
            "eval_count": len(said.answers[0].tokens),
            "eval_duration": took,
        }


@router.post("/api/generate", summary="Go on with a prompt, line by line")
async def generate(asked: GenerateRequest, request: Request) -> Any:
    prompt = asked.prompt
    if asked.system:
        prompt = chat_prompt([("system", asked.system), ("user", prompt)], service(request).settings.chat)
    return await _written(request, asked, prompt, "generate")


@router.post("/api/chat", summary="Answer messages, line by line")
async def chat(asked: ChatRequest, request: Request) -> Any:
    texts = [(message.role, message.content) for message in asked.messages]
    return await _written(request, asked, chat_prompt(texts, service(request).settings.chat), "chat")


async def _written(request: Request, asked: Writes, prompt: str, kind: Literal["generate", "chat"]) -> Any:
    it = service(request)
    asked.refuse_unsupported()
    book = it.shelf.find(asked.model)
    lines, prompting = Lines(asked.model, kind, time.monotonic_ns()), asked.prompting(prompt)
    if asked.stream is not False:
        parts = partial(_parts, prompting, lines)
        return await streamed(it, request, book, prompting, parts, LINES, lambda no: json_line(no.content("/api/")))
    waiting, (said,) = await whole(it, request, book, prompting)
    return PlainJson(lines.last(said.answers[0].text, said, waiting.read) | waiting.noted())


async def _parts(prompting: Prompting, lines: Lines, waiting: Pending) -> AsyncIterator[str]:
    told = Told(prompting.stops)
    async for _, event in waiting.heard():
        if isinstance(event, Going):
            if new := told.more(event.text):
                yield json_line(lines.line(new))
        else:
            if rest := told.last(event.answers[0].text):
                yield json_line(lines.line(rest))
            yield json_line(lines.last("", event, waiting.read) | waiting.noted())


@router.get("/api/tags", summary="The models that are served")
async def tags(request: Request) -> Any:
    return {"models": [_described(book) for book in service(request).shelf.runs]}


@router.get("/api/ps", summary="Those that are loaded")
async def loaded(request: Request) -> Any:
    books = [book for book in service(request).shelf.runs if book.desk is not None]
    return {"models": [{**_described(book), "size_vram": 0} for book in books]}


@router.post("/api/show", summary="What is known of a model")
async def show(asked: ShowRequest, request: Request) -> Any:
    book = service(request).shelf.find(asked.model or asked.name)
    writes = book.kind in ("translate", "language")
    return {
        "modelfile": "",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _details(book),
        "modified_at": _time(book),
        "model_info": {"general.architecture": "seqloom", "general.parameter_count": book.parameters},
        "capabilities": ["completion"] if writes else [],
    }


@router.get("/api/version", summary="Of seqloom")
async def version() -> Any:
    return {"version": __version__}


def _described(book: Book) -> Table:
    return {
        "name": book.name,
        "model": book.name,
        "modified_at": _time(book),
        "size": book.bytes,
        "digest": sha256(repr((book.name, book.signature)).encode()).hexdigest(),
        "details": _details(book),
    }


def _details(book: Book) -> Table:
    return {
        "parent_model": "",
        "format": "safetensors",
        "family": book.kind,
        "families": [book.kind],
        "parameter_size": f"{book.parameters / 1e6:.3g}M",
        "quantization_level": "F32",
    }


def _time(book: Book) -> str:
    return datetime.fromtimestamp(book.changed, UTC).isoformat()
