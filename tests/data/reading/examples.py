"""Small files, and what is read of them."""

import bz2
import lzma
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seqloom.data.reading import Block, DataError, Shape, read
from seqloom.data.reading.stored_file import _copy
from seqloom.data.settings import Corpus, corpora_of


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return str(path)


def packed(data: bytes, codec: str) -> bytes:
    if codec in ("xz", "bzip2"):
        return lzma.compress(data) if codec == "xz" else bz2.compress(data)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def corpus(*files: str, **settings: Any) -> Corpus:
    return Corpus(files=files, **settings) if settings else corpora_of(files)[0]


def blocks(*files: str, shape: Shape = "pairs", bad: Any = "stop", **settings: Any) -> list[Block]:
    return list(read(corpus(*files, **settings), shape, bad))


def rows(*files: str, shape: Shape = "pairs", bad: Any = "stop", **settings: Any) -> list[tuple[Any, ...]]:
    """Line and fields of each example."""
    found = blocks(*files, shape=shape, bad=bad, **settings)
    return [row for block in found for row in zip(block.lines, *block.columns, strict=True)]


def fault(*files: str, shape: Shape = "pairs", bad: Any = "stop", **settings: Any) -> str:
    with pytest.raises(DataError) as error:
        rows(*files, shape=shape, bad=bad, **settings)
    return str(error.value)


def skipped(*files: str, shape: Shape = "pairs", **settings: Any) -> dict[str, int]:
    """What is left out, by reason."""
    counts: dict[str, int] = {}
    for block in blocks(*files, shape=shape, bad="skip", **settings):
        assert block.skipped == block.report.total
        for reason, count in block.report.counts.items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


def pipe_in(monkeypatch: pytest.MonkeyPatch, cache: Path, data: bytes) -> None:
    """Standard input holds this, as if it were another process."""
    _copy.cache_clear()
    monkeypatch.setenv("SEQLOOM_CACHE", str(cache))
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
