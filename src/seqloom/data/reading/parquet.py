"""Parquet files: columns in row groups."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seqloom.data.reading.block import FIELDS, ROWS, Rows, Shape
from seqloom.data.reading.columns import keys
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.stored_file import shown, stored
from seqloom.data.settings import Corpus

_BUFFER = 1 << 20


def read_parquet(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    """Rows are numbered from 1. Bytes are the file's, spread evenly over its rows."""
    name, path = shown(corpus.files[0]), stored(corpus.files[0])
    files = (name,) * len(FIELDS[shape])
    with _opened(name, path) as file:
        fields = keys(corpus, shape, _names(file.schema_arrow), name)
        size, rows, done = path.stat().st_size, file.metadata.num_rows, 0
        tops = list(dict.fromkeys(_top(field, file.schema_arrow.names) for field in fields))
        for batch in file.iter_batches(batch_size=ROWS, columns=tops):
            columns = tuple(_column(batch, field) for field in fields)
            before, done = done, done + batch.num_rows
            yield Rows(files, range(before + 1, done + 1), columns, size * done // rows - size * before // rows)


def parquet_names(name: str) -> list[str]:
    """Of its columns; a.b is b inside a."""
    with _opened(shown(name), stored(name)) as file:
        return _names(file.schema_arrow)


def holds_classes(corpus: Corpus) -> bool:
    """Whether its targets are whole numbers or true and false, and so no translations."""
    name = shown(corpus.files[0])
    with _opened(name, stored(corpus.files[0])) as file:
        schema = file.schema_arrow
        try:
            _, target = keys(corpus, "pairs", _names(schema), name)
        except DataError:
            return False  # told by who reads it
    outer, _, inner = target.partition(".")
    kind = schema.field(target).type if target in schema.names else schema.field(outer).type.field(inner).type
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


@contextmanager
def _opened(name: str, path: Path) -> Iterator[Any]:
    """Also what goes wrong while it is read is told of the file."""
    try:
        # without these a whole row group would be in memory, and some files have but one
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
            yield file
    except PermissionError:
        raise DataError(f"{name}: no permission to read it; mend it with chmod or ask the owner") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{name}: not a whole Parquet file ({reason}); copy or write it again") from None


def _names(schema: Any) -> list[str]:
    return [
        name
        for column in schema
        for name in (
            [f"{column.name}.{inner.name}" for inner in column.type]
            if pa.types.is_struct(column.type)
            else [column.name]
        )
    ]


def _top(field: str, names: list[str]) -> str:
    return field if field in names else field.partition(".")[0]


def _column(batch: Any, field: str) -> list[Any]:
    if field in batch.schema.names:
        return batch.column(field).to_pylist()
    outer, _, inner = field.partition(".")
    return [row and row[inner] for row in batch.column(outer).to_pylist()]
