"""What the columns are called that are read as source and target, and whether that says which task they are for."""

from collections.abc import Sequence

from seqloom.data.reading.block import Shape
from seqloom.data.reading.column_names import is_label
from seqloom.data.reading.columns import keys, usual_pair
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.format_choice import format_of
from seqloom.data.reading.json_lines import first_names
from seqloom.data.reading.parquet import parquet_names
from seqloom.data.reading.reader import table
from seqloom.data.settings import Corpus


def named_columns(corpus: Corpus, shape: Shape) -> tuple[str, ...]:
    """The names of the fields' columns; none, where nothing names them."""
    name, form = corpus.files[0], format_of(corpus, shape)
    if form in ("tsv", "csv"):
        found = table(corpus, shape)
        return tuple(found.first[at] for at in found.places) if found is not None and found.header else ()
    if form not in ("jsonl", "parquet"):
        return ()
    names = first_names(name) if form == "jsonl" else parquet_names(name)
    try:
        return keys(corpus, shape, names, name)
    except DataError:  # which is told where it is read
        return ()


def label_column(names: Sequence[str]) -> str:
    """The target's name, where it says that it holds labels; else nothing."""
    return names[1] if len(names) == 2 and is_label(names[1]) else ""


def is_pair(names: Sequence[str]) -> bool:
    """Whether the names say source and target."""
    return len(names) == 2 and usual_pair(names)
