"""JSON objects: keys, keys within keys, and lines that are none."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.data.reading import Shape
from tests.data.reading.examples import blocks, fault, rows, skipped, write


@pytest.mark.parametrize(
    ("shape", "line", "fields"),
    [
        ("pairs", '{"source": "a", "target": "b", "id": 1}', ("a", "b")),
        ("pairs", '{"tgt": "b", "src": "a"}', ("a", "b")),
        ("pairs", '{"id": 1, "translation": {"en": "a", "de": "b"}}', ("a", "b")),
        ("pairs", '{"en": "a", "de": "b"}', ("a", "b")),
        ("classes", '{"text": "a", "label": 3}', ("a", "3")),
        ("classes", '{"label": "x", "text": "a\\nb"}', ("a\nb", "x")),
        ("text", '{"text": "\\u00e4\\ud83d\\ude00", "url": "…"}', ("ä😀",)),
        ("tags", '{"tokens": ["the", "house"], "tags": ["D", "N"]}', (["the", "house"], ["D", "N"])),
        ("tags", '{"tokens": ["the", "house"], "ner_tags": [0, 1]}', (["the", "house"], ["0", "1"])),
        ("classes", '{"text": "a", "label": 4.5}', ("a", "4.5")),
        ("tags", '{"tokens": ["route", 66, 1.5], "tags": ["N", "C", "C"]}', (["route", "66", "1.5"], ["N", "C", "C"])),
        ("tags", '{"words": "the house", "tags": "D N"}', (["the", "house"], ["D", "N"])),
    ],
)
def test_usual_keys(tmp_path: Path, shape: Shape, line: str, fields: tuple[Any, ...]) -> None:
    assert rows(write(tmp_path / "a.jsonl", f"{line}\n\n{line}"), shape=shape) == [(1, *fields), (3, *fields)]


def test_keys_by_name(tmp_path: Path) -> None:
    line = '{"id": "i", "translation": {"en": "a", "de": "b"}}'
    name = write(tmp_path / "a.jsonl", line)
    assert rows(name, source="translation.de", target="en") == [(1, "b", "a")]
    assert rows(name, source="id", target="translation.de") == [(1, "i", "b")]


def test_an_absent_key(tmp_path: Path) -> None:
    name = write(tmp_path / "a.jsonl", '{"english": "a", "german": "b", "id": 1}\n')
    assert fault(name, source="germany", target="english") == f"{name}:1: no column 'germany'; did you mean 'german'?"
    assert fault(name) == (
        f"{name}:1: which column is the source? There are english, german, id; "
        "say it with --source COL, or in the recipe: source = …"
    )


@pytest.mark.parametrize(
    ("line", "what", "reason"),
    [
        ('{"source": "c", "target": ', "not JSON (Expecting value at column 27)", "not JSON"),
        ('["c", "d"]', 'should be an object such as {"source": "…", "target": "…"}', "no JSON object"),
        ('[{"source": "c", "target": "d"}]', "a list of JSON objects", "no JSON object"),
        ('{"source": "c"}', "no 'target'; there are source", "an absent key"),
        (
            '{"source": "c", "target": 5}',
            "the target should be text, but is the number 5; write it as text, or if it names a class: "
            "--set task.kind=classify, or pass --skip-bad",
            "the target is a number, which --set task.kind=classify takes as a class",
        ),
        ('{"source": "c", "target": NaN}', "the target should be text, but is missing", "the target is no text"),
        ('{"source": null, "target": "d"}', "the source should be text, but is missing", "the source is no text"),
        ('{"source": ["c"], "target": "d"}', "the source should be text, but is a list", "the source is no text"),
        (
            '{"source": "c", "target": "\\ud800"}',
            "an escape that is half a character (a surrogate alone)",
            "half a character",
        ),
        ('{"source": "", "target": "d"}', "the source is empty, but the target is not", "the source is empty"),
        ("[" * 100_000, "JSON with a number too long or nested too deeply", "not JSON"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, line: str, what: str, reason: str) -> None:
    good = '{"source": "a", "target": "b"}'
    name = write(tmp_path / "a.jsonl", f"{good}\n{line}\n{good}\n")
    assert fault(name).startswith(f"{name}:2: {what}")
    assert fault(name).endswith(", or pass --skip-bad")
    assert rows(name, bad="skip") == [(1, "a", "b"), (3, "a", "b")]
    assert skipped(name) == {reason: 1}


def test_one_long_list(tmp_path: Path) -> None:
    name = write(tmp_path / "a.json", '[\n{"source": "a", "target": "b"}\n]\n')
    said = f"{name}:1: one long JSON list; put each object on a line, e.g. jq -c '.[]', or pass --skip-bad"
    assert fault(name) == said


def test_words_that_are_no_words(tmp_path: Path) -> None:
    name = write(tmp_path / "a.jsonl", '{"words": ["a", null], "tags": ["X", "Y"]}')
    assert "the words should be a list of texts, but one is missing" in fault(name, shape="tags")
    name = write(tmp_path / "a.jsonl", '{"words": ["a", " "], "tags": ["X", "Y"]}')
    assert "one of the words is empty" in fault(name, shape="tags")
    name = write(tmp_path / "a.jsonl", '{"words": ["a", "b"], "tags": ["X"]}')
    assert "2 words but 1 tags" in fault(name, shape="tags")


def test_no_object_in_the_first_block(tmp_path: Path) -> None:
    name = write(tmp_path / "a.jsonl", "\n" * 5_000 + '{"src": "a", "tgt": "b"}\n')
    assert rows(name) == [(5_001, "a", "b")]
    assert sum(block.skipped for block in blocks(name)) == 5_000


def test_a_broken_line_is_told_before_keys_that_nobody_knows(tmp_path: Path) -> None:
    name = write(tmp_path / "a.jsonl", '\n{"source": "a"\n{"x": 1}\n')
    assert fault(name).startswith(f"{name}:2: not JSON (")
    assert fault(name, bad="skip").startswith(f"{name}:3: which column is the source? There are x;")
    name = write(tmp_path / "b.jsonl", '{"source": "a"\n{"source": "c", "target": "d"}\n')
    assert rows(name, bad="skip") == [(2, "c", "d")]
    assert skipped(name) == {"not JSON": 1}
    name = write(tmp_path / "c.jsonl", '{"source": "a"\n' * 5_000)
    assert "5,000 left out: not JSON" in fault(name, bad="skip")


@pytest.mark.parametrize("first", ['{"text": "a"}', '{"id": 1, "text": "a"}', "{}"])
@pytest.mark.parametrize("columns", [{}, {"source": "text", "target": "label"}])
def test_a_first_row_that_lacks_its_label(tmp_path: Path, first: str, columns: dict[str, str]) -> None:
    """It is that row's fault: which keys there are is told by the first rows together."""
    name = write(tmp_path / "a.jsonl", f'{first}\n{{"id": 2, "text": "b", "label": "x"}}\n')
    assert fault(name, **columns).startswith(f"{name}:1: no '")
    assert rows(name, bad="skip", **columns) == [(2, "b", "x")]
    assert skipped(name, **columns) == {"an absent key": 1}


def test_keys_that_only_later_rows_have(tmp_path: Path) -> None:
    """They change nothing where the first row has all that is read."""
    name = write(tmp_path / "a.jsonl", '{"en": "a", "de": "b"}\n{"en": "c", "de": "d", "note": "n"}\n')
    assert rows(name) == [(1, "a", "b"), (2, "c", "d")]


def test_empty_objects_alone(tmp_path: Path) -> None:
    assert "2 left out: an absent key" in fault(write(tmp_path / "a.jsonl", "{}\n{}\n"), bad="skip")
