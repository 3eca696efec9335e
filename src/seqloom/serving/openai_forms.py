"""The shapes of OpenAI's answers: whole, and in parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from seqloom.jobs.answering.answer import Answer
from seqloom.serving.ticket import Said

Table = dict[str, Any]


def reason(said: Said) -> str:
    return "stop" if said.stopped or said.answers[0].ended else "length"


@dataclass(frozen=True)
class TextForm:
    """Of /v1/completions. prompts: they stand before their answers; None: they do not."""

    id: str
    created: int
    prompts: Sequence[str] | None
    logprobs: bool

    def whole(self, model: str, choices: list[Table], usage: Table) -> Table:
        return self.part(model, choices) | {"usage": usage}

    def part(self, model: str, choices: list[Table]) -> Table:
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": model,
            "choices": choices,
        }

    def choice(self, place: int, prompt: int, said: Said) -> Table:
        before = self.prompts[prompt] if self.prompts is not None else ""
        return self.end(place, said) | {"text": before + said.answers[0].text}

    def first(self, place: int, prompt: int) -> Table | None:
        return self.delta(place, self.prompts[prompt]) if self.prompts is not None else None

    def delta(self, place: int, text: str) -> Table:
        return {"index": place, "text": text, "logprobs": None, "finish_reason": None}

    def end(self, place: int, said: Said) -> Table:
        logprobs = _of_text(said.answers[0]) if self.logprobs else None
        return {"index": place, "text": "", "logprobs": logprobs, "finish_reason": reason(said)}


def _of_text(answer: Answer) -> Table:
    pieces = answer.pieces
    return {
        "tokens": [piece.text for piece in pieces],
        "token_logprobs": [piece.log_prob for piece in pieces],
        "text_offset": list(accumulate((len(piece.text) for piece in pieces[:-1]), initial=0))[: len(pieces)],
        "top_logprobs": None,
    }


@dataclass(frozen=True)
class ChatForm:
    """Of /v1/chat/completions."""

    id: str
    created: int
    logprobs: bool

    def whole(self, model: str, choices: list[Table], usage: Table) -> Table:
        return self._table(model, choices, "chat.completion") | {"usage": usage}

    def part(self, model: str, choices: list[Table]) -> Table:
        return self._table(model, choices, "chat.completion.chunk")

    def _table(self, model: str, choices: list[Table], what: str) -> Table:
        return {"id": self.id, "object": what, "created": self.created, "model": model, "choices": choices}

    def choice(self, place: int, prompt: int, said: Said) -> Table:
        message = {"role": "assistant", "content": said.answers[0].text, "refusal": None}
        return {"index": place, "message": message, "logprobs": self._logprobs(said), "finish_reason": reason(said)}

    def first(self, place: int, prompt: int) -> Table | None:
        return self._delta(place, {"role": "assistant", "content": ""})

    def delta(self, place: int, text: str) -> Table:
        return self._delta(place, {"content": text})

    def end(self, place: int, said: Said) -> Table:
        return self._delta(place, {}) | {"logprobs": self._logprobs(said), "finish_reason": reason(said)}

    def _delta(self, place: int, delta: Table) -> Table:
        return {"index": place, "delta": delta, "logprobs": None, "finish_reason": None}

    def _logprobs(self, said: Said) -> Table | None:
        if not self.logprobs:
            return None
        each: list[Table] = [
            {"token": piece.text, "logprob": piece.log_prob, "bytes": None, "top_logprobs": []}
            for piece in said.answers[0].pieces
        ]
        return {"content": each, "refusal": None}


Form = TextForm | ChatForm
