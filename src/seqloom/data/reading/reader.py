"""A corpus → blocks of examples."""

from collections.abc import Iterator
from typing import assert_never

from seqloom.data.file_format import HUB
from seqloom.data.reading.aligned import read_aligned
from seqloom.data.reading.block import Block, Rows, Shape
from seqloom.data.reading.comma_separated import csv_table, read_csv
from seqloom.data.reading.conllu import read_conllu
from seqloom.data.reading.faults import DataError, Faults, Skipped
from seqloom.data.reading.format_choice import format_of
from seqloom.data.reading.hub import read_hub
from seqloom.data.reading.json_lines import read_jsonl
from seqloom.data.reading.midi import files_of, read_midi_files
from seqloom.data.reading.number_files import PICTURES, SERIES, numbers_in, refuse_numbers
from seqloom.data.reading.parquet import read_parquet
from seqloom.data.reading.series_reader import series_rows
from seqloom.data.reading.shaping import block_of
from seqloom.data.reading.stored_file import shown, shown_all, size_of
from seqloom.data.reading.table import Table
from seqloom.data.reading.text import read_text
from seqloom.data.reading.tsv import read_tsv, tsv_table
from seqloom.data.settings import Bad, Corpus


def read(corpus: Corpus, shape: Shape, bad: Bad = "stop") -> Iterator[Block]:
    """The examples of a corpus, some thousand at a time, in the order of the file.

    An example that cannot be used raises DataError, or is left out and counted in its block. A file that cannot be
    read, or that holds no example, raises in any case.
    """
    faults, skipped, found = Faults(bad), Skipped(), False
    for rows in _rows(corpus, shape):
        block = block_of(rows, shape, faults)
        skipped.add(block.report)
        found = found or bool(block.lines)
        yield block
    if not found:
        name = shown_all(corpus.files)
        why = "; ".join(skipped.lines()) or "empty"
        raise DataError(f"{name}: no example in it ({why}); is it the right file?")


def size(corpus: Corpus) -> int:
    """How many bytes will be read, packed as they are; 0 for a Hugging Face dataset, of which it is not known."""
    return sum(size_of(name) for name in files_of(corpus) if not name.startswith(HUB))


def table(corpus: Corpus, shape: Shape) -> Table | None:
    """How a file of TSV or CSV is read; None: it is none, or empty, or of numbers."""
    if shape == "series":
        return None
    match format_of(corpus, shape):
        case "tsv":
            return tsv_table(corpus, shape)
        case "csv":
            return csv_table(corpus, shape)
        case _:
            return None


def _rows(corpus: Corpus, shape: Shape) -> Iterator[Rows]:
    if shape == "series":
        return series_rows(corpus)
    found = numbers_in(corpus.files[0]) if corpus.format == "auto" and not corpus.midi else None
    if found is not None:
        raise refuse_numbers(corpus.files[0], shape, found)
    form = format_of(corpus, shape)
    match form:
        case "aligned":
            return read_aligned(corpus, shape)
        case "tsv":
            return read_tsv(corpus, shape)
        case "csv":
            return read_csv(corpus, shape)
        case "jsonl":
            return read_jsonl(corpus, shape)
        case "parquet":
            return read_parquet(corpus, shape)
        case "conllu":
            return read_conllu(corpus, shape)
        case "midi":
            return read_midi_files(corpus, shape)
        case "graph":
            raise DataError(f"{shown_all(corpus.files)}: a graph is for the task nodes, and is read whole")
        case "hub":
            return read_hub(corpus, shape)
        case "text":
            if shape != "text":
                raise DataError(f"{shown(corpus.files[0])}: plain text holds texts alone, but this task reads {shape}")
            return read_text(corpus.files[0])
        case "ts" | "npz" | "images":
            raise refuse_numbers(corpus.files[0], shape, PICTURES if form == "images" else SERIES)
        case _:
            assert_never(form)
