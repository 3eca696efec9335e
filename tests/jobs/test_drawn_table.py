"""Tables in terminals of any width: cells stay whole, whatever has to go below."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from seqloom.jobs.drawn_table import draw
from seqloom.jobs.table import Table

HEAD = (
    *("system", "BLEU", "95 % interval", "difference", "", "p (randomisation, two-sided)", "chrF", "perplexity ↓"),
    *("parameters", "FLOPs", "time", "tokens/s", "memory"),
)
ROWS = (
    ("plain", "63.24", "61.00 – 65.50", "", "", "", "80.10", "1.65", "77k", "6.7e11", "1 m 11 s", "24k", "394 MB"),
    ("large", "100.00", "99.25 – 100.00", "+36.76", "***", "<0.0001", "99.95", "1.00", "147k", "5.4e11", "1 m 12 s",
     "9.1k", "1.2 GB"),
)  # fmt: skip
WIDE = Table("40 examples; differences from plain", HEAD, ROWS)


def drawn(table: Table, width: int) -> list[str]:
    into = io.StringIO()
    draw(table, Console(file=into, force_terminal=True, color_system=None, width=width))
    return into.getvalue().splitlines()


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


@pytest.mark.parametrize(("width", "parts"), [(40, 5), (80, 2), (120, 2), (200, 1)])
def test_no_cell_is_broken_whatever_the_width(width: int, parts: int) -> None:
    lines = drawn(WIDE, width)
    assert lines[0] == WIDE.title
    assert max(map(cell_len, lines)) <= width
    for row in ROWS:
        found = [cells(line) for line in lines if cells(line)[0] == row[0]]
        assert len(found) == parts
        assert [cell for part in found for cell in part[1:]] == [cell for cell in row[1:] if cell]
    assert sum(set(line) == {"─"} for line in lines) == parts


def test_a_part() -> None:
    first = drawn(WIDE, 80)[1:7]
    assert first == [
        "                                                 p (randomisation,",
        "system    BLEU   95 % interval  difference              two-sided)   chrF",
        "─────────────────────────────────────────────────────────────────────────",
        "plain    63.24   61.00 – 65.50                                      80.10",
        "large   100.00  99.25 – 100.00      +36.76  ***            <0.0001  99.95",
        "",
    ]


def test_a_mark_stays_beside_its_difference() -> None:
    for width in range(20, 80):
        assert any(re.search(r"\+36\.76  \*\*\*", line) for line in drawn(WIDE, width))


def test_long_names_make_room() -> None:
    names = ("attention † news2014 en-de-and-back", "12.34"), ("日本語の機械翻訳システムの名前", "56.78")
    table = Table("", ("system", "BLEU", "another number"), tuple((*row, "90.12") for row in names))
    assert drawn(table, 40) == [
        "system                     BLEU",
        "───────────────────────────────",
        "attention † news2014      12.34",
        "en-de-and-back",
        "日本語の機械翻訳システム  56.78",
        "の名前",
        "",
        "system                    another number",
        "────────────────────────────────────────",
        "attention † news2014               90.12",
        "en-de-and-back",
        "日本語の機械翻訳システム           90.12",
        "の名前",
        "",
    ]
    assert [line.split()[0] for line in drawn(table, 29)[2:6]] == ["attention", "news2014", "en-de-and-", "back"]


def test_sentences_stand_beside_or_below() -> None:
    paper = "Vaswani et al. 2017, Attention Is All You Need, Tables 2 and 3"
    table = Table("", ("recipe", "parameters", "source"), (("base", "63M", paper), ("",) * 3), sentences=True)
    assert drawn(table, 60) == [
        "recipe  parameters  source",
        "────────────────────────────────────────────────────────────",
        "base           63M  Vaswani et al. 2017, Attention Is All",
        "                    You Need, Tables 2 and 3",
        "",
        "",
    ]
    assert drawn(table, 59) == [
        "recipe  parameters",
        "──────────────────",
        "base           63M",
        "    Vaswani et al. 2017, Attention Is All You Need, Tables",
        "    2 and 3",
        "",
        "",
    ]


def test_a_long_word_of_a_head_stays_whole() -> None:
    word = "pseudo-perplexity-of-all"
    assert drawn(Table("", ("system", f"{word} ↓"), (("a", "1.00"),)), 80)[:2] == [
        f"{' ' * 8}{word}",
        f"system{'↓':>26}",
    ]


def test_brackets_are_no_markup() -> None:
    table = Table("[bold]", ("", "[red]"), (("[i]", "1"),))
    assert drawn(table, 80) == ["[bold]", "     [red]", "──────────", "[i]      1", ""]
