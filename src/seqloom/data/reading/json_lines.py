"""A JSON object in each line."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from seqloom.data.reading.block import FIELDS, ROWS, Rows, Shape
from seqloom.data.reading.columns import keys, telling_keys
from seqloom.data.reading.faults import Broken, DataError
from seqloom.data.reading.lines import Lines
from seqloom.data.reading.table import SAMPLE
from seqloom.data.settings import Corpus


def read_jsonl(corpus: Corpus, shape: Shape, unlabelled: str | None = None) -> Iterator[Rows]:
    """The first objects decide which keys are read; one key within another is written a.b.

    unlabelled: what the second field is instead, where nobody asks for it.
    """
    with Lines(corpus.files[0]) as file:
        files = (file.name,) * len(FIELDS[shape])
        fields: tuple[str, ...] | None = None
        consumed = 0
        while lines := file.take(ROWS):
            before, consumed = consumed, file.consumed
            numbers = range(file.count - len(lines) + 1, file.count + 1)
            records = list(map(_record, lines))
            if fields is None:
                at = next((at for at, record in enumerate(records) if isinstance(record, dict)), len(records))
                if at:  # told before the keys are asked for, whose fault may be that of these lines
                    yield Rows(files, numbers[:at], _columns(records[:at], FIELDS[shape], lines[:at], unlabelled), 0)
                numbers, records, lines = numbers[at:], records[at:], lines[at:]
                asked = unlabelled is None
                fields = fields_of(corpus, shape, records, f"{file.name}:{numbers[0]}", asked) if records else None
            columns = _columns(records, fields or FIELDS[shape], lines, unlabelled)
            yield Rows(files, numbers, columns, consumed - before)


def first_names(name: str) -> list[str]:
    """The keys of the first object, if the first lines hold one."""
    with Lines(name) as file:
        records = list(map(_record, file.take(SAMPLE)))
    return names_of(next((record for record in records if isinstance(record, dict)), {}))


def _columns(
    records: list[Any], fields: tuple[str, ...], lines: list[Any], unlabelled: str | None
) -> tuple[list[Any], ...]:
    values = [_values(record, fields, line) for record, line in zip(records, lines, strict=True)]
    if unlabelled is not None:
        values = [[first, first if isinstance(first, Broken) else unlabelled] for first, *_ in values]
    return tuple([value[at] for value in values] for at in range(len(fields)))


def fields_of(
    corpus: Corpus, shape: Shape, records: Sequence[Any], place: str, labelled: bool = True
) -> tuple[str, ...] | None:
    """The keys that are read: those of the first object, or of the first ones together, where it lacks some.

    None: they are all empty. labelled: whether the second field is asked for.
    """
    some = [record for record in records[:SAMPLE] if isinstance(record, dict)]
    first, every = names_of(some[0]), list(dict.fromkeys(name for record in some for name in names_of(record)))
    if not every:
        return None
    if not labelled:
        first, every = ([*names, *_unasked(corpus, shape, names)] for names in (first, every))
    if telling_keys(shape, first) or not telling_keys(shape, every):
        try:
            return keys(corpus, shape, first, place)
        except DataError:
            pass  # told of all
    return keys(corpus, shape, every, place)


def _unasked(corpus: Corpus, shape: Shape, names: Sequence[str]) -> list[str]:
    """The second field's name, where the file does not have it."""
    name = corpus.target or FIELDS[shape][1]
    return [] if name in names else [name]


def _record(line: str | Broken) -> Any:
    if isinstance(line, Broken) or not line.strip():
        return line
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        if line.lstrip().startswith("["):
            return Broken("not JSON", "one long JSON list", "put each object on a line, e.g. jq -c '.[]'")
        return Broken("not JSON", f"not JSON ({error.msg} at column {error.colno})")
    except (ValueError, RecursionError):
        return Broken("not JSON", "JSON with a number too long or nested too deeply")
    if isinstance(record, dict):
        return record
    if isinstance(record, list) and record and isinstance(record[0], dict):
        return Broken("no JSON object", "a list of JSON objects", "put each of them on a line, e.g. jq -c '.[]'")
    return Broken("no JSON object", 'should be an object such as {"source": "…", "target": "…"}')


def names_of(record: dict[str, Any]) -> list[str]:
    return [
        name
        for key, value in record.items()
        for name in ([f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key])
    ]


def _values(record: Any, fields: tuple[str, ...], line: Any) -> list[Any]:
    if isinstance(record, str):
        return [""] * len(fields)
    if isinstance(record, Broken):
        return [record] * len(fields)
    values = [value_of(record, field) for field in fields]
    # an escape may stand for half a character, which is no text
    if "\\ud" in line or "\\uD" in line:
        values = [_whole(value) for value in values]
    return values


def value_of(record: dict[str, Any], field: str) -> Any:
    if field in record:
        return record[field]
    outer, _, inner = field.partition(".")
    within = record.get(outer)
    if isinstance(within, dict) and inner in within:
        return within[inner]
    return Broken("an absent key", f"no {field!r}; there are {', '.join(names_of(record)) or 'none'}")


def _whole(value: Any) -> Any:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return Broken("half a character", "an escape that is half a character (a surrogate alone)")
    except TypeError:  # a Broken
        return value
    return value
