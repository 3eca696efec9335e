"""Which key of JSON, or column of Parquet, is answered: these have names, and no row of them to be doubted."""

from collections.abc import Sequence

from seqloom.data.reading.block import FIELDS
from seqloom.data.reading.columns import absent, found_key, telling_keys, usual_sources
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.learnt_table import format_said
from seqloom.data.reading.source_column import UNCLEAR, Wanted
from seqloom.data.reading.table import listed


def source_key(wanted: Wanted, names: Sequence[str]) -> str | None:
    """As somebody said, as it was learnt, or by a usual name; a.b is b inside a. None: nothing tells."""
    if wanted.column is not None:
        return found_key(wanted.column, names)
    if wanted.names:
        own = {key for name in wanted.names if (key := found_key(name, names)) is not None}
        return own.pop() if len(own) == 1 else None
    if both := telling_keys(wanted.shape, names):
        return both[0]
    usual = usual_sources(names, wanted.shape)
    if len(usual) == 1:
        return names[usual[0]]
    # training takes keys that say nothing by their order, where there are as many as it needs
    by_order = not usual and len(names) == len(FIELDS[wanted.shape]) and _learnt_by_order(wanted)
    return names[0] if by_order else None


def needed_key(wanted: Wanted, names: Sequence[str], place: str) -> str:
    key = source_key(wanted, names)
    if key is None and wanted.column is not None:
        raise absent(wanted.column, names, place)
    if key is None:
        raise DataError(f"{place}: {listed(names)}; {UNCLEAR}")
    return key


def _learnt_by_order(wanted: Wanted) -> bool:
    named = [corpus for corpus in wanted.learnt if format_said(corpus) in ("jsonl", "parquet", "hub")]
    return bool(named) and len(named) == len(wanted.learnt) and all(corpus.source is None for corpus in named)
