"""Two files whose lines belong together."""

from pathlib import Path

from tests.data.reading.examples import blocks, fault, rows, skipped, write


def two(folder: Path, source: str | bytes, target: str | bytes) -> tuple[str, str]:
    return write(folder / "train.en", source), write(folder / "train.de", target)


def test_lines_meet(tmp_path: Path) -> None:
    assert rows(*two(tmp_path, "a b\r\nc\u2028d\r\n", "x\ny")) == [(1, "a b", "x"), (2, "c\u2028d", "y")]


def test_many_blocks(tmp_path: Path) -> None:
    files = two(
        tmp_path, "".join(f"s{n}\n" for n in range(10_000)), "".join(f"t{n} {'x' * 300}\n" for n in range(10_000))
    )
    found = blocks(*files)
    assert len(found) > 1
    assert {block.file for block in found} == {files[0]}
    assert [line for block in found for line in block.lines] == list(range(1, 10_001))
    assert [text for block in found for text in block.columns[0]] == [f"s{n}" for n in range(10_000)]
    assert all(s[1:] == t[1:].split()[0] for block in found for s, t in zip(*block.columns, strict=True))
    assert sum(block.bytes for block in found) == sum(Path(name).stat().st_size for name in files)


def test_one_file_is_longer(tmp_path: Path) -> None:
    source, target = two(tmp_path, "a\nb\nc\n", "x\n")
    assert fault(source, target) == (
        f"{target}:2: no such line: {target} has 1 line, but {source} has 3; "
        "the lines of two files must belong together"
    )
    assert fault(source, target, bad="skip") == fault(source, target)


def test_one_longer_by_many_blocks(tmp_path: Path) -> None:
    source, target = two(tmp_path, "a\n" * 5_000, "x\n" * 20_000)
    assert f"{source}:5001: no such line: {source} has 5,000 lines, but {target} has 20,000" in fault(source, target)


def test_one_side_empty(tmp_path: Path) -> None:
    source, target = two(tmp_path, "a\nb\nc\n", "x\n \nz\n")
    assert fault(source, target) == (f"{target}:2: empty, but train.en:2 is not; remove both lines, or pass --skip-bad")
    assert rows(source, target, bad="skip") == [(1, "a", "x"), (3, "c", "z")]
    assert skipped(source, target) == {"the target is empty": 1}


def test_both_sides_empty_are_counted_but_no_reason_to_stop(tmp_path: Path) -> None:
    files = two(tmp_path, "a\n\nc\n", "x\n\nz\n")
    assert rows(*files) == [(1, "a", "x"), (3, "c", "z")]
    (block,) = blocks(*files)
    assert block.skipped == 1
    assert list(block.report.lines()) == [f"1 left out: both sides empty ({files[0]}:2)"]


def test_wrong_encoding(tmp_path: Path) -> None:
    source, target = two(tmp_path, "a\nb\n", b"x\nKn\xf6del\n")
    said = f"{target}:2: not UTF-8 text (byte 0xf6 at column 3); convert the file, e.g. iconv -f cp1252 -t utf-8, or"
    assert fault(source, target).startswith(said)
    assert rows(source, target, bad="skip") == [(1, "a", "x")]
    assert skipped(source, target) == {"not UTF-8 text": 1}


def test_words_and_tags(tmp_path: Path) -> None:
    source, target = two(tmp_path, "the  house\nI\u00a0am here\n", "DET NOUN\nX Y\n")
    assert rows(source, target, shape="tags") == [
        (1, ["the", "house"], ["DET", "NOUN"]),
        (2, ["I\u00a0am", "here"], ["X", "Y"]),
    ]
    source, target = two(tmp_path, "a b\nc\n", "X\nY\n")
    assert fault(source, target, shape="tags") == f"{target}:1: 2 words but 1 tags; mend the line, or pass --skip-bad"
    assert skipped(source, target, shape="tags") == {"words and tags differ in number": 1}


def test_texts_alone_need_one_file(tmp_path: Path) -> None:
    assert "two aligned files, but this task reads texts alone" in fault(*two(tmp_path, "a\n", "b\n"), shape="text")


def test_no_example(tmp_path: Path) -> None:
    source, target = two(tmp_path, "", "")
    assert fault(source, target) == f"{source} and {target}: no example in it (empty); is it the right file?"
    source, target = two(tmp_path, "\n\n", "\n\n")
    assert "no example in it (2 left out: both sides empty (" in fault(source, target)
