"""Which reader a corpus needs: by its settings, its name, what it is to be read as, and if need be its first lines."""

import json
import re
from collections import Counter
from statistics import median
from typing import Any

from seqloom.data.file_format import STDIN, Format, ending, format_by_name
from seqloom.data.reading.block import FIELDS, Shape
from seqloom.data.reading.byte_stream import ByteStream
from seqloom.data.reading.columns import usual
from seqloom.data.reading.faults import DataError
from seqloom.data.reading.json_lines import fields_of, value_of
from seqloom.data.reading.parquet import holds_classes
from seqloom.data.reading.series_table import looks_like_readings
from seqloom.data.reading.stored_file import is_folder
from seqloom.data.reading.table import SAMPLE
from seqloom.data.settings import Corpus

_HEAD = 1 << 16
_VALUES = re.compile(rb'\s*\{[^\[\]{}]*"(values|series)"\s*:\s*\[')
_BLANK = re.compile(rb"\n(?:[ \t]*\n)+")
_SPAN = re.compile(rb"O|[BIESLUM]-\S+")
_UNIVERSAL = set(b"ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
OFTEN = 5  # a tag is seen so often, on average: words of another language are not
REPEATED = 0.8  # of the lines at most hold different words: a text says its words again, a list does not
SENTENCES = 10  # at least: a table may have some blank lines too
WORDS = (2, 60)  # of the sentence in the middle
SEVERAL = 0.25  # of the lines have more than a word in front: then they are texts, and not words
MOSTLY = 0.95  # of the first lines have columns: then the file is made of columns
_REMEDIES = {
    ".xlsx": "save the table as CSV",
    ".xls": "save the table as CSV",
    ".ods": "save the table as CSV",
    ".zip": "unpack it",
    ".tar": "unpack it",
    ".tgz": "unpack it",
    ".pdf": "save its text as a text file",
    ".docx": "save its text as a text file",
}


def format_of(corpus: Corpus, shape: Shape) -> Format:
    if corpus.format != "auto":
        return corpus.format
    if corpus.midi:
        return "midi"
    if len(corpus.files) == 2:
        return "aligned"
    name = corpus.files[0]
    if is_folder(name) and shape == "series":
        return "images"
    if shape == "series" and ending(name) == ".ts":  # elsewhere the ending is a language's: Tsonga
        return "ts"
    by_name = format_by_name(name)
    if by_name is None:
        remedy = _REMEDIES.get(ending(name), 'say which in the recipe, e.g. format = "text", or rename it')
        raise DataError(f"{name}: the ending {ending(name)} tells no format that can be read; {remedy}")
    if name == STDIN and _head(name).lstrip().startswith(b"{"):
        return "jsonl"
    if shape == "tags" and by_name in ("text", "tsv"):
        return "conllu" if _a_word_a_line(_head(name)) else "tsv"
    # with two fields in one file of text, they are columns
    return "tsv" if by_name == "text" and len(FIELDS[shape]) == 2 else by_name


def shape_of(corpus: Corpus) -> Shape:
    """What a corpus looks like, where nobody said; labels are told from other targets by who has read some."""
    if corpus.midi:
        return "text"
    if corpus.format == "graph":
        return "tags"
    form = corpus.format if corpus.format != "auto" else format_by_name(corpus.files[0])
    if len(corpus.files) == 2:
        return "pairs"
    if form == "conllu":
        return "tags"
    if form in ("ts", "npz", "images") or is_folder(corpus.files[0]) or _holds_series(corpus, form):
        return "series"
    if form == "jsonl" and corpus.source is None and _holds_tags(_head(corpus.files[0])):
        return "tags"
    if (form == "jsonl" and _numbers_name_classes(corpus)) or (form == "parquet" and holds_classes(corpus)):
        return "classes"
    if form == "tsv" and corpus.source is None and _holds_words_with_tags(_head(corpus.files[0])):
        return "tags"
    if form not in ("text", None):
        return "pairs"
    head = _head(corpus.files[0])
    if corpus.files[0] == STDIN and head.lstrip().startswith(b"{"):
        return "classes" if _numbers_name_classes(corpus) else "pairs"
    lines = [line for line in head.splitlines() if line.strip()][:-1] or head.splitlines()
    columns = sum(b"\t" in line.strip() for line in lines)
    if _holds_words_with_tags(head):
        return "tags"
    if columns < MOSTLY * len(lines) or not columns:
        return "text"
    several = sum(b" " in line.partition(b"\t")[0].strip() for line in lines)
    empty = b"\n\n" in head.replace(b"\r", b"").strip()  # a line of spaces may be a pair that is missing
    return "tags" if empty and several < SEVERAL * len(lines) else "pairs"


def _holds_series(corpus: Corpus, form: Format | None) -> bool:
    """Whether its first lines are those of a .ts file, JSON with a list of numbers, or a table of readings."""
    if form == "jsonl" and corpus.source is None:
        return bool(_VALUES.match(_head(corpus.files[0])))
    if form in ("csv", "tsv") and corpus.source is None and corpus.files[0] != STDIN:
        return looks_like_readings(corpus, ",;\t" if form == "csv" else "\t;,")
    ts = form in ("text", None) and ending(corpus.files[0]) == ".ts"
    return ts and b"\n@data" in _head(corpus.files[0]).lower()


def _holds_tags(head: bytes) -> bool:
    """Whether the first object of JSON with such names has a list of words and one of their tags."""
    found = ((record, at) for record in _records(head) if (at := usual(list(record), "tags")) is not None)
    first, at = next(found, ({}, ()))
    words, tags = (list(first.values())[place] for place in at) if first else (None, None)
    if not (isinstance(words, list) and isinstance(tags, list)):
        return False
    # a number may be a word, but a list of nothing else is rather something to be written
    text = any(isinstance(word, str) for word in words) or not words
    return text and all(isinstance(word, str | int | float) for word in words)


def _numbers_name_classes(corpus: Corpus) -> bool:
    """Whether most targets in the first lines of JSON are whole numbers or true and false, and so no translations."""
    records = _records(_head(corpus.files[0]))
    try:
        fields = fields_of(corpus, "pairs", records, corpus.files[0]) if records else None
    except DataError:
        return False  # told by who reads it
    values = [value_of(record, fields[1]) for record in records] if fields else []
    return 2 * sum(isinstance(value, int) for value in values) > len(values)


def _records(head: bytes) -> list[dict[str, Any]]:
    """The objects of the first lines."""
    found = []
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()[:SAMPLE]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # broken, or cut off
            continue
        found += [record] if isinstance(record, dict) else []
    return found


def holds_words_with_tags(name: str) -> bool:
    """Whether a file of text is one of words with tags, by its first lines."""
    return _holds_words_with_tags(_head(name))


def _head(name: str) -> bytes:
    with ByteStream(name) as stream:
        return stream.read(_HEAD)


def _holds_words_with_tags(head: bytes) -> bool:
    """Whether blank lines part groups of lines of a word and its tag: BIO, universal, or as sentences would have it."""
    groups = [some for group in _groups(head) if (some := [line for line in group if not line.startswith(b"#")])]
    lines = [line for group in groups for line in group]
    lines = lines[:-1] if len(head) == _HEAD else lines
    if len(groups) < 2 or not lines:
        return False
    tabs = b"\t" in lines[0]
    rows = [line.split(b"\t") if tabs else line.split() for line in lines]
    counts = Counter(map(len, rows))
    (count, most), *_ = counts.most_common(1)
    if count < 2 or most < MOSTLY * len(rows):
        return False
    tags = [row[-1].strip() for row in rows if len(row) == count]
    spans, universal = sum(bool(_SPAN.fullmatch(tag)) for tag in tags), sum(tag in _UNIVERSAL for tag in tags)
    if max(spans, universal) >= MOSTLY * len(tags) and set(tags) - {b"O", b"X"}:
        return True
    words = [row[0].strip() for row in rows]
    one_word = sum(b" " in word for word in words) < SEVERAL * len(words) and not any(b" " in tag for tag in tags)
    repeated = len(set(tags)) * OFTEN <= len(tags) and len(set(words)) <= REPEATED * len(words)
    sentences = len(groups) >= SENTENCES and WORDS[0] <= median(map(len, groups)) <= WORDS[1]
    return tabs and count == 2 and one_word and repeated and sentences


def _groups(head: bytes) -> list[list[bytes]]:
    """The lines between blank ones, which may hold spaces."""
    groups = _BLANK.split(head.replace(b"\r", b""))
    return [[line for line in group.splitlines() if line.strip()] for group in groups if group.strip()]


def _a_word_a_line(head: bytes) -> bool:
    """Whether blank lines stand between sentences, and each line holds but one word."""
    return len(_groups(head)) > 1
