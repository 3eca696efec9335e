"""The fields of Ollama's requests: what is understood, what changes nothing, and what cannot be had."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from seqloom.serving.given import SEEDS, Draws, Given
from seqloom.serving.prompting import Prompting
from seqloom.serving.refusal import RefusalError
from seqloom.settings import impossible

NEUTRAL: dict[str, tuple[Any, ...]] = {
    "repeat_penalty": (None, 1),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "tfs_z": (None, 1),
    "typical_p": (None, 1),
    "mirostat": (None, 0),
}
"""Options that would change the text, and with which values they do not."""


class Options(Given):
    """Those that say how a machine is used are taken, and change nothing."""

    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_k: Annotated[int, Field(ge=0, le=2**31)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    seed: int | None = None
    num_predict: int | None = None
    """tokens at most; below 0: as the run says"""
    stop: list[str] | None = None
    repeat_penalty: float | None = None
    """only 1"""
    presence_penalty: float | None = None
    """only 0"""
    frequency_penalty: float | None = None
    """only 0"""
    tfs_z: float | None = None
    """only 1"""
    typical_p: float | None = None
    """only 1"""
    mirostat: int | None = None
    """only 0"""
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None
    repeat_last_n: int | None = None
    penalize_newline: bool | None = None
    num_keep: int | None = None
    num_ctx: int | None = None
    num_batch: int | None = None
    num_gpu: int | None = None
    main_gpu: int | None = None
    num_thread: int | None = None
    numa: bool | None = None
    low_vram: bool | None = None
    f16_kv: bool | None = None
    logits_all: bool | None = None
    vocab_only: bool | None = None
    use_mmap: bool | None = None
    use_mlock: bool | None = None
    embedding_only: bool | None = None


class Writes(Given):
    model: str
    stream: bool | None = None
    """unset: yes"""
    options: Options | None = None
    keep_alive: float | str | None = None
    """changes nothing"""
    format: Literal[""] | None = None
    think: Literal[False] | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None

    def refuse_unsupported(self) -> None:
        options = self.options or Options()
        for name, values in NEUTRAL.items():
            if getattr(options, name) not in values:
                raise RefusalError(422, f"options.{name}: is not supported by this server; leave it out")
        if not all(options.stop or ()) or len(options.stop or ()) > 16:
            raise RefusalError(422, "options.stop: at most 16 phrases, and none of them empty")
        if options.num_predict == 0:
            raise RefusalError(422, "options.num_predict: 0 tokens are none; leave it out")

    def prompting(self, prompt: str) -> Prompting:
        options = self.options or Options()
        draws = Draws(top_p=options.top_p, top_k=options.top_k, min_p=options.min_p)
        seed = None if options.seed is None else options.seed % (SEEDS + 1)
        most = options.num_predict if (options.num_predict or 0) > 0 else None
        watched = self.stream is not False
        return Prompting([prompt], draws, options.temperature, seed, most, tuple(options.stop or ()), 1, watched)


class GenerateRequest(Writes):
    prompt: str = ""
    system: str | None = None
    """stands before the prompt, as in a chat"""
    raw: bool | None = None
    template: Literal[""] | None = None
    suffix: Literal[""] | None = None
    context: list[int] | None = Field(default=None, max_length=0)
    images: list[str] | None = Field(default=None, max_length=0)


class Message(Given):
    role: Literal["system", "user", "assistant"]
    content: str = ""
    images: list[str] | None = Field(default=None, max_length=0)
    thinking: str | None = None
    tool_name: str | None = None
    tool_calls: list[Any] | None = Field(default=None, max_length=0)


class ChatRequest(Writes):
    messages: Annotated[list[Message], Field(min_length=1)]
    tools: list[Any] | None = Field(default=None, max_length=0)


class ShowRequest(Given):
    model: str | None = None
    name: str | None = None
    """an older name of `model`"""
    verbose: bool | None = None

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.model is None and self.name is None:
            raise impossible("is missing", "model")
        return self
