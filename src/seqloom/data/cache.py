"""Encoded examples in a memory-mapped Arrow file: written once, read without being loaded.

A file is a row of chunks (Arrow record batches) of about CHUNK tokens. A chunk is what is read at once: examples that
stood together in the source stay together, so that reading in any order of chunks is reading in long pieces.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from seqloom.data.ragged import ColumnType, Longs, Ragged, Steps, Values

CHUNK = 1 << 16


@dataclass(frozen=True)
class Examples:
    """Some examples: a column a side, and where each stood: in which corpus, at which line."""

    columns: Mapping[str, Ragged]
    corpus_B: Longs
    line_B: Longs
    goes_on: bool = False
    """Each begins where the same one of the batch before ended."""

    def __len__(self) -> int:
        return len(self.line_B)

    def take(self, rows: Longs) -> "Examples":
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Examples(columns, self.corpus_B[rows], self.line_B[rows])

    @classmethod
    def join(cls, parts: Sequence["Examples"]) -> "Examples":
        columns = {name: Ragged.join([part.columns[name] for part in parts]) for name in parts[0].columns}
        return cls(columns, np.concatenate([p.corpus_B for p in parts]), np.concatenate([p.line_B for p in parts]))

    @property
    def tokens(self) -> int:
        return sum(len(column.values_N) for column in self.columns.values())


@dataclass
class Totals:
    """What a cache file holds in all."""

    examples: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)

    def add(self, examples: Examples) -> None:
        self.examples += len(examples)
        self.rows.append(len(examples))
        for name, column in examples.columns.items():
            self.tokens[name] = self.tokens.get(name, 0) + len(column.values_N)
            self.longest[name] = max(self.longest.get(name, 0), int(column.lengths_B.max(initial=0)))


class CacheWriter:
    """Examples go in as they come; chunks of about equal size go out."""

    def __init__(self, path: Path, columns: Mapping[str, ColumnType], facts: Mapping[str, Any]) -> None:
        """columns: how the numbers of each are kept. facts: what else is to be kept with the examples."""
        fields = [(name, pa.list_(_arrow_type(kind))) for name, kind in columns.items()]
        self.schema = pa.schema([*fields, ("line", pa.int64())])
        self.path, self.facts = path, facts
        self.totals, self.waiting, self.tokens = Totals(), list[Examples](), 0
        self.writer = pa.ipc.new_file(str(path), self.schema)

    def add(self, examples: Examples) -> None:
        if not len(examples):
            return  # a writer of a small share of all examples would keep thousands of these
        self.waiting.append(examples)
        self.tokens += examples.tokens
        if self.tokens >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        if not self.waiting:
            return
        all_rows, self.waiting, self.tokens = Examples.join(self.waiting), [], 0
        sizes = sum(column.lengths_B for column in all_rows.columns.values())
        # an example goes whole into the chunk in which it begins
        number_B = (np.cumsum(sizes) - sizes) // CHUNK
        edges = [0, *(np.flatnonzero(np.diff(number_B)) + 1).tolist(), len(all_rows)]
        for begin, end in itertools.pairwise(edges):
            if end > begin:
                self._write(all_rows.take(np.arange(begin, end)))

    def _write(self, examples: Examples) -> None:
        lists = [
            pa.ListArray.from_arrays(
                _flat(column.starts.astype(np.int32), pa.int32()),
                _arrow(column.values_N, self.schema.field(name).type.value_type),
            )
            for name, column in examples.columns.items()
        ]
        lines = _flat(examples.line_B, pa.int64())
        self.writer.write_batch(pa.record_batch([*lists, lines], schema=self.schema))
        self.totals.add(examples)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._flush()
        self.writer.close()
        if kind is None:
            facts = {"facts": self.facts, "totals": vars(self.totals)}
            _facts_of(self.path).write_text(json.dumps(facts), encoding="utf-8")


class Cache:
    """An Arrow file of examples. Its pages are mapped while a chunk is read, and let go behind it."""

    def __init__(self, path: Path) -> None:
        kept = json.loads(_facts_of(path).read_text(encoding="utf-8"))
        self.path, self.facts, self.totals = path, kept["facts"], Totals(**kept["totals"])
        self.columns = list(self.totals.tokens)
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            if reader.num_record_batches != len(self.totals.rows):
                raise ValueError(f"{path.name} has {reader.num_record_batches} chunks, not {len(self.totals.rows)}")

    def __len__(self) -> int:
        return self.totals.examples

    @property
    def unseen(self) -> tuple[str, ...]:
        """Tags that are not in the list of labels: the names of the numbers from UNSEEN downwards."""
        return tuple(self.facts.get("unseen", ()))

    @cached_property
    def rows(self) -> Longs:
        """How many examples each chunk holds."""
        return np.asarray(self.totals.rows, np.int64)

    def read(self, chunks: Sequence[int], corpus: int = 0) -> list[Examples]:
        """Some chunks, copied out of the map: memory that is mapped would count as used as long as it is.

        corpus: the number that the examples are to have.
        """
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            return [self._copied(reader.get_batch(chunk), corpus) for chunk in chunks]

    def _copied(self, batch: pa.RecordBatch, corpus: int) -> Examples:
        columns = {}
        for name in self.columns:
            lists = batch.column(name)
            columns[name] = Ragged(_numpy(lists.values), _numpy(lists.offsets).astype(np.int64))
        line_B = _numpy(batch.column("line"))
        return Examples(columns, np.full(len(line_B), corpus), line_B)


def _arrow_type(kind: ColumnType) -> pa.DataType:
    return pa.list_(pa.float32(), kind.channels) if isinstance(kind, Steps) else pa.from_numpy_dtype(kind)


# Numbers cross by way of buffers: pyarrow's own conversions import pandas, wherever it is installed, which takes half a
# second.


def _arrow(values: Values, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_fixed_size_list(kind):
        return _flat(values, kind)
    return pa.FixedSizeListArray.from_arrays(_flat(values.reshape(-1), pa.float32()), kind.list_size)


def _flat(values: Values, kind: pa.DataType) -> pa.Array:
    if values.dtype != kind.to_pandas_dtype():
        return pa.array(values, kind)  # which refuses numbers that do not fit
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _numpy(values: pa.Array) -> Values:
    """A copy."""
    if pa.types.is_fixed_size_list(values.type):
        return _numpy(values.flatten()).reshape(-1, values.type.list_size)
    kind, (_, numbers) = np.dtype(values.type.to_pandas_dtype()), values.buffers()
    if numbers is None or not len(values):
        return np.empty(0, kind)
    return np.frombuffer(numbers, kind, len(values), values.offset * kind.itemsize).copy()


def _facts_of(path: Path) -> Path:
    return path.with_suffix(".json")
