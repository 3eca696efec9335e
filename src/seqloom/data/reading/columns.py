"""Which column of a table holds which field."""

from collections.abc import Sequence

from seqloom.data.reading.block import FIELDS, Shape
from seqloom.data.reading.column_names import SOURCE_TARGET, TEXT, TEXT_LABEL, fields
from seqloom.data.reading.faults import DataError
from seqloom.data.settings import Corpus
from seqloom.settings.words import nearest

_LABELLED = (
    *(
        (text, label)
        for label in ("label", "class", "category", "sentiment")
        for text in ("text", "sentence", "review")
    ),
    ("tweet", "sentiment"),
    *((text, label) for label in ("labels", "intent", "tag") for text in ("text", "sentence", "review", "utterance")),
)
_PAIRED = (
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("input", "output"),
    ("inputs", "targets"),
    ("question", "answer"),
)
_USUAL: dict[Shape, tuple[tuple[str, ...], ...]] = {
    "pairs": (*_PAIRED, *_LABELLED),
    "text": (("text",), ("sentence",), ("content",), ("document",)),
    "tags": (("words", "tags"), ("tokens", "tags"), ("tokens", "ner_tags"), ("text", "tags"), ("source", "target")),
    "classes": (*_LABELLED, *_PAIRED),
    "timeline": (),
    "series": (("values", "label"), ("series", "label"), ("values", "class"), ("values", "target"), *_PAIRED),
}


def wanted(corpus: Corpus, shape: Shape) -> tuple[str | None, ...]:
    """The column that the settings name for each field, if they do."""
    return (corpus.source, corpus.target)[: len(FIELDS[shape])]


_ELSEWHERE: dict[Shape, tuple[tuple[int, ...], ...]] = {
    "pairs": (SOURCE_TARGET, TEXT_LABEL),
    "classes": (TEXT_LABEL, SOURCE_TARGET),
    "text": (TEXT,),
}
"""Of these the words are known in other languages."""


def usual(names: Sequence[str], shape: Shape) -> tuple[int, ...] | None:
    """The columns whose names say what they hold."""
    elsewhere = (fields(names, roles) for roles in _ELSEWHERE.get(shape, ()))
    return _usual_in_english(names, shape) or next((found for found in elsewhere if found), None)


def _usual_in_english(names: Sequence[str], shape: Shape) -> tuple[int, ...] | None:
    plain = [name.strip().lower() for name in names]
    for group in _USUAL[shape]:
        if set(group) <= set(plain):
            return tuple(map(plain.index, group))
    return None


def usual_pair(names: Sequence[str]) -> bool:
    """Whether two names are those of a source and its target, and of no label."""
    plain = tuple(name.strip().lower() for name in names)
    return plain in _PAIRED or fields(names, SOURCE_TARGET) == (0, 1)


def usual_sources(names: Sequence[str], shape: Shape) -> list[int]:
    """The columns with a name that a source usually has, where its target may be missing."""
    known = {group[0] for group in _USUAL[shape]}
    return [at for at, name in enumerate(names) if name.strip().lower() in known]


def named_header(corpus: Corpus, shape: Shape, first: Sequence[str]) -> bool | None:
    """Whether a table's first row names the columns; None: nothing says so."""
    if corpus.header is not None:
        return corpus.header
    said = any(name and not name.isdigit() for name in wanted(corpus, shape))
    return said or _usual_in_english(first, shape) is not None or None


def positions(corpus: Corpus, shape: Shape, first: Sequence[str], header: bool, place: str) -> tuple[int, ...]:
    """The position of each field's column, in a table with numbered and perhaps named columns."""
    usually = (usual(first, shape) if header else None) or tuple(range(len(FIELDS[shape])))
    found = [
        position(name, first, header, place, field) if name else None
        for field, name in zip(FIELDS[shape], wanted(corpus, shape), strict=True)
    ]
    # where one of two columns is named, the other field is in the other one
    spare = [at for at in usually if at not in found]
    return tuple(
        at if at is not None else usual if usual in spare else spare[0]
        for at, usual in zip(found, usually, strict=True)
    )


def position(name: str, first: Sequence[str], header: bool, place: str, field: str) -> int:
    if header and name in first:
        return list(first).index(name)
    if name.isdecimal() and int(name) > 0:
        if int(name) > len(first):
            raise DataError(f"{place}: no column {name} for the {field}; there are {len(first)}")
        return int(name) - 1
    if name.isdecimal():
        raise DataError(f"{place}: no column {name} for the {field}; columns are numbered from 1")
    if not header:
        raise DataError(f"{place}: no column {name!r} for the {field}: header = false; give the column's number")
    raise absent(name, first, place)


def absent(name: str, names: Sequence[str], place: str) -> DataError:
    near = nearest(name, names)
    remedy = f"did you mean {near!r}?" if near else f"the columns are {', '.join(names) or 'none'}"
    return DataError(f"{place}: no column {name!r}; {remedy}")


def keys(corpus: Corpus, shape: Shape, names: Sequence[str], place: str) -> tuple[str, ...]:
    """The key of each field among keys such as `source`, or `translation.en` for a key within a key."""
    fields = wanted(corpus, shape)
    if any(name is None for name in fields):
        usually = _usual_keys(shape, names)
        if usually is None:
            missing, side = FIELDS[shape][fields.index(None)], "source" if fields[0] is None else "target"
            raise DataError(
                f"{place}: which column is the {missing}? There are {', '.join(names) or 'none'}; "
                f"say it with --{side} COL, or in the recipe: {side} = …"
            )
        fields = tuple(name or at for name, at in zip(fields, usually, strict=True))
    return tuple(_key(name, names, place) for name in fields if name)


def _usual_keys(shape: Shape, names: Sequence[str]) -> tuple[str, ...] | None:
    return telling_keys(shape, names) or (tuple(names) if len(names) == len(FIELDS[shape]) else None)


def telling_keys(shape: Shape, names: Sequence[str]) -> tuple[str, ...] | None:
    """Those whose names say what they hold."""
    if at := usual(names, shape):
        return tuple(names[position] for position in at)
    nested = [name for name in names if name.startswith("translation.")]
    return tuple(nested) if shape == "pairs" and len(nested) == len(FIELDS[shape]) else None


def _key(name: str, names: Sequence[str], place: str) -> str:
    key = found_key(name, names)
    if key is None:
        raise absent(name, names, place)
    return key


def found_key(name: str, names: Sequence[str]) -> str | None:
    """By its name, by that inside another if there is but one, or by its number from 1."""
    if name in names:
        return name
    nested = [full for full in names if full.endswith(f".{name}")]
    if len(nested) == 1:
        return nested[0]
    return names[int(name) - 1] if name.isdecimal() and 0 < int(name) <= len(names) else None
