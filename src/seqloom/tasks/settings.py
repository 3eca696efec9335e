"""Which task a recipe is for."""

from datetime import date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from seqloom.data.series.calendar import CalendarPart
from seqloom.music.settings import EventSettings, Performance
from seqloom.settings import Frozen, impossible


class Translate(Frozen):
    """Pairs: read one sequence, write another. Also phonemes, inflections, summaries."""

    kind: Literal["translate"] = "translate"
    reverse: bool = Field(default=False, description="read the source from its end (Sutskever et al. 2014)")
    learn: Literal["target", "all"] = Field(
        default="target",
        description="what a decoder-only model learns to say: the target, or also the source (Liu et al. 2018)",
    )


class Language(Frozen):
    """Running text: say what comes next."""

    kind: Literal["language"] = "language"
    context: int = Field(default=256, ge=1, description="tokens that are read at once in training")
    lines: Literal["text", "documents"] = Field(
        default="text", description="the file is one running text, or each line is a text of its own"
    )
    carry: bool = Field(
        default=False,
        description="a running text is read side by side in several places, and each window begins with the state that "
        "the one before it left: for recurrences, convolutions and gated linear layers",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.carry and self.lines != "text":
            raise impossible("each line begins anew here, and has nothing before it; set lines = 'text'", "carry")
        return self


class Music(Frozen):
    """Pieces of music, from MIDI files: say which event comes next."""

    kind: Literal["music"] = "music"
    events: EventSettings = Performance()
    context: int = Field(
        default=1024, ge=2, description="events that are read at once in training; longer pieces are cut into parts"
    )
    transpose: int = Field(
        default=0, ge=0, le=24, description="in training, semitones that a piece is moved up or down by, at most"
    )
    stretch: float = Field(
        default=0.0, ge=0, le=0.5, description="in training, how much slower or faster a piece is, at most: 0.05 is 5 %"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.stretch and not isinstance(self.events, Performance):
            raise impossible(f"{self.events.kind} have a grid, and no time to stretch; set stretch = 0", "stretch")
        return self


class Masked(Frozen):
    """Text with gaps: say what stands in them. Lines are sentences; an empty line ends a document."""

    kind: Literal["masked"] = "masked"
    context: int = Field(default=512, ge=6, description="tokens that are read at once, marks included")
    share: float = Field(default=0.15, gt=0, lt=1, description="of the tokens that are asked for")
    masked: float = Field(default=0.8, ge=0, le=1, description="share of these that a mark stands for")
    random: float = Field(default=0.1, ge=0, le=1, description="and that another token stands for; the rest stays")
    follows: bool = Field(
        default=True, description="examples are two segments, and the model says whether the second follows the first"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.masked + self.random > 1:
            raise impossible(f"masked and random are {self.masked + self.random:g} together, more than all", "random")
        return self


class Tag(Frozen):
    """One tag for each word."""

    kind: Literal["tag"] = "tag"
    spelled: bool = Field(
        default=False,
        description="words are read with their letters, so that unknown ones are known too: for an input of 'spelled'",
    )


class Vary(Frozen):
    """What training does to a series, otherwise in each epoch, so that a few hundred teach more."""

    noise: float = Field(default=0.0, ge=0, description="deviation of what is added to each reading, once it is scaled")
    scale: float = Field(default=0.0, ge=0, description="deviation of what each channel is multiplied by, around 1")
    crop: float = Field(default=1.0, gt=0, le=1, description="the least share of the steps that is read, in one piece")
    warp: float = Field(default=0.0, ge=0, lt=1, description="share by which it may run faster or slower")
    shift: int = Field(default=0, ge=0, description="pixels by which a picture may be moved, each way")

    @model_validator(mode="after")
    def _pictures(self) -> Self:
        if self.shift and (self.crop < 1 or self.warp):
            raise impossible("pictures are moved whole; crop and warp are of series in time", "shift")
        return self


class NoNodePositions(Frozen):
    """A node is known by its features and its neighbours."""

    kind: Literal["none"] = "none"


class Laplacian(Frozen):
    """Where a node stands in the graph, as further features of it (Dwivedi and Bresson 2021, section 3.1).

    Eigenvectors of the normalised Laplacian, which training turns around by chance: their signs mean nothing.
    """

    kind: Literal["laplacian"] = "laplacian"
    vectors: int = Field(default=10, ge=1, description="eigenvectors, of the smallest eigenvalues above 0")


NodePositions = Annotated[NoNodePositions | Laplacian, Field(discriminator="kind")]


class Nodes(Frozen):
    """One label for each node of a graph; some are known, and the others are asked for."""

    kind: Literal["nodes"] = "nodes"
    directed: bool = Field(
        default=False, description="a node reads those that edges come from; otherwise both ends read each other"
    )
    self_loops: bool = Field(default=True, description="each node reads itself too")
    normalise: Literal["rows", "none"] = Field(
        default="rows", description="rows: the features of a node, divided by their sum; none: as they are"
    )
    batches: Literal["whole", "parts"] = Field(
        default="whole",
        description="whole: the graph is one batch; parts: a batch has as many of its unconnected parts as "
        "training.batch nodes allow, for thousands of small graphs in one file",
    )
    positions: NodePositions = NoNodePositions()


class Classify(Frozen):
    """One class for the whole sequence."""

    kind: Literal["classify"] = "classify"
    reads: Literal["text", "series"] = Field(
        default="text", description="what the sequence is: text, or real-valued readings (a motion, a picture)"
    )
    spelled: bool = Field(
        default=False,
        description="words are read with their letters, so that unknown ones are known too: for an input of 'spelled'",
    )
    vary: Vary = Vary()

    @model_validator(mode="after")
    def _of_series(self) -> Self:
        if self.reads == "series" and self.spelled:
            raise impossible("a series of numbers has no words that could be spelled", "spelled")
        if self.reads == "text" and self.vary != Vary():
            raise impossible("only series are varied (reads = 'series'); subwords have text.source.dropout", "vary")
        return self


class Shares(Frozen):
    """So much of the end of each series; what comes before is for training."""

    kind: Literal["shares"] = "shares"
    valid: float = Field(default=0.1, ge=0, lt=1)
    test: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.valid + self.test >= 1:
            raise impossible(f"validation and test take {self.valid + self.test:g} together, and leave nothing", "test")
        return self


class Steps(Frozen):
    """So many steps from the beginning of each series; what is behind them is not used."""

    kind: Literal["steps"] = "steps"
    train: int = Field(ge=1)
    valid: int = Field(ge=0)
    test: int = Field(default=0, ge=0)


def _written(value: Any) -> Any:
    """TOML has dates of its own."""
    return (
        value.isoformat(" ") if isinstance(value, datetime) else value.isoformat() if isinstance(value, date) else value
    )


Moment = Annotated[str, BeforeValidator(_written, json_schema_input_type=str)]


class Dates(Frozen):
    """Validation begins at one time, the test at another."""

    kind: Literal["dates"] = "dates"
    valid: Moment
    test: Moment | None = None
    end: Moment | None = Field(default=None, description="what is from there on is not used")


SplitSettings = Annotated[Shares | Steps | Dates, Field(discriminator="kind")]
"""What each part of a series is for. Horizons lie within their part; their look-backs reach into the one before."""


class Forecast(Frozen):
    """Numbers in time: say what comes after them."""

    kind: Literal["forecast"] = "forecast"
    look_back: int = Field(default=96, ge=1, description="steps that are read")
    horizon: int = Field(default=24, ge=1, description="steps that are forecast")
    time: str | None = Field(default=None, description="the column of the time; unset: found by its name or its cells")
    series: str | None = Field(default=None, description="the column that names the series of a row; unset: found")
    targets: tuple[str, ...] = Field(default=(), strict=False, description="columns to forecast; none: all of numbers")
    known: tuple[str, ...] = Field(default=(), strict=False, description="columns that are known ahead")
    past: tuple[str, ...] = Field(default=(), strict=False, description="columns that are read, but not forecast")
    calendar: tuple[CalendarPart, ...] = Field(default=(), strict=False, description="what the time itself tells ahead")
    time_format: str | None = Field(
        default=None, description="how times are written, as strptime says it: %d.%m.%Y; %q: quarter"
    )
    decimal: Literal[".", ","] = "."
    gaps: Literal["stop", "missing"] = Field(
        default="stop", description="rows that are not there: steps with no values"
    )
    channels: Literal["apart", "together"] = Field(
        default="apart", description="each column is a sequence of its own (Nie et al. 2023), or all are one"
    )
    normalise: Literal["window", "last", "none"] = Field(
        default="window",
        description="what a look-back loses before it is read, and its forecast gets back: its mean and deviation "
        "(Kim et al. 2022), its last value, or nothing beyond the z-scores of the training part",
    )
    loss: Literal["squared", "absolute", "huber"] = Field(default="squared", description="of the mean; in z-scores")
    every: int = Field(default=1, ge=1, description="steps from one window of training to the next")
    season: int | None = Field(
        default=None, ge=1, description="steps, for MASE; unset: a day, week or year by the steps"
    )
    split: SplitSettings = Shares()


TaskSettings = Annotated[
    Translate | Language | Music | Masked | Tag | Nodes | Classify | Forecast, Field(discriminator="kind")
]
