"""Prompts that are gone on with, in the words of the interfaces that programs already know."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqloom.generation.sampling import Sampling
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Question
from seqloom.serving.asking import Wish
from seqloom.serving.desk import Desk
from seqloom.serving.given import SEEDS, Draws
from seqloom.serving.refusal import RefusalError
from seqloom.serving.settings import ChatSettings, NamedChat, PlainChat
from seqloom.tasks.language import LanguageTask

_HALF = "\ufffd"  # what half a character is shown as


@dataclass(frozen=True)
class Prompting:
    """temperature: 0 is greedy. seed: None: another one each time. count: continuations of each prompt."""

    prompts: Sequence[str]
    draws: Draws
    temperature: float | None = None
    seed: int | None = None
    longest: int | None = None
    stops: tuple[str, ...] = ()
    count: int = 1
    watched: bool = False

    @property
    def inputs(self) -> int:
        return len(self.prompts) * self.count

    def wishes(self, desk: Desk) -> list[Wish]:
        """Those of a prompt stand together. The first continuation is what `seqloom predict` draws with the seed."""
        settings = self._settings(desk)
        if settings.sample is None and self.count > 1:
            raise RefusalError(
                422, "n: answers are searched for, and all would be the same; set a temperature, or ask /v1/predict"
            )
        first = random.randint(0, SEEDS) if self.seed is None else self.seed
        return [
            Wish(
                Question(prompt, longest=self.longest),
                number,
                settings.model_copy(update={"seed": (first + other) % (SEEDS + 1)}),
                watched=self.watched,
                stops=self.stops,
            )
            for number, prompt in enumerate(self.prompts)
            for other in range(self.count)
        ]

    def _settings(self, desk: Desk) -> GenerationSettings:
        """A language model draws, as its likeliest text is dull; what reads a source searches, if nothing is said."""
        own = desk.settings
        alone: dict[str, Any] = {"n_best": 1, "rerank": None}
        if self.temperature == 0:
            return own.model_copy(update={**alone, "beam": 1, "groups": 1, "sample": None})
        said = self.temperature is not None or self.draws.model_dump(exclude_none=True)
        if not (said or own.sample is not None or isinstance(desk.model.task, LanguageTask)):
            return own.model_copy(update=alone)
        sample = self.draws.over(own.sample or Sampling())
        if self.temperature is not None:
            sample = sample.model_copy(update={"temperature": self.temperature})
        return own.model_copy(update={**alone, "sample": sample, "groups": 1, "coverage": 0.0})


class Told:
    """What of a growing text was told already. stops: phrases at which the text will be cut."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops, self.sent = stops, ""

    def more(self, text: str) -> str:
        """What can be told of it now: no half character, and nothing that may become a stop phrase."""
        end = len(text)
        while end and text[end - 1] == _HALF:
            end -= 1
        held = max((self._begun(text[:end], stop) for stop in self.stops), default=0)
        return self.last(text[: end - held])

    def last(self, text: str) -> str:
        """The rest, of what will not grow any more."""
        if not text.startswith(self.sent):
            return ""
        new, self.sent = text[len(self.sent) :], text
        return new

    @staticmethod
    def _begun(text: str, stop: str) -> int:
        """How many characters at the text's end could be the beginning of the phrase."""
        return next((count for count in range(min(len(stop), len(text)), 0, -1) if text.endswith(stop[:count])), 0)


def chat_prompt(messages: Sequence[tuple[str, str]], settings: ChatSettings) -> str:
    """Messages as pairs of a role and a content."""
    match settings:
        case PlainChat():
            return "\n".join(content for _, content in messages)
        case NamedChat():
            lines = [f"{getattr(settings, role)}{content}" for role, content in messages]
            return "\n".join([*lines, settings.assistant.rstrip()])
