"""Each oddity is found where it was planted, and nothing in clean data."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqloom.data.check import Finding, Lengths, Place, Report, check, render
from seqloom.data.check.numbers import LengthCounts, Ratios
from seqloom.data.check.repeats import disagreements, first_of, hashes_of, joined, repeats, seen
from seqloom.data.check.series import contents
from seqloom.data.reading import Shape
from seqloom.data.settings import corpora_of
from tests.data.reading.examples import packed, write

WORDS = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]


def clean(count: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    sentences = {" ".join(rng.choices(WORDS, k=rng.randint(6, 12))): None for _ in range(2 * count)}
    return [(text, text.upper()) for text in list(sentences)[:count]]


def tsv(path: Path, pairs: list[tuple[str, ...]]) -> str:
    return write(path, "".join("\t".join(pair) + "\n" for pair in pairs))


def checked(*files: str, valid: str = "", test: str = "", shape: Shape = "pairs", **settings: Any) -> Report:
    others = [corpora_of([name]) if name else () for name in (valid, test)]
    return check(corpora_of(files), *others, shape=shape, **settings)


def finding(report: Report, words: str) -> Finding:
    found = [finding for finding in report.findings if words in finding.title]
    assert len(found) == 1, [finding.title for finding in report.findings]
    return found[0]


def test_nothing_in_clean_data(tmp_path: Path) -> None:
    pairs = clean(3_000)
    report = checked(
        tsv(tmp_path / "a.tsv", pairs[:2_500]),
        valid=tsv(tmp_path / "b.tsv", pairs[2_500:2_800]),
        test=tsv(tmp_path / "c.tsv", pairs[2_800:]),
    )
    assert report.findings == []
    assert not report.faulty
    assert [statistics.examples for statistics in report.statistics] == [2_500, 300, 200]
    lengths = report.statistics[0].lengths["source"][1]
    assert (lengths.unit, lengths.longest) == ("words", 12)
    assert lengths.half in (8, 9, 10)
    assert lengths.most == 12
    assert render(report).endswith("\n0 faults, 0 warnings, 0 notes\n")


@pytest.mark.parametrize(
    ("odd", "severity", "title", "where"),
    [
        (("", "leer"), "fault", "the source is empty", 51),
        (("nur eine",), "fault", "too few columns", 51),
        (("", ""), "note", "blank line", 51),
        (("schöne Grüße", "schÃ¶ne GrÃ¼ÃŸe"), "warning", "target: text that was probably decoded", 51),
        (("it’s", "itâ€™s so"), "warning", "target: text that was probably decoded", 51),
        (("Ð¿Ñ€Ð¸Ð²ÐµÑ‚ ein", "EIN"), "warning", "source: text that was probably decoded", 51),
        (("gr\ufffdn", "GRÜN"), "warning", "source: replacement characters", 51),
        (("a\x07b", "A B"), "warning", "source: control characters", 51),
        (("a\u2028b", "A B"), "warning", "source: control characters", 51),
        (("a\u200bb", "A B"), "note", "source: invisible characters", 51),
        (("eins ", "EINS"), "note", "source: spaces at the begin or end", 51),
        (("eins", " EINS"), "note", "target: spaces at the begin or end", 51),
        (("a\u00a0b", "A B"), "note", "source: no-break spaces", 51),
        (("zwei ma@@ les", "ZWEI"), "warning", "source: cut into pieces already", 51),
        (("zwei", "▁ZWEI ▁MA LES"), "warning", "target: cut into pieces already", 51),
        (("gleich", "gleich"), "warning", "source and target are the same", 51),
        (("kurz", "SEHR LANG " * 20 + "X"), "warning", "one side is far longer", 51),
        (("привет мир", "HALLO WELT"), "warning", "source: no Latin letter", 51),
        (("x " * 40 + "x", "X " * 40 + "X"), "warning", "source: longer than 20 words", 51),
    ],
)
def test_what_is_planted_is_found(tmp_path: Path, odd: tuple[str, ...], severity: str, title: str, where: int) -> None:
    pairs: list[tuple[str, ...]] = [*clean(200)]
    pairs.insert(50, odd)
    name = tsv(tmp_path / "a.tsv", pairs)
    report = checked(name, longest=20)
    found = finding(report, title)
    assert (found.severity, found.count, found.part) == (severity, 1, "training")
    assert found.share == pytest.approx(1 / 200, rel=0.02)
    assert [place.where for place in found.places] == [f"{name}:{where}"]
    assert report.faulty == (severity == "fault")


@pytest.mark.parametrize("text", ["NÃO SÃO", "ÂNGULO", "Ñandú ÑÑ", "Schöne Grüße – ‚ja‘", "Ðe"])
def test_letters_that_only_look_odd(tmp_path: Path, text: str) -> None:
    report = checked(tsv(tmp_path / "a.tsv", [*clean(20), (text, text + " JA")]))
    assert not [finding.title for finding in report.findings if "decoded" in finding.title]


def test_words_are_between_white_space_of_any_kind(tmp_path: Path) -> None:
    name = write(tmp_path / "a.txt", "one\ttwo\u3000three\n    indented  line\nx\n")
    lengths = checked(name, shape="text").statistics[0].lengths["text"][1]
    assert (lengths.unit, lengths.total, lengths.longest) == ("words", 6, 3)


def test_repeats_and_disagreements(tmp_path: Path) -> None:
    pairs: list[tuple[str, ...]] = [*clean(5_000)]
    source, target = pairs[2]
    pairs += [(source, target), ("neu", "NEU"), (source, "anders"), (source, target)]
    name = tsv(tmp_path / "a.tsv", pairs)
    report = checked(name)
    again = finding(report, "the same example again")
    assert again.count == 2
    assert [place.where for place in again.places] == [f"{name}:5001, as {name}:3", f"{name}:5004, as {name}:3"]
    assert source.startswith(again.places[0].text.rstrip("…"))
    other = finding(report, "the same source with another target")
    assert (other.count, other.places[0].where) == (1, f"{name}:5003, as {name}:3")


def test_repeats_across_corpora_of_a_part(tmp_path: Path) -> None:
    one, two = tsv(tmp_path / "a.tsv", clean(10)), tsv(tmp_path / "b.tsv", clean(10)[4:6])
    again = finding(checked(one, two), "the same example again")
    assert [place.where for place in again.places] == [f"{two}:1, as {one}:5", f"{two}:2, as {one}:6"]
    assert again.places[0].text == clean(10)[4][0]


@pytest.mark.parametrize(
    ("file", "content", "sortable"),
    [
        ("a.tsv", "{0}\t{1}\n{0}\t{1}\n", True),
        ("a.jsonl", '{{"source": "{0}", "target": "{1}"}}\n{{"source": "{0}", "target": "{1}"}}\n', True),
        ("b.tsv", "source\ttarget\n{0}\t{1}\n{0}\t{1}\n", False),
        ("a.csv", '"{0}\n{0}",{1}\n"{0}\n{0}",{1}\n', False),
    ],
)
def test_lines_are_sorted_only_where_each_is_an_example(
    tmp_path: Path, file: str, content: str, sortable: bool
) -> None:
    again = finding(checked(write(tmp_path / file, content.format(*clean(1)[0]))), "the same example again")
    how = ", for example with sort -u" if sortable else ""
    assert again.remedy == f"remove them{how}, unless they are meant"


def test_two_files_and_packed_ones_are_not_sorted(tmp_path: Path) -> None:
    one, two = write(tmp_path / "a.de", "das Haus\n" * 2), write(tmp_path / "a.en", "the house\n" * 2)
    gz = write(tmp_path / "a.tsv.gz", packed(b"das Haus\tthe house\n" * 2, "gzip"))
    plain = tsv(tmp_path / "b.tsv", clean(9))
    for files in (one, two), (gz,), (plain, gz):
        assert "sort" not in finding(checked(*files), "the same example again").remedy


def test_leaks(tmp_path: Path) -> None:
    pairs = clean(1_000)
    train = tsv(tmp_path / "a.tsv", pairs[:600])
    valid = tsv(tmp_path / "b.tsv", [*pairs[600:800], (pairs[7][0], "ANDERS ALS DORT")])
    test = tsv(tmp_path / "c.tsv", [*pairs[790:1_000], *pairs[:2]])
    report = checked(train, valid=valid, test=test)
    few = [f for f in report.findings if f.part == "validation" and "in the training data as well" in f.title]
    assert [(f.severity, f.count, f.places[0].where) for f in few] == [("warning", 1, f"{valid}:201")]
    many = [f for f in report.findings if f.part == "test" and "in the validation data as well" in f.title]
    assert [(f.severity, f.count) for f in many] == [("fault", 10)]
    assert many[0].places[0].where == f"{test}:1"
    assert report.faulty


def test_files_that_cannot_be_read_do_not_end_it(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.en", "a\nb\n"), write(tmp_path / "a.de", "x\n")
    gone = str(tmp_path / "gone.tsv")
    report = check(
        [*corpora_of([source, target]), *corpora_of([gone]), *corpora_of([tsv(tmp_path / "b.tsv", clean(9))])]
    )
    titles = [found.title for found in report.findings if found.severity == "fault"]
    assert any(f"{target}:2: no such line" in title for title in titles)
    assert any(f"{gone}: no such file" in title for title in titles)
    assert report.statistics[0].examples == 9


def test_wrong_encoding_is_a_fault(tmp_path: Path) -> None:
    name = write(tmp_path / "a.tsv", b"a\tb\nK\xe4se\tcheese\nc\td\n")
    found = finding(checked(name), "not UTF-8 text")
    assert (found.severity, found.places[0].where) == ("fault", f"{name}:2")


def test_places_of_aligned_files_name_the_right_one(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.en", "eins\nzwei\n"), write(tmp_path / "a.de", "EINS\nZWEI \n")
    assert finding(checked(source, target), "target: spaces").places[0].where == f"{target}:2"


def test_tokens_of_a_vocabulary(tmp_path: Path) -> None:
    def letters(texts: Any) -> tuple[list[int], list[int]]:
        return [len(text) for text in texts], [text.count("z") for text in texts]

    name = tsv(tmp_path / "a.tsv", [("azz", "b"), ("aaaaaaaa", "b" * 9)])
    report = checked(name, longest=8, measures=[letters, letters])
    assert finding(report, "source: unknown tokens").places[0].where == f"{name}:1"
    assert finding(report, "target: longer than 8 tokens").count == 1
    assert report.statistics[0].unknown == {"source": 2 / 11, "target": 0.0}
    assert "source: 18.18% of the tokens are unknown" in render(report)
    with pytest.raises(ValueError, match="1 measures for 2 fields"):
        checked(name, measures=[letters])


def test_labels(tmp_path: Path) -> None:
    train = tsv(tmp_path / "a.tsv", [("sehr gut", "+"), ("schlecht", "-"), ("sehr gut", "-")])
    valid = tsv(tmp_path / "b.tsv", [("geht so", "0"), ("nun ja", "+")])
    report = checked(train, valid=valid, shape="classes")
    assert report.statistics[0].labels == 2
    assert finding(report, "the same text with another label").severity == "warning"
    new = finding(report, "labels that are not in the training data")
    assert (new.count, new.places[0].where) == (1, "0")


def test_tags_and_texts(tmp_path: Path) -> None:
    name = write(tmp_path / "a.conll", "das\tDET\nHaus\tNOUN\n\ndas\tDET\nHaus\tNOUN\n")
    report = checked(name, shape="tags")
    assert finding(report, "the same example again").places[0].text == "das Haus"
    assert report.statistics[0].labels == 2
    report = checked(write(tmp_path / "a.txt", "eins\nzwei\neins\n"), shape="text")
    assert finding(report, "the same example again").count == 1


def test_lines_of_running_text_are_no_examples(tmp_path: Path) -> None:
    """Speakers and blank lines come again in any play; what is the same is told by longer passages."""
    lines = [line for text, _ in clean(200) for line in ("KING:", text, "")]
    train = write(tmp_path / "a.txt", "\n".join(lines[:450]))
    own = write(tmp_path / "b.txt", "\n".join(lines[450:]))
    assert checked(train, valid=own, shape="text", running=True).findings == []
    assert checked(train, valid=own, shape="text").faulty
    mixed = write(tmp_path / "c.txt", "\n".join([*lines[450:], *lines[90:120]]))
    leaked = finding(checked(train, valid=mixed, shape="text", running=True), "the text is in the training data as")
    assert leaked.severity == "fault"
    assert leaked.places[0].where == f"{tmp_path / 'c.txt'}:150", "a blank line goes before both"
    assert 20 < leaked.count < 30  # the last lines have too little behind them
    ends = [
        write(tmp_path / f"{name}.txt", "\n".join([*some, "THE END"]))
        for name, some in (("d", lines[:450]), ("e", lines[450:]))
    ]
    assert checked(ends[0], valid=ends[1], shape="text", running=True).findings == [], "all books end alike"


def test_lines_that_were_drawn_from_running_text(tmp_path: Path) -> None:
    """They have other neighbours than there; where a whole piece is the same, its passages tell it, and once."""
    lines = [line for text, _ in clean(200) for line in ("KING:", f"{text} and so on and on", "")]
    train = write(tmp_path / "a.txt", "\n".join(lines))
    drawn = write(tmp_path / "b.txt", "\n".join(lines[1:450:9]))
    found = checked(train, valid=drawn, shape="text", running=True)
    (leak,) = found.findings
    assert (leak.severity, leak.title, leak.count) == ("fault", "lines are in the training data as well", 50)
    assert leak.places[0].text[:40] == lines[1][:40]
    assert leak.remedy.startswith("keep a whole piece of the text apart")
    piece = write(tmp_path / "c.txt", "\n".join(lines[90:300]))
    (leak,) = checked(train, valid=piece, shape="text", running=True).findings
    assert leak.title == "the text is in the training data as well"
    own = write(tmp_path / "d.txt", "\n".join([*lines[1:200:9], *(f"{text} and never again" for text, _ in clean(30))]))
    assert checked(train, valid=own, shape="text", running=True).findings == [], "fewer than half of the lines"


def test_progress(tmp_path: Path) -> None:
    name = tsv(tmp_path / "a.tsv", [*clean(5_000)])
    told: list[int] = []
    checked(name, progress=told.append)
    assert len(told) > 1
    assert sum(told) == Path(name).stat().st_size


def test_as_text(tmp_path: Path) -> None:
    name = tsv(tmp_path / "a.tsv", [*clean(3), ("", "leer")])
    text = render(checked(name))
    assert text.startswith("training: 3 examples, 1 left out\n  source: ")
    fault = (
        f"FAULT: training: the source is empty: 1\n    {name}:4\n    "
        "→ mend them, or have them left out by train --skip-bad"
    )
    assert f"\n{fault}\n" in text
    assert text.endswith("\n1 fault, 0 warnings, 0 notes\n")


def test_hashes_find_what_sets_find() -> None:
    rng = random.Random(1)
    sources = [rng.choice("abcdef") for _ in range(50)]
    targets = [rng.choice("xyz") for _ in range(50)]
    pairs = list(zip(sources, targets, strict=True))
    hashes = joined(hashes_of(sources), hashes_of(targets))
    again = repeats(hashes)
    assert again.tolist() == [n for n in range(50) if pairs[n] in pairs[:n]]
    assert [first_of(hashes, n) for n in again] == [pairs.index(pairs[n]) for n in again]
    other = disagreements(hashes_of(sources), hashes)
    assert other.tolist() == [n for n in range(50) if sources[n] in sources[:n] and pairs[n] not in pairs[:n]]
    known = np.sort(hashes_of(sources[:10]))
    assert seen(hashes_of(sources), known).tolist() == [source in sources[:10] for source in sources]
    assert not seen(hashes, np.empty(0, np.int64)).any()
    assert len(repeats(np.empty(0, np.int64))) == 0


def test_what_is_odd_depends_on_how_much_ratios_vary() -> None:
    spread = np.exp(np.random.default_rng(0).normal(0, 0.4, 2_000))
    sources = np.full(2_002, 1_000)
    # e² lies within six deviations, e⁴ does not
    targets = np.concatenate([spread * 1_000, [1_000 * np.exp(2), 1_000 * np.exp(4)]]).astype(np.int64)
    ratios = Ratios()
    ratios.add(sources, targets, lambda at: Place(str(at)), 5)
    assert ratios.odd(5) == (1, [Place("2001")])
    steady = Ratios()
    steady.add(sources, np.where(np.arange(2_002) < 2_000, 1_000, targets), lambda at: Place(str(at)), 5)
    assert steady.odd(5) == (2, [Place("2001"), Place("2000")])


def test_places_of_equal_ratios_are_not_compared() -> None:
    """Of more blocks than one, of each of which some are kept."""
    ratios, alike = Ratios(), np.full(50, 5)
    for block in range(20):
        ratios.add(alike, alike, lambda at, block=block: Place(str(50 * block + at)), keep=3)
    ratios.add(np.array([5, 5]), np.array([500, 500]), lambda at: Place(str(2000 + at)), keep=3)
    count, oddest = ratios.odd(3)
    assert (count, {place.where for place in oddest}) == (2, {"2000", "2001"})


def test_shares_of_what_is_left_out_are_of_all_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes(b"a b\tb a\n" + "grün\tgrün\n".encode("latin-1") * 3)
    (fault,) = (one for one in check(corpora_of([str(file)])).findings if one.title == "not UTF-8 text")
    assert (fault.count, fault.share) == (3, 0.75)
    assert fault.remedy.startswith(
        "convert the file, e.g. iconv -f cp1252 -t utf-8, or have them left out by train --skip-bad"
    )


def test_long_texts_are_counted_as_long_as_they_are() -> None:
    """Lines of a whole book each: beyond what is counted length by length."""
    counts = LengthCounts("characters")
    counts.add(np.array([116_583]))
    assert counts.summary() == Lengths("characters", 116_583, 116_583, 116_583, 116_583)
    counts.add(np.array([7, 65_536, 65_537, 200_000]))
    assert counts.summary() == Lengths("characters", 65_537, 200_000, 200_000, 447_663)
    counts.add(np.array([7] * 95))
    assert counts.summary() == Lengths("characters", 7, 116_583, 200_000, 448_328)


def test_grey_pictures_are_known_again_where_they_are_read_in_colours() -> None:
    grey = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    coloured = np.repeat(grey, 3, -1)
    assert contents([grey]) == contents([coloured])
    coloured[0, 0, 1] = 9
    assert contents([grey]) != contents([coloured])


def test_readings_that_are_too_large(tmp_path: Path) -> None:
    rows = "".join(f'{{"values": [1, {value}], "label": "a"}}\n' for value in (2, "1e300"))
    file = tmp_path / "a.jsonl"
    file.write_text(rows)
    text = render(checked(str(file), shape="series"))
    assert text.startswith("training: 2 examples, 1 different label\n")
    assert f"FAULT: training: values: readings beyond 1e+30: 1\n    {file}:2 " in text
    assert "→ give them in another unit, or have them left out by train --skip-bad\n" in text


def test_labels_that_look_alike_are_told(tmp_path: Path) -> None:
    pairs = [(text, ("Pos", "pos", "neg", "caf\u00e9", "cafe\u0301")[at % 5]) for at, (text, _) in enumerate(clean(50))]
    found = finding(checked(tsv(tmp_path / "a.tsv", pairs), shape="classes"), "labels that differ only by case")
    assert found.count == 40
    assert [place.where for place in found.places] == ["'Pos', 'pos'", "'cafe\u0301', 'caf\u00e9'"]
    others = checked(
        tsv(tmp_path / "b.tsv", [(text, "ab"[at % 2]) for at, (text, _) in enumerate(clean(50))]), shape="classes"
    )
    assert not any("differ only" in one.title for one in others.findings)
