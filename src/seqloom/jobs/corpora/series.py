"""A forecaster's files → scales of their training part, and windows for each part."""
# T steps  C targets

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seqloom.data.order import Weighted
from seqloom.data.series.columns import Columns, Wanted
from seqloom.data.series.table import Series, SeriesTable, read_table
from seqloom.data.series.windows import Frame, Scaled, Windows
from seqloom.data.settings import Corpus
from seqloom.jobs.corpora.series_split import Borders, borders
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.tasks import Codecs, Forecast
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.scales import Scales, constant, measured, measured_beside

SEED = 0  # of the order in which windows are kept; epochs have orders of their own
FEWEST = 20  # steps of a series of which some can be kept back
NAMED = 5  # series that a note names


@dataclass(frozen=True)
class Part:
    """A series, and which steps of it the horizons may cover."""

    series: Series
    begin: int
    end: int


@dataclass(frozen=True)
class Parts:
    """What each file's series are for. files: of the training, one for each of `train`'s series."""

    train: list[Part]
    valid: list[Part]
    test: list[Part]
    table: SeriesTable
    notes: list[str]


@dataclass(frozen=True)
class SeriesCorpora:
    task: ForecastTask
    train: tuple[Weighted, ...]
    valid: tuple[Windows, ...]
    test: tuple[Windows, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]


def wanted_of(task: Forecast, columns: Columns | None = None) -> Wanted:
    """columns: of a run, so that another file is read in the same way."""
    named = task if columns is None else columns
    return Wanted(
        named.time, named.series, named.targets, named.past, named.known, task.time_format, task.decimal, task.gaps
    )


def frame_words(task: ForecastTask) -> str:
    """What is read and what is said, for people."""
    scales, settings = task.scales, task.settings
    return (
        f"{settings.look_back} → {settings.horizon} steps of {scales.frequency.name}, "
        f"{counted(scales.targets, 'column')}, {counted(len(scales.of), 'series', 'series')}"
    )


def file_of(corpus: Corpus) -> str:
    if len(corpus.files) > 1:
        raise UserError(
            f"{' and '.join(corpus.files)}: a series is one file; its columns belong together by their rows"
        )
    if corpus.source or corpus.target:
        raise UserError(
            f"{corpus.files[0]}: --source and --target are of pairs; say which columns are forecast: "
            "--set 'task.targets=[\"…\"]', and which are known ahead: task.known"
        )
    if corpus.weight != 1:
        raise UserError(f"{corpus.files[0]}: weight = {corpus.weight:g}: series have no weights; leave it out")
    return corpus.files[0]


def series_corpora(
    task: Forecast,
    corpora: Sequence[Corpus],
    valid: Sequence[Corpus],
    test: Sequence[Corpus],
    given: Scales | None = None,
) -> SeriesCorpora:
    """given: of a run to begin from; None: scales are measured in the training part."""
    found = parts_of(task, corpora, valid, test, None if given is None else given.columns)
    _refuse_short(found)
    scales = _scales(task, found) if given is None else _with_others(given, found)
    made = ForecastTask(task, Codecs.of_series(scales))
    notes = [*found.notes, *_flat(found.train, scales)]
    windows = {}
    for name, parts in ("train", found.train), ("valid", found.valid), ("test", found.test):
        windows[name] = windows_of(made, parts, task.every if name == "train" else 1)
        notes += _left_out(parts, made.frame, name)
    _refuse_empty(task, found, windows)
    train = windows["train"]
    assert train is not None
    files = dict.fromkeys(part.series.file for part in found.train)
    return SeriesCorpora(
        made,
        (Weighted(train.shuffled(SEED)),),
        tuple(filter(None, (windows["valid"],))),
        tuple(filter(None, (windows["test"],))) if found.test else (),
        (", ".join(files),),
        tuple(notes),
    )


def parts_of(
    task: Forecast,
    corpora: Sequence[Corpus],
    valid: Sequence[Corpus],
    test: Sequence[Corpus],
    columns: Columns | None = None,
) -> Parts:
    """Files of their own for validation or test take the place of what would be kept back for it."""
    wanted = wanted_of(task, columns)
    tables = [read_table(file_of(corpus), wanted) for corpus in corpora]
    first = tables[0]
    wanted = wanted_of(task, first.columns)
    behind = [read_table(file_of(one), wanted) for one in (*valid, *test)]
    for table in (*tables, *behind):
        refuse_other(table, first.columns, first)
    went_on = _went_on(tables, behind)
    tables, behind = ([_past(table, went_on) for table in some] for some in (tables, behind))
    others = {"valid": behind[: len(valid)], "test": behind[len(valid) :]}
    train, found = list[Part](), {"valid": list[Part](), "test": list[Part]()}
    whole: dict[str, Series] = {}
    for table in tables:
        for series in table.series:
            _refuse_twice(series, whole)
            whole[series.name] = series
            cut = _cut(series, task, table, bool(valid), bool(test))
            train.append(Part(series, 0, cut.valid))
            if not valid:
                found["valid"].append(Part(series, cut.valid, cut.test))
            if not test and cut.end > cut.test:
                found["test"].append(Part(series, cut.test, cut.end))
    for name in ("valid", "test"):
        for table in others[name]:
            for series in table.series:
                joined = _behind(whole.get(series.name), series, first)
                found[name].append(joined)
                whole[series.name] = joined.series
    notes = [note for table in (*tables, *behind) for note in table.notes]
    if first.frequency is not None:
        notes.append(f"{first.file}: steps are {first.frequency.name} apart")
    return Parts(train, found["valid"], found["test"], first, notes)


def _went_on(tables: Sequence[SeriesTable], behind: Sequence[SeriesTable]) -> dict[int, str]:
    """Series, each by its id, that go on in a file of `behind`; and that file."""
    last = {series.name: series for table in tables for series in table.series}
    found = dict[int, str]()
    for table in behind:
        for series in table.series:
            before = last.get(series.name)
            if before is not None and _follows(before, series, tables[0]):
                found[id(before)] = table.file
            last[series.name] = series
    return found


def _past(table: SeriesTable, went_on: dict[int, str]) -> SeriesTable:
    """Without the rows at the end of series that have no target: they are there to be forecast.

    Where a series goes on in another file, its own are missing values as any others.
    """
    targets = ", ".join(table.columns.targets[:NAMED])
    series, notes = list[Series](), list(_known_ahead(table))
    left: dict[str | None, int] = {}
    for one in table.series:
        past, file = one.past(len(table.columns.targets)), went_on.get(id(one))
        if len(past):
            left[file] = left.get(file, 0) + len(one) - len(past)
        series.append(past if len(past) and file is None else one)
    for file, count in left.items():
        if count:
            why = "to come" if file is None else f"missing, as {file} goes on behind them"
            notes.append(f"{table.file}: {counted(count, 'row')} at the end without {targets}: {why}")
    return replace(table, series=tuple(series), notes=(*table.notes, *notes))


def _known_ahead(table: SeriesTable) -> Iterator[str]:
    """Columns to forecast that go on where others have ended, in each series."""
    columns, C = table.columns, len(table.columns.targets)
    ends_RC = np.array([_ends(series.values_TC[:, :C]) for series in table.series])
    ahead_C = (ends_RC == ends_RC.max(1, keepdims=True)).all(0)
    shorter_C = (ends_RC < ends_RC.max(1, keepdims=True)).all(0)
    if shorter_C.any() and (ahead_C | shorter_C).all() and not columns.known:
        ahead, ended = ([columns.targets[at] for at in np.flatnonzero(which_C)] for which_C in (ahead_C, shorter_C))
        yield (
            f"{table.file}: {', '.join(ended[:NAMED])} ends before {', '.join(ahead[:NAMED])}; "
            f"if what goes on is known ahead: --set 'task.known={_listed(ahead)}'"
        )


def _ends(values_TC: np.ndarray) -> list[int]:
    """The steps up to the last value of each column."""
    return [int(seen[-1]) + 1 if len(seen := np.flatnonzero(~np.isnan(own))) else 0 for own in values_TC.T]


def _cut(series: Series, task: Forecast, table: SeriesTable, valid: bool, test: bool) -> Borders:
    """valid, test: there are files for them."""
    if valid:
        return Borders(len(series), len(series), len(series))
    cut = borders(series, task.split, table.style)
    if not test:
        return cut
    # what would have been for the test is for validation, and that for training
    return Borders(len(series) - (cut.test - cut.valid), len(series), len(series))


def refuse_other(table: SeriesTable, columns: Columns, first: SeriesTable | None, name: str = "") -> None:
    """A file whose columns or steps are not those of training. name: of the run, where there is no first file."""
    of = name if first is None else first.file
    if table.columns.values != columns.values:
        raise UserError(
            f"{table.file}: its columns of numbers are {', '.join(table.columns.values)}, those of {of} "
            f"{', '.join(columns.values)}; they must be the same, in the same order"
        )
    if first is not None and table.frequency != first.frequency and None not in (table.frequency, first.frequency):
        assert table.frequency is not None
        assert first.frequency is not None
        raise UserError(
            f"{table.file}: its steps are {table.frequency.name} apart, those of {of} {first.frequency.name}; "
            "resample one of them"
        )


def _refuse_twice(series: Series, whole: dict[str, Series]) -> None:
    if series.name and series.name in whole:
        raise UserError(
            f"{series.place(0)}: the series {series.name!r} is in {whole[series.name].file} too; put it into one file"
        )


def _follows(before: Series, series: Series, first: SeriesTable) -> bool:
    """Whether its first step is the one behind the other's last."""
    if first.frequency is None:
        return False
    return bool(first.frequency.after(before.times_T[-1], np.array([1]))[0] == series.times_T[0])


def _behind(before: Series | None, series: Series, first: SeriesTable) -> Part:
    """A series that goes on where training's ended may look back into it."""
    if before is None or not _follows(before, series, first):
        return Part(series, 0, len(series))
    joined = replace(
        series,
        times_T=np.concatenate((before.times_T, series.times_T)),
        values_TC=np.concatenate((before.values_TC, series.values_TC)),
        lines_T=np.concatenate((before.lines_T, series.lines_T)),
    )
    return Part(joined, len(before), len(joined))


def _scales(task: Forecast, found: Parts) -> Scales:
    table, columns = found.table, found.table.columns
    if table.frequency is None:
        raise UserError(f"{table.file}: one step only; a series needs more than task.look_back + task.horizon")
    season = task.season or table.frequency.season
    C = len(columns.targets)
    trained = [part.series.values_TC[: part.end] for part in found.train]
    _refuse_constant(found, [values_TC[:, :C] for values_TC in trained])
    # several files without a column of names are several series without one: they share a scale
    names = {part.series.name for part in found.train}
    of = {}
    for name in names:
        own = [v_TC for part, v_TC in zip(found.train, trained, strict=True) if part.series.name == name]
        of[name] = measured(np.concatenate(own)[:, :C], season)
    beside = measured_beside([values_TC[:, C:] for values_TC in trained]) if len(columns.values) > C else ()
    gaps = any(bool(np.isnan(values_TC[:, :C]).any()) for values_TC in trained)
    return Scales(columns, table.frequency, table.style, season, of, beside, gaps, task.calendar)


def _with_others(given: Scales, found: Parts) -> Scales:
    """The scales of a run that is begun from, and of the series that it did not know."""
    of = dict(given.of)
    for part in found.train:
        if not given.scale_of(part.series)[1]:
            of[part.series.name] = measured(part.series.values_TC[: part.end, : given.targets], given.season)
    return replace(given, of=of)


def _refuse_constant(found: Parts, trained: Sequence[np.ndarray]) -> None:
    columns, first = found.table.columns, found.train[0].series
    flat = [columns.targets[at] for at in constant(trained)]
    if flat:
        others = [name for name in columns.targets if name not in flat]
        fix = f"leave it out: --set 'task.targets={_listed(others)}'" if others else "is it the right file?"
        last = first.place(max(found.train[0].end - 1, 0))
        raise UserError(
            f"{first.place(0)}: {', '.join(flat)} never changes in the training part (to {last}): nothing can be "
            f"learnt of it; {fix}"
        )


def _listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _flat(parts: Sequence[Part], scales: Scales) -> Iterator[str]:
    """Series that are constant in a column in which others are not."""
    names = list[str]()
    for part in parts:
        values_TC = part.series.values_TC[: part.end, : scales.targets]
        if part.series.name and any(True for _ in constant([values_TC])):
            names.append(part.series.name)
    if names:
        shown = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
        yield f"{counted(len(names), 'series', 'series')} never change in a column in training ({shown}): scaled by 1"


def seen_of(part: Part, frame: Frame) -> int:
    """The steps that lie before all horizons."""
    return max(part.begin, frame.look_back)


def windows_of(task: ForecastTask, parts: Sequence[Part], every: int = 1) -> Windows | None:
    """None: there is none."""
    scaled, of, starts = list[Scaled](), list[np.ndarray](), list[np.ndarray]()
    for part in parts:
        scale, _ = task.scales.scale_of(part.series, seen_of(part, task.frame))
        one = task.scales.scaled(part.series, scale)
        begins = task.frame.starts(one, part.begin, part.end, every)
        of.append(np.full(len(begins), len(scaled)))
        starts.append(begins)
        scaled.append(one)
    if not sum(map(len, starts)):
        return None
    return Windows(scaled, np.concatenate(of), np.concatenate(starts), task.frame, [part.series for part in parts])


def _left_out(parts: Sequence[Part], frame: Frame, name: str) -> Iterator[str]:
    """Series of which no window, or not every one, can be had."""
    short = [part.series.name for part in parts if part.end - frame.horizon < max(part.begin, frame.look_back)]
    if short and len(parts) > 1:
        shown = ", ".join(short[:NAMED]) + (", …" if len(short) > NAMED else "")
        what = {"train": "training", "valid": "validation", "test": "the test"}[name]
        yield f"{counted(len(short), 'series', 'series')} too short for {what} ({shown}): left out there"


def _refuse_short(found: Parts) -> None:
    """Series of which no setting could make windows: said before anything else that is wrong with them."""
    longest = max(len(part.series) for part in found.train)
    lengths = [max((part.end - part.begin for part in parts), default=0) for parts in (found.train, found.valid)]
    if longest < FEWEST and min(lengths) < 2:
        raise UserError(
            f"{found.table.file}: the longest series has {counted(longest, 'step')}, too few to learn from some and "
            "to validate on others; give more rows"
        )


def _refuse_empty(task: Forecast, found: Parts, windows: dict[str, Windows | None]) -> None:
    need = task.look_back + task.horizon
    told = f"task.look_back + task.horizon = {task.look_back} + {task.horizon} = {need}"
    if windows["train"] is None:
        have = max(part.end for part in found.train)
        raise UserError(
            f"{found.table.file}: the longest series has {counted(have, 'step')} for training, but a window needs "
            f"{told}; set them lower, or keep less back (task.split)"
        )
    for name, option in ("valid", "--valid"), ("test", "--test"):
        parts = getattr(found, name)
        if windows[name] is None and (parts or name == "valid"):
            have = max((part.end - part.begin for part in parts), default=0)
            raise UserError(
                f"{parts[0].series.file if parts else found.table.file}: {counted(have, 'step')} for {name}, "
                f"fewer than task.horizon = {task.horizon}, or without {task.look_back} before them; set "
                f"task.horizon lower, change task.split, or give a file: {option} FILE"
            )
