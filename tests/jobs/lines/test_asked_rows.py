"""Rows in: a table's rows have one answer each, whatever their cells hold."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seqloom
from seqloom.jobs.lines.answer_lines import AnswerLines
from seqloom.jobs.model import Model
from seqloom.jobs.predict import predict
from seqloom.settings import UserError
from tests.jobs.asked_runs import Runs
from tests.jobs.echo import BATCH, Echo, answered, asking

TABLE = 'id,text,label\r\n1,"ab, ""c""",x\r\n2,"d\ne",y\r\n\r\n3,,z\r\n4,fg,x\r\n'
SAID = ['"c" ,ba', "e\\nd", "", "gf"]


def of_table(folder: Path, content: str | bytes, name: str = "in.csv", **more: Any) -> tuple[list[str], list[str]]:
    """The answers, and what is said of them."""
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    model, notes, out = more.pop("model", Echo()), list[str](), folder / "out.txt"
    predict(cast(Model, model), asking(folder / name, out=out, **{"force": True} | more), notes.append)
    return out.read_text().split("\n")[:-1], notes


@pytest.mark.parametrize("column", [None, 2, "text"])
def test_each_row_has_its_answer(tmp_path: Path, column: int | str | None) -> None:
    assert of_table(tmp_path, TABLE, column=column) == (SAID, [])
    assert of_table(tmp_path, gzip.compress(TABLE.encode()), "in.csv.gz", column=column) == (SAID, [])


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(tmp_path: Path, separator: str) -> None:
    assert of_table(tmp_path, "id,text,label\n1,ab,x\n".replace(",", separator))[0] == ["ba"]


def test_the_column_of_a_number_is_that_of_the_row(tmp_path: Path) -> None:
    assert of_table(tmp_path, TABLE, column=3)[0] == ["x", "y", "z", "x"]


def test_which_column_is_not_clear(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        of_table(tmp_path, "body,gold\nab,x\n")
    which = "which is answered? Say --column COL (a name, or a number from 1)"
    assert str(caught.value) == f"{tmp_path / 'in.csv'}:1: 2 columns (1: 'body', 2: 'gold'); {which}"
    with pytest.raises(UserError, match=r"3 columns \(1: 'text', 2: 'review', 3: 'x'\); which is answered\?"):
        of_table(tmp_path, "text,review,x\nab,cd,y\n")
    with pytest.raises(UserError, match=r"in\.csv:1: no column 'txt'; did you mean 'text'\?$"):
        of_table(tmp_path, TABLE, column="txt")
    with pytest.raises(UserError, match=r"in\.csv:1: no column 4 for the source; there are 3$"):
        of_table(tmp_path, TABLE, column=4)
    assert not (tmp_path / "out.txt.part").exists()


def test_what_the_first_row_is_taken_for(tmp_path: Path) -> None:
    place = f"{tmp_path / 'in.csv'}:1"
    names = (
        f"{place}: taken as the names of 2 columns (1: 'id', 2: 'text'); if it is to be answered, put names above it"
    )
    assert of_table(tmp_path, "id,text\n1,ab\n") == (["ba"], [names])
    row = f"{place}: answered too, as it does not look like names of columns; if it is: --column NAME"
    assert of_table(tmp_path, "ab,x\ncd,y\n", column=1) == (["ba", "dc"], [row])
    assert of_table(tmp_path, "ab\ncd\n") == (["ba", "dc"], [row])
    assert of_table(tmp_path, "ab,x\ncd,y\n", column="ab") == (["dc"], [])
    assert of_table(tmp_path, "") == ([], [])


def test_a_row_that_cannot_be_read(tmp_path: Path) -> None:
    """It is told with its line, and goes on once it is mended; or keeps its place."""
    broken = 'text,label\n"a\nb",x\nc,d,x\nef,y\n'
    what = 'expected 2 columns, found 3; quote text that holds commas, as in "a, b"'
    with pytest.raises(UserError) as caught:
        of_table(tmp_path, broken)
    kept = "(--skip-bad leaves such answers empty); what comes before it is kept"
    assert str(caught.value) == f"{tmp_path / 'in.csv'}:4: {what} {kept}"
    mended, notes = of_table(tmp_path, broken.replace("c,d", '"c,d"'), force=False)
    assert (mended, notes) == (["b\\na", "d,c", "fe"], ["goes on behind line 1"])
    said, notes = of_table(tmp_path, broken, skip_bad=True)
    assert said == ["b\\na", "", "fe"]
    assert notes[0] == f"{tmp_path / 'in.csv'}:4: {what}"
    nul, _ = of_table(tmp_path, b"text,label\na\0b,x\n\xe9,x\nef,y\n", skip_bad=True)
    assert nul == ["", "", "fe"]
    with pytest.raises(UserError, match=r"in\.csv:1: text behind a closing quote; a quote within quotes is"):
        of_table(tmp_path, '"a"b,c\n')


def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    rows = [f"{at}\nrow" for at in range(10 * BATCH)]
    table = "text,label\n" + "".join(f'"{row}",x\n' for row in rows)
    with pytest.raises(KeyboardInterrupt):
        of_table(tmp_path, table, model=Echo(stop=rows[30]))
    before = json.loads((tmp_path / "out.txt.part.json").read_text())["lines"]
    assert before > 0
    said, notes = of_table(tmp_path, table.replace(",x", ",y"), force=False)  # targets change no answer
    assert said == [row[::-1].replace("\n", "\\n") for row in rows]
    assert notes == [f"goes on behind line {before}"]
    assert of_table(tmp_path, table, force=False)[1] == [f"already done: {len(rows)} lines"]
    with pytest.raises(UserError, match=r"in\.csv: is not what .* answers"):
        of_table(tmp_path, table + "more,x\n", force=False)


def test_memory_stays_flat(tmp_path: Path) -> None:
    rows = [f"row {number}" for number in range(20_000)]
    tracemalloc.start()
    said, _ = of_table(tmp_path, "text,label\n" + "".join(f"{row},x\n" for row in rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said == [row[::-1] for row in rows]
    assert peak < 8_000_000  # as of lines


def test_numbers_are_those_of_rows(tmp_path: Path) -> None:
    said, _ = of_table(tmp_path, TABLE, n_best=2, lines=AnswerLines(several=True))
    assert [line.partition("\t")[0] for line in said] == list("11223344")


def test_a_name_above_tabs(tmp_path: Path) -> None:
    """A number counts as in any line, the names' too."""
    table = 'label\ttext\nx\t"ab\n\ny\tcd\n'
    assert of_table(tmp_path, table, "in.tsv", column="text") == (['ba"', "", "dc"], [])
    assert of_table(tmp_path, table, "in.tsv", column=2) == (["txet", 'ba"', "", "dc"], [])
    with pytest.raises(UserError, match=r"in\.tsv:1: no column 'txt'; did you mean 'text'\?$"):
        of_table(tmp_path, table, "in.tsv", column="txt")
    with pytest.raises(UserError, match=r"in\.tsv:3: expected 2 columns with a tab between them, found 1; mend"):
        of_table(tmp_path, "label\ttext\nx\tab\ny\n", "in.tsv", column="text")


def of_parquet(folder: Path, columns: dict[str, list[Any]], **more: Any) -> tuple[list[str], list[str]]:
    pq.write_table(pa.table(columns), folder / "table")
    return of_table(folder, (folder / "table").read_bytes(), "in.parquet", **more)


def test_parquet(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"id": [1, 2, 3], "text": ["ab", "", "c\nd"], "label": ["x", "y", "z"]}
    for column in None, 2, "text":
        assert of_parquet(tmp_path, columns, column=column) == (["ba", "", "d\\nc"], [])
    assert of_parquet(tmp_path, columns, column="label")[0] == ["x", "y", "z"]
    assert of_parquet(tmp_path, {"pair": [{"de": "ab", "en": "cd"}]}, column="en")[0] == ["dc"]
    with pytest.raises(UserError, match=r"in\.parquet: no column 'txt'; did you mean 'text'\?$"):
        of_parquet(tmp_path, columns, column="txt")
    with pytest.raises(UserError) as caught:
        of_parquet(tmp_path, {"body": ["ab"], "gold": ["x"]})
    which = "which is answered? Say --column COL (a name, or a number from 1)"
    assert str(caught.value) == f"{tmp_path / 'in.parquet'}: 2 columns (1: 'body', 2: 'gold'); {which}"
    with pytest.raises(UserError, match=r"in\.parquet: not a whole Parquet file \("):
        of_table(tmp_path, "ab\n", "in.parquet")


def test_what_parquet_holds_is_no_text(tmp_path: Path) -> None:
    said, notes = of_parquet(tmp_path, {"text": ["ab", None], "id": [1, 2]}, skip_bad=True)
    fix = "mend the row, or name another --column"
    assert (said, notes[0]) == (
        ["ba", ""],
        f"{tmp_path / 'in.parquet'}:2: the source should be text, but is missing; {fix}",
    )
    with pytest.raises(UserError, match=rf"in\.parquet:1: the source should be text, but is 1; {fix} \("):
        of_parquet(tmp_path, {"text": ["ab", None], "id": [1, 2]}, column="id")


def test_any_name_is_read_as_what_is_said(tmp_path: Path) -> None:
    assert of_table(tmp_path, TABLE, "in.txt", input="csv") == (SAID, [])
    assert of_table(tmp_path, "a,b\n", "in.csv", input="text") == (["b,a"], [])
    tabs = "label\ttext\nx\tab\n\ny\tcd\n"
    for column in None, 2, "text":
        assert of_table(tmp_path, tabs, "in.txt", input="tsv", column=column) == (["ba", "", "dc"], [])
    row = f"{tmp_path / 'in.txt'}:1: answered too, as it does not look like names of columns; if it is: --column NAME"
    assert of_table(tmp_path, "x\tab\n", "in.txt", input="tsv", column=2) == (["ba"], [row])
    with pytest.raises(UserError, match=r"in\.txt:1: 2 columns \(1: 'x', 2: 'ab'\); which is answered\? Say --column"):
        of_table(tmp_path, "x\tab\n", "in.txt", input="tsv")


def test_the_hint_says_what_it_can(tmp_path: Path) -> None:
    """Once, and with the column where it is not clear."""
    told = f"{tmp_path / 'in.txt'}: looks like CSV, and lines are read whole; one column alone: seqloom predict RUN "
    command = f"{told}{tmp_path / 'in.txt'} --input csv"
    assert of_table(tmp_path, "id,text,label\n" + "1,ab,x\n" * 3 * BATCH, "in.txt")[1] == [command]
    assert of_table(tmp_path, '"ab",x\n' * 3 * BATCH, "in.txt")[1] == [f"{command} --column COL"]
    assert of_table(tmp_path, "ab,x\n" * 3 * BATCH, "in.txt")[1] == []


def test_the_hint_of_tabs_below_names(runs: Runs, tmp_path: Path) -> None:
    notes = of_table(tmp_path, "text\tlabel\ngood film\tx\n", "in.tsv", model=seqloom.load(runs["classes"]))[1]
    command = f"seqloom predict {runs['classes']} {tmp_path / 'in.tsv'} --input tsv"
    assert f"{tmp_path / 'in.tsv'}: has tabs, and lines are read whole; one column alone: {command}" in notes


CONLL = "-DOCSTART- O\n\ngood B-X\nfilm O\n\nnot O\nso B-X\nnice I-X\n"


@pytest.mark.parametrize("name", ["in.conll", "in.txt"])
def test_sentences_with_tags(runs: Runs, tmp_path: Path, name: str) -> None:
    model = seqloom.load(runs["tags"])
    said, notes = of_table(tmp_path, CONLL, name, model=model)
    assert said == [str(answer) for answer in model.predict(["good film", "not so nice"])]
    assert notes == []


def test_sentences_of_universal_dependencies(runs: Runs, tmp_path: Path) -> None:
    model = seqloom.load(runs["tags"])
    rows = ["# text = x", *(f"{at}\t{word}" + "\t_" * 8 for at, word in enumerate(["good", "film"], 1)), "", "broken"]
    said, notes = of_table(tmp_path, "\n".join(rows), "in.conllu", model=model, skip_bad=True)
    assert said == [str(model.predict(["good film"])[0]), ""]
    assert notes[0] == f"{tmp_path / 'in.conllu'}:5: expected 10 columns, found 1; mend the sentence"


def test_lines_of_text_for_a_tagger(runs: Runs, tmp_path: Path) -> None:
    model = seqloom.load(runs["tags"])
    said, _ = of_table(tmp_path, "good film\n\nnot so\nnice\n", "in.txt", model=model)
    assert [len(tags.split()) for tags in said] == [2, 0, 2, 1]


def test_words_with_tags_for_others(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        of_table(tmp_path, CONLL, "in.conll")
    fix = "for this model write a sentence a line, as .txt"
    assert str(caught.value) == f"{tmp_path / 'in.conll'}: words with tags, which a tagger reads; {fix}"
    assert len(answered(CONLL.encode(), tmp_path)[0].splitlines()) == CONLL.count("\n")
