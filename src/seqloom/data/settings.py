"""Which files a model learns from, and what happens to examples that do not fit."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from seqloom.data.file_format import HUB, STDIN, Format, ending, format_by_name
from seqloom.data.folder import holds_midi
from seqloom.music.settings import EventSettings
from seqloom.settings import Frozen, UserError, impossible

Bad = Literal["stop", "skip"]


def _column(value: Any) -> Any:
    return str(value) if type(value) is int else value


Column = Annotated[str, Field(min_length=1), BeforeValidator(_column, json_schema_input_type=str | int)]
"""The name of a column, or its number."""


class Corpus(Frozen):
    """One file of examples, two whose lines belong together, or any number of MIDI files.

    A file may be compressed (.gz, .zst, .xz, .bz2), be `-` for standard input, or be a Hugging Face dataset
    `hub:owner/name[/config][:split]`.
    """

    files: Annotated[tuple[str, ...], Field(min_length=1)]
    """one file, or two aligned ones: ["train.en", "train.de"]; of MIDI, any number, and folders of them"""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """how often each example is seen in an epoch"""
    format: Literal["auto"] | Format = "auto"
    """auto goes by the file's name; two files are aligned plain text"""
    source: Column | None = None
    """the column of the source, text or words: its name, or its number, counted from 1; a.b is b inside a"""
    target: Column | None = None
    """the column of the target, label or tags, in the same way; for CoNLL-U for example xpos"""
    header: bool | None = None
    """whether the first row of TSV or CSV names the columns; if not set, usual names such as source are recognised,
    and words above columns of numbers or sentences"""
    events: EventSettings | None = None
    """how MIDI files are read; if not set, as the task music says"""

    series: Column | None = None
    """of a table of readings with a row for each step: the column that tells the series apart; if not set, usual names
    such as series are recognised beside one for the time. Without it a row is a whole series"""
    time: Column | None = None
    """and the column of the time, by which the steps of each series must rise"""
    features: Annotated[tuple[Column, ...], Field(strict=False)] = ()
    """the columns that are read; if not set, all others"""
    step: Annotated[int, Field(ge=1)] = 1
    """where a row is a whole series: how many readings side by side are one step"""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.midi:
            return self._check_midi()
        if self.format == "graph":
            return self._check_graph()
        if self.events is not None:
            raise impossible("only MIDI files are read as events", "events")
        aligned = self.format == "aligned" or (self.format == "auto" and len(self.files) == 2)
        if self.format == "aligned" and len(self.files) != 2:
            raise impossible("aligned text needs two files", "files")
        if not aligned and len(self.files) != 1:
            raise impossible(f"{self.format} is one file; give each file a corpus of its own", "files")
        if len(set(self.files)) == 1 and aligned:
            raise impossible("the two files are the same one", "files")
        if aligned and (self.source or self.target):
            raise impossible("aligned files have no columns", "source" if self.source else "target")
        if self.header is not None and (aligned or self.format not in ("auto", "tsv", "csv")):
            raise impossible("only TSV and CSV may have a header", "header")
        if (self.format == "hub") > self.files[0].startswith(HUB):
            raise impossible(f"a Hugging Face dataset is written {HUB}owner/name", "files")
        return self

    @property
    def midi(self) -> bool:
        """Whether its files are music."""
        by_name = self.format == "auto" and all(format_by_name(name) == "midi" for name in self.files)
        return self.format == "midi" or by_name

    def _check_graph(self) -> Self:
        if len(set(self.files)) != 2:
            raise impossible("a graph is two files: its nodes and its edges", "files")
        for name, value in (("source", self.source), ("target", self.target), ("header", self.header)):
            if value is not None:
                raise impossible("the columns of a graph have fixed names: id, label, features, split", name)
        return self

    def _check_midi(self) -> Self:
        for name, value in (("source", self.source), ("target", self.target), ("header", self.header)):
            if value is not None:
                raise impossible("MIDI files have no columns", name)
        return self


class DataSettings(Frozen):
    """What a model is trained, validated and tested on."""

    corpora: tuple[Corpus, ...] = ()
    """what is learnt from"""
    valid: tuple[Corpus, ...] = ()
    """what training is watched with"""
    test: tuple[Corpus, ...] = ()
    """what the finished model is scored on"""
    longest: Annotated[int, Field(ge=1)] = 512
    """how many tokens a side of an example may have"""
    longest_source: Annotated[int, Field(ge=1)] | None = None
    """how many a source may have, where it is not as many; where longer ones are cut, what is asked later is cut too"""
    too_long: Literal["skip", "truncate"] = "skip"
    """longer examples are left out and counted, or cut and counted"""
    bad: Bad = "stop"
    """at an example that cannot be used: stop and say where, or leave it out and count it"""
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """the share of the training examples that is kept for validation where no valid file is given"""
    held_out_most: Annotated[int, Field(ge=1)] = 2000
    """as many examples at most are kept for validation"""
    workers: Annotated[int, Field(ge=0)] = 1
    """threads that prepare batches beside the training; 0: none"""


def refuse_other_than_utf_8(name: str, fix: str) -> None:
    """A name is written into files of settings and results, which are UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        seen = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise UserError(f"{seen}: the name is not UTF-8; {fix}") from None


def corpora_of(files: Sequence[str]) -> tuple[Corpus, ...]:
    """The files of a command line: two of plain text are one aligned corpus, all of MIDI are one; otherwise each is a
    corpus of its own."""
    for name in files:
        refuse_other_than_utf_8(name, "rename the file")
    music = tuple(name for name in files if format_by_name(name) == "midi" or holds_midi(name))
    if music:
        others = corpora_of([name for name in files if name not in music])
        return (Corpus(files=music, format="midi"), *others)
    plain = all(name != STDIN and format_by_name(name) in ("text", None) for name in files)
    series = all(ending(name) == ".ts" for name in files)  # of one language alone there are no pairs
    if len(files) == 2 and plain and not series and files[0] != files[1]:
        return (Corpus(files=tuple(files)),)
    return tuple(Corpus(files=(name,)) for name in files)
