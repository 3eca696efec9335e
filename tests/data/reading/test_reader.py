"""Whatever the format: what was written is read."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.data.reading import fingerprint, size
from seqloom.data.settings import Corpus
from tests.data.reading.examples import blocks, fault, packed, rows, write
from tests.examples import many

Pairs = list[tuple[str, str]]


def aligned(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    left = write(folder / "a.en", "".join(f"{source}\n" for source, _ in pairs))
    return left, write(folder / "a.de", "\r\n".join(target for _, target in pairs))


def tsv(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    return (write(folder / "a.tsv", "".join(f"{source}\t{target}\n" for source, target in pairs)),)


def tsv_gz(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    return (write(folder / "a.tsv.gz", gzip.compress(Path(*tsv(folder, pairs)).read_bytes())),)


def tsv_zst(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    return (write(folder / "a.tsv.zst", packed(Path(*tsv(folder, pairs)).read_bytes(), "zstd")),)


def comma_separated(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(pairs)
    return (write(folder / "a.csv", text.getvalue()),)


def json_lines(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    lines = (json.dumps({"source": source, "target": target}) for source, target in pairs)
    return (write(folder / "a.jsonl", "\n".join(lines)),)


def parquet(folder: Path, pairs: Pairs) -> tuple[str, ...]:
    sources, targets = zip(*pairs, strict=True)
    pq.write_table(pa.table({"source": sources, "target": targets}), folder / "a.parquet")
    return (str(folder / "a.parquet"),)


def texts(forbidden: str) -> st.SearchStrategy[str]:
    letters = st.characters(exclude_characters=forbidden, exclude_categories=["Cs"])
    # a comma keeps CSV from being taken for one with semicolons, a letter keeps the text from being empty
    return st.text(letters, max_size=30).map(lambda text: f"x,{text}x")


LINES, ANYTHING = "\t\n\r\0", "\0"


@pytest.mark.parametrize(
    ("writer", "forbidden"),
    [
        (aligned, LINES),
        (tsv, LINES),
        (tsv_gz, LINES),
        (tsv_zst, LINES),
        (comma_separated, ANYTHING),
        (json_lines, ""),
        (parquet, ""),
    ],
)
def test_what_was_written_is_read(
    tmp_path: Path, writer: Callable[[Path, Pairs], tuple[str, ...]], forbidden: str
) -> None:
    @many
    @given(pairs=st.lists(st.tuples(texts(forbidden), texts(forbidden)), min_size=1, max_size=20))
    def law(pairs: Pairs) -> None:
        files = writer(tmp_path, pairs)
        assert [(source, target) for _, source, target in rows(*files)] == pairs

    law()


@many
@given(
    sentences=st.lists(
        st.lists(st.tuples(st.text("aäπ#-1", min_size=1), st.text("BIO-", min_size=1)), min_size=1),
        min_size=1,
        max_size=9,
    )
)
def test_tagged_sentences_that_were_written_are_read(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[tuple[str, str]]]
) -> None:
    lines = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in sentences)
    name = write(tmp_path_factory.mktemp("tags") / "a.conll", lines)
    read = [list(zip(words, tags, strict=True)) for _, words, tags in rows(name, shape="tags")]
    assert read == sentences


@pytest.mark.parametrize("file", ["a.de", "a.txt", "wiki.train.tokens", "train.tok", "wiki.train.raw", "plain"])
def test_plain_text(tmp_path: Path, file: str) -> None:
    name = write(tmp_path / file, "eins zwei\n\n drei\u2028\n")
    assert rows(name, shape="text") == [(1, "eins zwei"), (2, ""), (3, " drei\u2028")]
    (block,) = blocks(name, shape="text")
    assert block.report.total == 0
    assert "plain text holds texts alone, but this task reads pairs" in fault(name, format="text")


@pytest.mark.parametrize(
    ("ending", "remedy"),
    [
        ("xyz", 'say which in the recipe, e.g. format = "text", or rename it'),
        ("xlsx", "save the table as CSV"),
        ("zip", "unpack it"),
    ],
)
def test_unknown_endings(tmp_path: Path, ending: str, remedy: str) -> None:
    name = write(tmp_path / f"a.{ending}", "a\tb\n")
    assert fault(name) == f"{name}: the ending .{ending} tells no format that can be read; {remedy}"
    assert rows(name, format="tsv") == [(1, "a", "b")]


def test_reasons_of_many_blocks_are_counted_with_their_first_places(tmp_path: Path) -> None:
    name = write(tmp_path / "a.tsv", "a\tb\n" + "x\n" * 10_000)
    found = blocks(name, bad="skip")
    total = found[0].report
    for block in found[1:]:
        total.add(block.report)
    assert total.counts == {"too few columns": 10_000}
    places = ", ".join(f"{name}:{line}" for line in range(2, 7))
    assert list(total.lines()) == [f"10,000 left out: too few columns ({places}, …)"]


def test_size_and_fingerprint_say_what_is_missing_too(tmp_path: Path) -> None:
    gone = Corpus(files=(str(tmp_path / "gone.tsv"),))
    for ask in (size, fingerprint):
        with pytest.raises(Exception, match=r"gone.tsv: no such file"):
            ask(gone)


def test_a_reader_that_is_left_early_closes_its_file(tmp_path: Path) -> None:
    from seqloom.data.reading import read

    name = write(tmp_path / "a.tsv", "a\tb\n" * 10_000)
    reader = read(Corpus(files=(name,)), "pairs")
    next(reader)
    reader.close()  # an open file would be a ResourceWarning, which fails the test
