"""Whether a file is a series of numbers in time, and what suits it, for who names no recipe."""

from itertools import islice

from seqloom.data.file_format import ending
from seqloom.data.reading.comma_separated import rows_of
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.series.columns import MOSTLY, SAMPLE, is_number_column, named_times, time_column
from seqloom.data.series.frequency import frequency_of
from seqloom.data.series.table import SEPARATORS
from seqloom.data.series.timestamps import looks_like_a_count, looks_like_time, parse_times
from seqloom.data.settings import Corpus

FEW = 5  # rows that are enough to tell
LONGEST = 336  # steps of a look-back that nobody asked for
SEASONS = 14  # of it
LABELS = ("label", "class", "category", "activity", "target")
"""Columns that say what whole series are, not how they go on."""


def looks_like_series(corpus: Corpus) -> bool:
    """A column of times, and beside it numbers; perhaps one of names. Who names source and target means pairs."""
    if len(corpus.files) != 1 or corpus.source or corpus.target or corpus.format not in ("auto", "csv", "tsv"):
        return False
    if ending(corpus.files[0]) not in (".csv", ".tsv", ".tab"):
        return False
    header, rows = _head(corpus.files[0])
    named = named_times(header)
    if len(header) < 2 or looks_like_time(header[:1]) or len(rows) < (0 if named else FEW):
        return False
    if not rows:  # what is missing is told by who reads it
        return not any(map(is_number_column, ([name] for name in header)))
    cells = {name: [row[at].strip() for row in rows] for at, name in enumerate(header)}
    time = time_column(header, cells)
    if time is None or any(name.lower() in LABELS for name in header):
        return False
    others = [is_number_column(cells[name]) for name in header if name != time]
    if _are_times(cells[time], time in named):
        return any(others) and others.count(False) <= 1
    # so that times which cannot be read are told as such, and not learnt as text
    return time in named and not is_number_column(cells[time]) and all(others) and _are_broken_times(cells[time])


def _are_times(cells: list[str], named: bool) -> bool:
    """Nearly all of them; numbers, where the column is named so."""
    return looks_like_time(cells, MOSTLY) or (named and looks_like_a_count(cells))


def _are_broken_times(cells: list[str]) -> bool:
    """Mostly different, most with a digit, and none of them prose: with several words of letters alone."""
    some = [cell for cell in cells if cell]
    digits = sum(any(map(str.isdecimal, cell)) for cell in some)
    prose = any(sum(map(str.isalpha, cell.split())) > 1 for cell in some)
    return 2 * min(digits, len(set(some))) > len(some) and not prose


def suited(corpus: Corpus) -> tuple[tuple[str, int], ...]:
    """A horizon of a season, and some of them to look back; fewer of short series."""
    header, rows = _head(corpus.files[0], None)
    if not rows:
        return ()
    cells = {name: [row[at].strip() for row in rows] for at, name in enumerate(header)}
    time = time_column(header, cells)
    assert time is not None
    names = [name for name in header if name != time and not is_number_column(cells[name][:SAMPLE])]
    first = [row for row in rows if not names or row[header.index(names[0])] == rows[0][header.index(names[0])]]
    at = header.index(time)
    try:
        times, _ = parse_times([row[at] for row in first], range(len(first)), corpus.files[0], time)
    except DataError:
        return ()
    frequency = frequency_of(times)
    if frequency is None:
        return ()
    season, steps = frequency.season, len(first)
    horizon = max(1, min(season if season > 1 else 12, steps // 20))
    look_back = max(2 * horizon, min(SEASONS * season, max(LONGEST, 2 * season)))
    return ("look_back", max(1, min(look_back, steps // 4))), ("horizon", horizon)


def _head(file: str, count: int | None = SAMPLE) -> tuple[list[str], list[list[str]]]:
    """The header, and the rows that are whole."""
    with Lines(file, keep_returns=True) as stream:
        rows = [row for _, row in islice(rows_of(stream, 2, SEPARATORS), None if count is None else count + 1)]
    full = [row for row in rows if not isinstance(row, Broken) and any(row)]
    header = [cell.strip() for cell in full[0]] if full else []
    return header, [row for row in full[1:] if len(row) == len(header)]
