"""The fields of OpenAI's requests: what is understood, what changes nothing, and what cannot be had."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from seqloom.serving.given import SEEDS, Draws, Given
from seqloom.serving.prompting import Prompting
from seqloom.serving.refusal import RefusalError

STOPS = 16  # phrases


class StreamOptions(Given):
    include_usage: bool = False
    include_obfuscation: bool = False


class Writes(Given):
    """What both kinds of requests say. Fields that only describe the caller are taken, and change nothing."""

    model: str
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    """0: always the likeliest token; else they are drawn"""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0, le=2**31)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    """the same one draws the same; else each request draws otherwise"""
    stop: str | list[str] | None = None
    """the text ends before any of these phrases"""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    presence_penalty: float | None = None
    """only 0"""
    frequency_penalty: float | None = None
    """only 0"""
    logit_bias: dict[str, float] | None = None
    """only an empty one"""

    def unsupported(self) -> dict[str, tuple[Any, ...]]:
        """Fields that would change the text, and with which values they do not."""
        return {"presence_penalty": (None, 0), "frequency_penalty": (None, 0), "logit_bias": (None, {})}

    def refuse_unsupported(self) -> None:
        for name, values in self.unsupported().items():
            if getattr(self, name) not in values:
                raise RefusalError(422, f"{name}: is not supported by this server; leave it out")
        if len(self.stops) > STOPS or not all(self.stops):
            raise RefusalError(422, f"stop: at most {STOPS} phrases, and none of them empty")

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    def prompting(self, prompts: Sequence[str], longest: int | None) -> Prompting:
        draws = Draws(top_p=self.top_p, top_k=self.top_k, min_p=self.min_p)
        seed = None if self.seed is None else self.seed % (SEEDS + 1)
        many, watched = self.n or 1, bool(self.stream)
        return Prompting(prompts, draws, self.temperature, seed, longest, self.stops, many, watched)


class CompletionRequest(Writes):
    prompt: str | list[str]
    echo: bool | None = None
    """the prompt stands before what follows it"""
    logprobs: int | None = None
    """0 or 1: of each token that was written"""
    best_of: int | None = None
    """only 1"""
    suffix: str | None = None
    """not supported"""

    def unsupported(self) -> dict[str, tuple[Any, ...]]:
        mine = {"logprobs": (None, 0, 1), "best_of": (None, 1), "suffix": (None, "")}
        return super().unsupported() | mine


class TextPart(Given):
    type: Literal["text"]
    text: str


class ChatMessage(Given):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart] | None = None
    name: str | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class ChatRequest(Writes):
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    logprobs: bool | None = None
    """of each token that was written"""
    top_logprobs: int | None = None
    """only 0"""
    response_format: dict[str, Any] | None = None
    """only {"type": "text"}"""
    modalities: list[str] | None = None
    """only ["text"]"""
    tools: list[Any] | None = None
    """only an empty list"""

    def unsupported(self) -> dict[str, tuple[Any, ...]]:
        mine = {
            "top_logprobs": (None, 0),
            "response_format": (None, {"type": "text"}),
            "modalities": (None, ["text"]),
            "tools": (None, []),
        }
        return super().unsupported() | mine

    def texts(self) -> list[tuple[str, str]]:
        """A developer is the system, by another name."""
        return [(one.role.replace("developer", "system"), one.text) for one in self.messages]
