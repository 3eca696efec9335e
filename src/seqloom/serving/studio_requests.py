"""What the studio asks, and what of it is refused before the model hears of it."""

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from pydantic import Field, ValidationError

from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changes import Change
from seqloom.jobs.answering.generation import refuse_unused
from seqloom.jobs.lines.json_line import json_line
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking.attention import Weights
from seqloom.jobs.looking.documents import Step, to_json
from seqloom.jobs.looking.question import prepared
from seqloom.jobs.looking.stream import searched
from seqloom.serving.desk import Desk
from seqloom.serving.errand import Until
from seqloom.serving.faults import told
from seqloom.serving.forecast_tables import CsvTable, RowsTable
from seqloom.serving.given import Given
from seqloom.serving.predict_api import Input, Number, Series, Values
from seqloom.serving.refusal import RefusalError
from seqloom.serving.settings import ServingSettings

MOST_CHANGES = 64
OUTSIDE = ("answer", "beam")
"""Documents of what a model says; all others are of its inside."""


class TableInput(Given):
    """What a forecast begins from, and what of it is looked into: a table, or numbers, a row a step."""

    csv: str | None = None
    """the text of a file"""
    rows: list[dict[str, str | int | float | None]] | None = None
    values: Series | None = None
    times: list[str] | None = None
    """of the values"""
    series: str | None = None
    """which one, of a table of several"""
    column: str | None = None
    """which one is looked into, where they are read one by one"""


Picture = list[list[list[Number]]]
"""Lines of pixels, each of several numbers."""


class StudioRequest(Given):
    model: str | None = None
    """one of those that are served; else the first"""
    input: str | int | list[str] | Series | Picture | Input | Values | TableInput | CsvTable | RowsTable
    """as in /v1/predict: a text, words, a series of numbers; of a graph a node; of a forecast a table"""
    target: str | list[str] | None = None
    """the answer that is forced; else the model's own"""
    changes: Annotated[list[Change], Field(max_length=MOST_CHANGES)] = Field(default_factory=list)
    """what is switched off or otherwise in the model while it answers"""
    settings: dict[str, Any] = Field(default_factory=dict)
    """of [generation], such as beam; what is left out is as the run says"""
    prefix: list[Annotated[int, Field(ge=0, le=2**31)]] = Field(default_factory=list)
    """ids of tokens that the answer begins with"""

    @property
    def key(self) -> str:
        """The same for the same look, whichever of its documents is asked for."""
        parts = self.model_dump(mode="json", exclude={"model", "box", "row", "head", "weights", "layer"})
        return json.dumps(parts, sort_keys=True)

    def look(self, desk: Desk, limits: ServingSettings) -> Look:
        """A new one. Refused before anything is run, if there is too much to read."""
        settings = self.generation(desk, limits)
        look = Look(desk.model, LookRequest(self._given, self.target, tuple(self.changes), settings))
        if desk.model.writer is not None:
            self.refuse_long(desk, look, limits, inside=False)
        return look

    @property
    def _given(self) -> Any:
        return self.input.model_dump(exclude_unset=True) if isinstance(self.input, Given) else self.input

    def kept(self, desk: Desk, limits: ServingSettings) -> Look:
        """The one that was looked at before, or a new one."""
        return desk.looks.find(self.key, lambda: self.look(desk, limits))

    def searched(self, desk: Desk, look: Look) -> Iterator[Step | Until | None]:
        """See `jobs.looking.stream.searched`; of two that ask for the same, one searches and the other waits for it."""
        key, busy = self.key, desk.looks.busy
        while key in busy:
            yield Until(lambda: key not in busy)
        busy.add(key)
        try:
            yield from searched(look, self.prefix)
        finally:
            busy.discard(key)

    def found(self, desk: Desk, look: Look) -> Iterator[Until | None]:
        """The same, for whom its steps are nothing yet."""
        for step in self.searched(desk, look):
            yield step if isinstance(step, Until) else None

    def written(self, desk: Desk, look: Look, limits: ServingSettings, name: str, make: Callable[[Look], Any]) -> str:
        """A document as JSON, kept under its name. It is written here, as it may be long, and the event loop waits for
        nobody."""
        if name in look.kept:
            return str(look.kept[name])
        try:
            self.refuse_long(desk, look, limits, inside=name not in OUTSIDE)
            look.kept[name] = json_line(to_json(make(look)))
            return str(look.kept[name])
        finally:
            desk.looks.measure(self.key)

    def refuse_long(self, desk: Desk, look: Look, limits: ServingSettings, inside: bool) -> None:
        """Before the answer is written, and after it. inside: what is kept of attention grows with the square of it."""
        if desk.model.recipe.task.kind == "nodes":  # a graph is read as a whole
            return
        if desk.model.writer is not None and self.target is None and "subject" not in vars(look):
            asked = prepared(look, desk.model.writer, self.prefix)
            assert asked.item is not None
            _refuse(len(asked.item.source) + asked.cut, "input", limits, inside)
            return
        both = 1 if look.subject.source else 2  # without an encoder, a prompt and its answer are one text
        _refuse(len(look.subject.source), "input", limits, inside)
        _refuse(len(look.subject.target) // both, "target", limits, inside)

    def generation(self, desk: Desk, limits: ServingSettings) -> GenerationSettings:
        """The desk's own settings with those of the request; what a look may take bounds the answer."""
        settings = _over(desk.settings, self.settings)
        named = {name: f"settings.{name}" for name in self.settings}
        refuse_unused(desk.model.recipe.task, settings, named)
        for name in "beam", "n_best":
            if getattr(settings, name) > limits.n_best:
                raise RefusalError(422, f"settings.{name}: at most {limits.n_best} may be asked for (serving.n_best)")
        if settings.rerank is not None and settings.rerank.candidates > limits.n_best and "rerank" in self.settings:
            raise RefusalError(422, f"settings.rerank: at most {limits.n_best} candidates (serving.n_best)")
        longest = min(settings.longest or limits.look_tokens, limits.look_tokens)
        if "longest" in self.settings and (settings.longest or 0) > limits.look_tokens:
            raise RefusalError(422, f"settings.longest: at most {limits.look_tokens} (serving.look_tokens)")
        return settings.model_copy(update={"longest": longest, "shortest": min(settings.shortest, longest)})


class BoxRequest(StudioRequest):
    box: str
    """its id in the flow"""
    row: Annotated[int, Field(ge=0)] | None = None
    """whose numbers are put into the equation; else the first"""
    head: Annotated[int, Field(ge=0)] | None = None


class AttentionRequest(StudioRequest):
    weights: Weights = "all"
    """light: all, unless they are too many for one document, then none; small: for small pictures"""
    layer: str | None = None
    """only this one; else every layer"""


def _refuse(tokens: int, what: str, limits: ServingSettings, inside: bool) -> None:
    name, most = ("look_tokens", limits.look_tokens) if inside else ("input_tokens", limits.input_tokens)
    if tokens <= most + 1:  # an end mark
        return
    told = "are looked into" if inside else "are read"
    raise RefusalError(422, f"{what}: {tokens} tokens, but at most {most} {told} (serving.{name})")


def _over(own: GenerationSettings, given: dict[str, Any]) -> GenerationSettings:
    """Tables within go over the run's own, unless they are of another kind."""
    merged: dict[str, Any] = own.model_dump()
    for name, value in given.items():
        before = merged.get(name)
        if (
            isinstance(value, dict)
            and isinstance(before, dict)
            and value.get("kind", before.get("kind")) == before.get("kind")
        ):
            value = {**before, **value}
        merged[name] = value
    try:
        return GenerationSettings.model_validate(merged)
    except ValidationError as error:
        faults = [{**one, "loc": ("settings", *one["loc"])} for one in error.errors()]
        raise RefusalError(422, told(faults)) from None
