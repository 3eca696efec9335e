"""What a file's name says of its format."""

import re
from pathlib import PurePath
from typing import Literal

Format = Literal[
    "aligned", "tsv", "csv", "jsonl", "parquet", "text", "conllu", "hub", "ts", "npz", "images", "midi", "graph"
]

COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bzip2"}
STDIN = "-"
HUB = "hub:"

_ENDINGS: dict[str, Format] = {
    "": "text",
    ".txt": "text",
    ".text": "text",
    ".tok": "text",
    ".tokens": "text",
    ".raw": "text",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".conllu": "conllu",
    ".conll": "conllu",
    ".iob": "conllu",
    ".iob2": "conllu",
    ".bio": "conllu",
    ".mid": "midi",
    ".midi": "midi",
    ".npz": "npz",
}
# plain text is often named after its language: train.de, train.pt_BR
_LANGUAGE = re.compile(r"\.[a-z]{2}([_-][A-Za-z]{2,4})?")


def ending(name: str) -> str:
    """The last ending of a file's name in small letters, without what compresses it: .tsv for pairs.TSV.gz."""
    path = PurePath(name)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.suffix if _LANGUAGE.fullmatch(path.suffix) else path.suffix.lower()


def compression(name: str) -> str | None:
    """How a file is compressed, by its name."""
    return COMPRESSED.get(PurePath(name).suffix.lower())


def format_by_name(name: str) -> Format | None:
    """The format of one file, by its name; None where the name does not say."""
    if name.startswith(HUB):
        return "hub"
    if name == STDIN:
        return "text"
    return _ENDINGS.get(ending(name)) or ("text" if _LANGUAGE.fullmatch(ending(name)) else None)
