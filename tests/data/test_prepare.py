"""A corpus in the cache: made once, split without a leak, and cut or counted where it is too long."""

import itertools
import json
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.data import prepare as module
from seqloom.data.cache import Cache, Examples
from seqloom.data.crew import encode_all
from seqloom.data.encoding import ClassEncoder, Fields, PairEncoder
from seqloom.data.prepare import Fit, HeldOut, Prepared, prepare
from seqloom.data.ragged import Ragged
from seqloom.data.reading import DataError, Shape
from seqloom.data.settings import Corpus
from seqloom.settings import UserError
from seqloom.text import Characters, Labels, Vocabulary
from seqloom.text.labels import UNSEEN


class Letters:
    """A token a character."""

    def __init__(self, *names: str) -> None:
        self.columns = dict.fromkeys(names, np.int32)

    def __call__(self, fields: Fields) -> Mapping[str, Ragged]:
        return {
            name: Ragged.rows([[ord(letter) for letter in text] for text in texts])
            for name, texts in zip(self.columns, fields, strict=True)
        }


def _texts(cache: Cache, column: str) -> list[str]:
    examples = Examples.join(cache.read(range(len(cache.rows))))
    rows = examples.columns[column]
    return ["".join(map(chr, rows[row])) for row in range(len(rows))]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    words = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=4)]
    path = tmp_path / "pairs.tsv"
    # every source twice, with two targets, far from each other
    path.write_text("".join(f"{word}\t{word}{number}\n" for number in (1, 2) for word in words[:2000]))
    return path


def _prepared(
    path: Path | str, held_out: HeldOut | None = None, fit: Fit | None = None, shape: Shape = "pairs", **more: Any
) -> Prepared:
    encoder = more.pop("encoder", Letters(*(("source", "target") if shape == "pairs" else ("target",))))
    key = more.pop("key", ["v1"])
    corpus = Corpus.model_validate({"files": (str(path),), **more})
    return prepare(corpus, shape, encoder, fit or Fit(), key, held_out)


def _folders(tmp_path: Path) -> int:
    return len(list((tmp_path / "cache" / "examples").iterdir()))


# -- made once


def test_the_second_time_nothing_is_read(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _prepared(pairs)
    monkeypatch.setattr(module, "read_fitting", lambda *given: pytest.fail("read again"))
    second = _prepared(pairs)
    assert second.examples.path == first.examples.path
    assert len(second.examples) == 4000


def test_the_name_of_the_file_and_its_weight_do_not_matter(pairs: Path, tmp_path: Path) -> None:
    one = _prepared(pairs, HeldOut(0.1, 4000))
    shutil.copy(pairs, tmp_path / "other.tsv")
    other = _prepared(tmp_path / "other.tsv", HeldOut(0.1, 4000), weight=2.0)
    assert other.examples.path == one.examples.path
    assert other.corpus.weight == 2.0


def test_another_content_setting_or_key_is_another_cache(pairs: Path, tmp_path: Path) -> None:
    _prepared(pairs)
    others = [
        lambda: _prepared(pairs, HeldOut(0.1, 4000)),
        lambda: _prepared(pairs, HeldOut(0.2, 4000)),
        lambda: _prepared(pairs, fit=Fit(longest=3)),
        lambda: _prepared(pairs, fit=Fit(longest=3, too_long="truncate")),
        lambda: _prepared(pairs, source="2", target="1"),
        lambda: _prepared(pairs, key=["v2"]),
    ]
    for number, other in enumerate(others, 2):
        other()
        assert _folders(tmp_path) == number
    with pairs.open("a") as file:
        file.write("x\ty\n")
    assert len(_prepared(pairs).examples) == 4001
    assert _folders(tmp_path) == len(others) + 2


def test_a_name_that_tells_another_format_is_another_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes mean other pairs as CSV than as TSV."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    for name in ("a.tsv", "a.csv"):
        (tmp_path / name).write_text("a,b\tc,d\n" * 3)
    assert _texts(_prepared(tmp_path / "a.tsv").examples, "source")[0] == "a,b"
    assert _texts(_prepared(tmp_path / "a.csv").examples, "source")[0] == "a"


def test_a_bad_file_leaves_no_half_cache(pairs: Path, tmp_path: Path) -> None:
    with pairs.open("a") as file:
        file.write("no target\n")
    with pytest.raises(DataError, match=r"pairs.tsv:4001"):
        _prepared(pairs)
    assert _folders(tmp_path) == 0


@pytest.mark.parametrize("file", ["examples.json", "examples.arrow"])
def test_a_cache_that_was_spoilt(pairs: Path, file: str) -> None:
    (_prepared(pairs).examples.path.parent / file).write_bytes(b"")
    with pytest.raises(UserError, match="remove this folder, it will be made again"):
        _prepared(pairs)


def test_a_cache_of_another_length(pairs: Path) -> None:
    facts = _prepared(pairs).examples.path.with_suffix(".json")
    content = json.loads(facts.read_text())
    content["totals"]["rows"].append(1)
    facts.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"examples.arrow has 1 chunks, not 2"):
        _prepared(pairs)


# -- in processes


def test_processes_make_the_same_files(pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = Vocabulary.train(Characters(), ["abcdefgh12"])
    encoder = PairEncoder(letters, letters)
    made, files = [], ("examples.arrow", "examples.json", "held_out.arrow", "held_out.json")
    for place, large in (("here", 10**9), ("there", 0)):
        monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / place))
        monkeypatch.setattr(module, "LARGE", large)
        folder = _prepared(pairs, HeldOut(0.1, 4000), encoder=encoder).examples.path.parent
        made.append([(folder / name).read_bytes() for name in files])
    assert made[0] == made[1]


@pytest.mark.parametrize(("large", "workers"), [(100, 3), (10**9, 0)])
def test_processes_for_large_files_alone(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, large: int, workers: int
) -> None:
    asked = []

    def noted(encoder: Any, items: Any, workers: int) -> Any:
        asked.append(workers)
        return encode_all(encoder, items, 0)

    monkeypatch.setattr(module, "LARGE", large)
    monkeypatch.setattr(module, "cores", lambda: 3)
    monkeypatch.setattr(module, "encode_all", noted)
    _prepared(pairs)
    assert asked == [workers]


def test_ids_are_kept_in_two_bytes(pairs: Path) -> None:
    letters = Vocabulary.train(Characters(), ["abcdefgh12"])
    cache = _prepared(pairs, encoder=PairEncoder(letters, letters)).examples
    assert {column.values_N.dtype for column in cache.read([0])[0].columns.values()} == {np.dtype(np.uint16)}


# -- held out


def test_no_source_is_on_both_sides(pairs: Path) -> None:
    made = _prepared(pairs, HeldOut(0.1, 4000))
    assert made.held_out is not None
    train, held = _texts(made.examples, "source"), _texts(made.held_out, "source")
    assert set(train).isdisjoint(held)
    assert len(train) + len(held) == 4000
    assert len(held) == pytest.approx(400, rel=0.25)
    assert len(held) == 2 * len(set(held))  # both of a source


def test_of_running_text_the_end_is_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    lines = [f"line {number}" for number in range(9000)]  # three blocks
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    made = _prepared(tmp_path / "text.txt", HeldOut(0.05, 9000), shape="text")
    assert made.held_out is not None
    assert _texts(made.examples, "target") == lines[:8550]
    assert _texts(made.held_out, "target") == lines[8550:]


@pytest.mark.parametrize("lines", [1, 3, 9000])
def test_running_text_is_split_even_within_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    words = [f"word{number}" for number in range(18000)]
    each = len(words) // lines
    text = [" ".join(words[begin : begin + each]) for begin in range(0, len(words), each)]
    (tmp_path / "text.txt").write_text("\n".join(text) + "\n")
    characters = sum(map(len, text)) + len(text)
    made = _prepared(tmp_path / "text.txt", HeldOut(0.05, lines, characters=characters), shape="text")
    assert made.held_out is not None
    train, held = _texts(made.examples, "target"), _texts(made.held_out, "target")
    assert sum(map(len, held)) + len(held) == pytest.approx(0.05 * characters, rel=0.02)
    assert " ".join([*train, *held]).split() == words  # no word was cut, none is on both sides


def test_a_text_without_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text("ab" * 500)
    made = _prepared(tmp_path / "text.txt", HeldOut(0.05, 1, characters=1001), shape="text")
    assert made.held_out is not None
    assert (_texts(made.examples, "target"), _texts(made.held_out, "target")) == (["ab" * 450 + "a"], ["b" + "ab" * 49])


@pytest.mark.parametrize("count", [2, 3, 10, 50])
@pytest.mark.parametrize("share", [1e-6, 0.05, 0.999999])
def test_something_is_on_both_sides(pairs: Path, tmp_path: Path, count: int, share: float) -> None:
    lines = pairs.read_text().splitlines()[:count] * 3
    (tmp_path / "few.tsv").write_text("\n".join(lines) + "\n")
    sums = [zlib.crc32(line.split("\t")[0].encode()) for line in lines]
    made = _prepared(tmp_path / "few.tsv", HeldOut(share, 3 * count, sums=(min(sums), max(sums))))
    assert made.held_out is not None
    train, held = _texts(made.examples, "source"), _texts(made.held_out, "source")
    assert train
    assert held
    assert set(train).isdisjoint(held)


def test_of_two_documents_one_is_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text("one\ntwo\n")
    made = _prepared(tmp_path / "text.txt", HeldOut(0.05, 2), shape="text")
    assert made.held_out is not None
    assert (_texts(made.examples, "target"), _texts(made.held_out, "target")) == (["one"], ["two"])


# -- labels


def test_labels_that_training_never_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.tsv").write_text("".join(f"abc\t{label}\n" for label in "xyxxzuzw"))
    encoder = ClassEncoder(Vocabulary.train(Characters(), ["abc"]), Labels(["x", "y"]))
    for _ in range(2):  # from the cache too
        made = _prepared(tmp_path / "a.tsv", shape="classes", encoder=encoder)
        assert (made.labels.known, made.labels.unseen, made.labels.names[0]) == (4, 4, "z")
    targets = made.examples.read([0])[0].columns["target"].values_N.tolist()
    assert targets == [0, 1, 0, 0, UNSEEN, UNSEEN, UNSEEN, UNSEEN]


# -- too long


@pytest.mark.parametrize("how", ["skip", "truncate"])
def test_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.tsv").write_text("abc\tx\nabcd\ty\na\tuvwxyz\nb\tz\n")
    made = _prepared(tmp_path / "a.tsv", fit=Fit(longest=3, too_long=how))
    assert made.too_long == 2
    pairs = list(zip(_texts(made.examples, "source"), _texts(made.examples, "target"), strict=True))
    if how == "skip":
        assert pairs == [("abc", "x"), ("b", "z")]
        assert Examples.join(made.examples.read([0])).line_B.tolist() == [1, 4]
    else:
        assert pairs == [("abc", "x"), ("abc", "y"), ("a", "uvw"), ("b", "z")]
    again = _prepared(tmp_path / "a.tsv", fit=Fit(longest=3, too_long=how))
    assert again.too_long == 2  # known from the cache too


def test_sources_have_a_limit_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.tsv").write_text("abcdef\tx\nabcd\tuvwxyz\nb\tz\n")
    made = _prepared(tmp_path / "a.tsv", fit=Fit(longest=3, too_long="truncate", longest_source=5))
    pairs = list(zip(_texts(made.examples, "source"), _texts(made.examples, "target"), strict=True))
    assert pairs == [("abcde", "x"), ("abcd", "uvw"), ("b", "z")]
    assert made.too_long == 2


def test_bad_lines_are_counted_from_the_cache_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.tsv").write_text("a\tb\nbad\nc\td\n")
    for _ in range(2):
        made = _prepared(tmp_path / "a.tsv", fit=Fit(bad="skip"))
        assert made.skipped.total == 1
        assert "a.tsv:2" in next(iter(made.skipped.lines()))


def test_places_have_the_name_that_the_file_has_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    for name in ("old", "new"):
        (tmp_path / f"{name}.a").write_text("a\n\nc\n")
        (tmp_path / f"{name}.b").write_text("\n\nd\n")
        files = tuple(str(tmp_path / f"{name}.{end}") for end in "ab")
        corpus = Corpus(files=files)
        made = prepare(corpus, "pairs", Letters("source", "target"), Fit(bad="skip"), [])
        assert made.skipped.places == {
            "the target is empty": (f"{files[1]}:1",),
            "both sides empty": (f"{files[0]}:2",),
        }
    assert _folders(tmp_path) == 1


def test_nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.tsv").write_text("abcd\tx\n")
    made = _prepared(tmp_path / "a.tsv", fit=Fit(longest=3))
    assert (len(made.examples), made.too_long) == (0, 1)
    assert made.examples.rows.dtype == np.int64
