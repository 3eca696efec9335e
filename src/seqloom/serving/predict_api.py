"""POST /v1/predict: any task, as `seqloom predict` answers it."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from seqloom.data.reading.faults import Broken
from seqloom.data.reading.numbers import series_of
from seqloom.data.readings import Floats
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.answering.generation import generation_of
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.serving.asking import Wish, attended, pending
from seqloom.serving.body import JsonRoute
from seqloom.serving.desk import Desk
from seqloom.serving.forecast_tables import CsvTable, RowsTable, Table, forecasts
from seqloom.serving.given import SEEDS, Draws, Given
from seqloom.serving.plain_json import PlainJson
from seqloom.serving.refusal import RefusalError
from seqloom.serving.service import Service, service
from seqloom.settings import UserError
from seqloom.tasks.forecast import ForecastTask

router = APIRouter(route_class=JsonRoute, tags=["seqloom"])
FIELDS = {"beam": '"beam": ', "n_best": '"n_best": ', "sample": '"sample"'}


Number = float | None
"""Of a series; null is a reading that is missing."""
Series = list[Number] | list[list[Number]]
"""Steps: one reading each, or a list of them."""


class Input(Given):
    """A text with wishes for its answer, as in a line of `seqloom predict --input jsonl`."""

    source: str | list[str] | Series
    """words that are split already, if they are to be tagged; numbers, if a series is read"""
    prefix: str = ""
    """the answer begins with it"""
    must: list[str] = Field(default_factory=list)
    """phrases that the answer holds"""
    must_not: list[str] = Field(default_factory=list)
    """phrases that it does not hold"""
    longest: Annotated[int, Field(ge=1)] | None = None
    """tokens of the answer at most"""
    id: str | int | None = None
    """stands in its answers too"""


class Values(Given):
    """A series, as in a line of JSON that a model of series is trained on."""

    values: Series
    """the readings of each step, or one alone; null: it is missing"""
    id: str | int | None = None
    """stands in its answers too"""


class PredictRequest(Given):
    inputs: list[str | Input | Values | CsvTable | RowsTable | list[str] | Series]
    """texts, words that are split already, series of numbers, ids of a graph's nodes; or tables of one of them, texts
    with wishes, tables of series that are to be forecast"""
    model: str | None = None
    """one of those that are served; else the first"""
    n_best: Annotated[int, Field(ge=1)] = 1
    """answers to each input, best first"""
    beam: Annotated[int, Field(ge=1)] | None = None
    """hypotheses that are kept; 1: greedy"""
    sample: bool | Draws = False
    """draw tokens by chance instead of searching"""
    seed: Annotated[int, Field(ge=0, le=SEEDS)] | None = None
    """of chance; the same seed draws the same"""
    alignment: bool = False
    """which word was written from which: pairs of numbers from 0, the source's first"""
    scores: bool = False
    """each piece with its log-probability"""


class PredictAnswer(BaseModel):
    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    text: str
    """the answer; a label; tags with spaces between them"""
    score: float | None
    """what answers are ranked by; of labels the probability"""


class Forecasted(BaseModel):
    """One column of a forecast, step by step."""

    mean: list[float]
    quantiles: dict[str, list[float]]


class ForecastAnswer(BaseModel):
    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    series: str
    """its name; empty, where there is but one"""
    times: list[str]
    values: dict[str, Forecasted]
    """by column"""


class PredictResponse(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    model: str
    outputs: list[list[PredictAnswer]] | list[list[ForecastAnswer]]
    """to each input its answers, best first; of a table, the forecast of each of its series"""
    notes: list[str] | None = None
    """what should be known of inputs: words that the vocabulary does not have, what was left out; of tables, values
    that are missing, series that training did not have"""


@router.post("/v1/predict", response_model=PredictResponse, summary="Answer texts with any model")
async def predict(asked: PredictRequest, request: Request) -> Any:
    """As `seqloom predict` does: the same texts, the same scores. Labels and tags are answers too."""
    it = service(request)
    return await attended(request.receive, it.settings.seconds, _answered(it, asked, request))


async def _answered(it: Service, asked: PredictRequest, request: Request) -> PlainJson:
    _refuse(it, asked)
    book = it.shelf.find(asked.model)
    it.about(request, book.name, len(asked.inputs))
    if not asked.inputs:
        return PlainJson({"model": book.name, "outputs": []})
    async with it.shelf.use(book) as desk:
        if isinstance(desk.model.task, ForecastTask):
            return await _forecast(it, desk, asked)
        if asked.alignment and not desk.model.aligns:
            raise RefusalError(422, "alignment: no layer of this model looks at a source while it writes; leave it out")
        many, limits = len(asked.inputs), it.settings
        async with pending(desk, many, lambda: _wishes(desk, asked), limits, it.log) as waiting:
            said = await waiting.said()
        lines = AnswerLines("jsonl", scores=asked.scores, alignment=asked.alignment, labels=desk.model.labels)
    outputs = []
    for given, one in zip(asked.inputs, said, strict=True):
        named = {"id": given.id} if isinstance(given, Input | Values) and given.id is not None else {}
        outputs.append([named | lines.one(answer) for answer in one.answers])
    return PlainJson({"model": book.name, "outputs": outputs} | waiting.noted())


async def _forecast(it: Service, desk: Desk, asked: PredictRequest) -> PlainJson:
    unused = {"alignment": asked.alignment, "scores": asked.scores, "seed": asked.seed is not None}
    for name in (name for name, typed in unused.items() if typed):
        raise RefusalError(422, f"{name}: a forecast is numbers, all said at once; leave it out")
    try:
        _settings(desk, asked)
    except UserError as error:
        raise RefusalError(422, str(error)) from None
    if len(asked.inputs) > it.settings.inputs:
        most = it.settings.inputs
        raise RefusalError(422, f"{len(asked.inputs)} inputs, but a request may have {most} (serving.inputs)")
    outputs, notes = await forecasts(desk, asked.inputs, it.log)
    return PlainJson({"model": desk.name, "outputs": outputs} | ({"notes": notes} if notes else {}))


def _refuse(it: Service, asked: PredictRequest) -> None:
    for name, value in ("n_best", asked.n_best), ("beam", asked.beam):
        if value is not None and value > it.settings.n_best:
            raise RefusalError(
                422, f"{name}: {value}, but at most {it.settings.n_best} may be asked for (serving.n_best)"
            )


def _wishes(desk: Desk, asked: PredictRequest) -> list[Wish]:
    settings = _settings(desk, asked)
    return [
        Wish(_question(desk, number + 1, given), number, settings, asked.alignment)
        for number, given in enumerate(asked.inputs)
    ]


def _settings(desk: Desk, asked: PredictRequest) -> GenerationSettings:
    drawn = asked.sample is not False
    settings = generation_of(desk.model.opened[0], desk.changes, asked.beam, asked.n_best, drawn, FIELDS)
    update: dict[str, Any] = {} if asked.seed is None else {"seed": asked.seed}
    if isinstance(asked.sample, Draws):
        update["sample"] = asked.sample.over(settings.sample)
    return settings.model_copy(update=update)


def _question(desk: Desk, place: int, given: str | Input | Values | Table | list[str] | Series) -> Question:
    if isinstance(given, Table):
        kind = desk.model.recipe.task.kind
        raise RefusalError(422, f"input {place}: csv and rows are tables to be forecast, and this model does {kind}")
    if isinstance(given, Values):
        return Question(_source(place, given.values))
    if not isinstance(given, Input):
        return Question(_source(place, given))
    wishes = given.prefix, tuple(given.must), tuple(given.must_not), given.longest
    return Question(_source(place, given.source), *wishes)


def _source(place: int, given: str | list[str] | Series) -> str | tuple[str, ...] | Floats:
    if isinstance(given, str):
        return given
    words = tuple(word for word in given if isinstance(word, str))
    if len(words) == len(given):
        return words
    found = series_of(given)
    if isinstance(found, Broken):
        raise RefusalError(422, f"input {place}: {found.what}")
    return found
