"""Parquet: columns, lists, tables within, and damaged files."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seqloom.data.reading import shape_of
from seqloom.data.settings import Corpus
from tests.data.reading.examples import blocks, fault, rows, write


def table(path: Path, columns: dict[str, list[Any]], **settings: Any) -> str:
    pq.write_table(pa.table(columns), path, **settings)
    return str(path)


def test_usual_and_named_columns(tmp_path: Path) -> None:
    name = table(tmp_path / "a.parquet", {"id": [1, 2], "tgt": ["x", "y"], "src": ["a\n", "b"]})
    assert rows(name) == [(1, "a\n", "x"), (2, "b", "y")]
    assert rows(name, source="tgt", target="src") == [(1, "x", "a\n"), (2, "y", "b")]
    assert fault(name, source="scr", target="tgt") == f"{name}: no column 'scr'; did you mean 'src'?"


def test_tables_and_lists_within(tmp_path: Path) -> None:
    name = table(tmp_path / "a.parquet", {"translation": [{"en": "a", "de": "x"}, {"en": "b", "de": "y"}]})
    assert rows(name) == [(1, "a", "x"), (2, "b", "y")]
    assert rows(name, source="de", target="translation.en") == [(1, "x", "a"), (2, "y", "b")]
    name = table(tmp_path / "b.parquet", {"tokens": [["the", "house"]], "ner_tags": [[0, 1]]})
    assert rows(name, shape="tags") == [(1, ["the", "house"], ["0", "1"])]


def test_rows_that_cannot_be_used(tmp_path: Path) -> None:
    name = table(tmp_path / "a.parquet", {"source": ["a", None, "c"], "target": ["x", "y", ""]})
    assert fault(name).startswith(f"{name}:2: the source should be text, but is missing; ")
    assert rows(name, bad="skip") == [(1, "a", "x")]


def test_numbers_are_no_texts(tmp_path: Path) -> None:
    name = table(tmp_path / "a.parquet", {"text": ["a"], "label": [4]})
    assert rows(name, shape="classes") == [(1, "a", "4")]
    assert "the target should be text, but is the number 4" in fault(name)


def test_many_row_groups(tmp_path: Path) -> None:
    values = [str(n) for n in range(1, 10_001)]
    name = table(tmp_path / "a.parquet", {"source": values, "target": values}, row_group_size=1_700)
    assert rows(name) == [(n, str(n), str(n)) for n in range(1, 10_001)]
    assert sum(block.bytes for block in blocks(name)) == Path(name).stat().st_size


def test_no_rows(tmp_path: Path) -> None:
    name = table(tmp_path / "a.parquet", {"source": [], "target": []})
    assert fault(name) == f"{name}: no example in it (empty); is it the right file?"


def test_damaged_and_other_files(tmp_path: Path) -> None:
    whole = Path(table(tmp_path / "a.parquet", {"source": ["a"] * 1000, "target": ["b"] * 1000})).read_bytes()
    name = write(tmp_path / "b.parquet", whole[: len(whole) // 2])
    assert fault(name).startswith(f"{name}: not a whole Parquet file (")
    assert "not a whole Parquet file" in fault(write(tmp_path / "c.parquet", "a\tb\n"))
    assert "not a whole Parquet file" in fault(write(tmp_path / "d.parquet", ""))
    assert "a Parquet file; give its name the ending .parquet" in fault(write(tmp_path / "a.tsv", whole))


def test_targets_that_are_numbers_are_classes(tmp_path: Path) -> None:
    def shape(columns: dict[str, list[Any]]) -> str:
        return shape_of(Corpus(files=(table(tmp_path / "a.parquet", columns),)))

    assert shape({"text": ["a"], "label": [4]}) == shape({"text": ["a"], "label": [True]}) == "classes"
    assert shape({"row": [{"text": "a", "label": 4}]}) == "classes"
    assert shape({"text": ["a"], "label": ["b"]}) == shape({"text": ["a"], "label": [4.5]}) == "pairs"
    assert shape({"a": ["a"], "b": [1], "c": [2]}) == "pairs"
