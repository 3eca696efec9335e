"""Tables → series of equal steps; every fault of a file with its line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from seqloom.data.reading.faults import DataError
from seqloom.data.series.columns import Wanted
from seqloom.data.series.table import SeriesTable, read_table

DAYS = "date,a,b\n2020-01-01,1,10\n2020-01-02,2,20\n2020-01-03,3,30\n"


def table(folder: Path, text: str, wanted: Wanted | None = None, name: str = "a.csv") -> SeriesTable:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return read_table(str(file), wanted or Wanted())


def test_a_table_is_one_series(tmp_path: Path) -> None:
    found = table(tmp_path, DAYS)
    assert (found.columns.time, found.columns.series, found.columns.targets) == ("date", None, ("a", "b"))
    (series,) = found.series
    np.testing.assert_array_equal(series.values_TC, [[1, 10], [2, 20], [3, 30]])
    assert series.lines_T.tolist() == [2, 3, 4]
    assert found.frequency is not None
    assert found.frequency.name == "1 day"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_packed_files(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(DAYS.replace(",", separator).encode()))
    assert read_table(str(file), Wanted()).columns.targets == ("a", "b")


def test_a_column_of_text_names_the_series(tmp_path: Path) -> None:
    text = "day,shop,sales\n" + "".join(
        f"2020-01-0{day},{shop},{day * size}\n" for day in (1, 2, 3) for shop, size in (("north", 1), ("south", 10))
    )
    found = table(tmp_path, text)
    assert found.columns.series == "shop"
    assert [series.name for series in found.series] == ["north", "south"]
    assert found.series[1].values_TC.ravel().tolist() == [10, 20, 30]
    assert found.series[1].lines_T.tolist() == [3, 5, 7]


def test_missing_values_are_said_and_stay_missing(tmp_path: Path) -> None:
    found = table(tmp_path, "date,a\n2020-01-01,1\n2020-01-02,\n2020-01-03,NaN\n2020-01-04,4\n")
    np.testing.assert_array_equal(np.isnan(found.series[0].values_TC[:, 0]), [False, True, True, False])
    assert any("of 4 steps, values are missing in a 2: masked" in note for note in found.notes)


def test_rows_that_are_not_there_are_missing_if_that_is_wished(tmp_path: Path) -> None:
    text = "date,a\n2020-01-01,1\n2020-01-02,2\n2020-01-05,5\n2020-01-06,6\n"
    told = r"a\.csv:4: 2020-01-05 00:00:00 comes behind .* 2 rows missing \(2 in all\); fill them in; .*gaps=missing"
    with pytest.raises(DataError, match=told):
        table(tmp_path, text)
    (series,) = table(tmp_path, text, Wanted(gaps="missing")).series
    np.testing.assert_array_equal(series.values_TC[:, 0], [1, 2, np.nan, np.nan, 5, 6])
    assert series.times_T[3] == np.datetime64("2020-01-04")
    assert series.lines_T.tolist() == [2, 3, 4, 4, 4, 5]


def test_rows_that_are_missing_are_counted_in_the_whole_file(tmp_path: Path) -> None:
    days = {"north": (1, 2, 4, 5, 6), "south": (1, 2, 3, 6, 7), "west": (1, 2, 3)}
    rows = [f"2020-01-0{day},{shop},1\n" for shop, own in days.items() for day in own]
    told = r"a\.csv:4: 2020-01-04 00:00:00 comes behind .* 1 row missing \(3 in all\); fill them in"
    with pytest.raises(DataError, match=told):
        table(tmp_path, "date,shop,a\n" + "".join(rows))


def test_decimal_commas_are_read_if_that_is_said(tmp_path: Path) -> None:
    text = "date;a\n2020-01-01;1,5\n2020-01-02;2,5\n"
    with pytest.raises(DataError, match=r"a\.csv:2: a: '1,5' is no number; --set task\.decimal=, reads decimal commas"):
        table(tmp_path, text)
    assert table(tmp_path, text, Wanted(decimal=",")).series[0].values_TC[:, 0].tolist() == [1.5, 2.5]
    with pytest.raises(DataError, match=r"a\.csv:3: a: '2\.500' is no number; write it without what parts the thous"):
        table(tmp_path, text.replace("2,5", "2.500"), Wanted(decimal=","))


@pytest.mark.parametrize("cell", ["12,345.6", "12.345,6", "12 345", "1,234,567", "1'234.5"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_parted_thousands_are_told(tmp_path: Path, cell: str, decimal: str) -> None:
    with pytest.raises(DataError, match=r"a\.csv:2: a: .* is no number; write it without what parts the thousands"):
        table(tmp_path, f"date;a\n2020-01-01;{cell}\n2020-01-02;{cell}\n", Wanted(decimal=decimal))


ROW = "2020-01-0{},{}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a\.csv: empty; is it the right file\?"),
        ("date,a\n", r"a\.csv: no row behind the names of the columns"),
        ("2020-01-01,1\n2020-01-02,2\n", r"a\.csv:1: a first line with the names of the columns is needed"),
        ("date,a,a\n2020-01-01,1,2\n", r"a\.csv:1: two columns are called 'a'; rename one"),
        ("date,\n2020-01-01,1\n", r"a\.csv:1: column 2 has no name"),
        ("when,a\n3,1\n4,2\n", r"a\.csv:1: which column is the time\? There are when, a; say it with --set task\.time"),
        (
            "date,a\n" + ROW.format(2, 1) + ROW.format(1, 2),
            r"a\.csv:3: 2020-01-01 00:00:00 is before 2020-01-02 00:00:00 at .*a\.csv:2; sort the file by date",
        ),
        (
            "date,a\n" + ROW.format(1, 1) + ROW.format(2, 1) + ROW.format(2, 2),
            r"a\.csv:4: the time 2020-01-02 00:00:00 stands at .*a\.csv:3 too; if there are several.* write UTC",
        ),
        (
            "date,a\n" + ROW.format(1, 1) + ROW.format(2, 1) + "2020-01-03 07:00,2\n" + "2020-01-04,1\n2020-01-05,1\n",
            r"a\.csv:4: 2020-01-03 07:00:00 is not 1 day or several behind .* resample the series to steps of 1 day",
        ),
        ("date,a\n" + ROW.format(1, 1) + ROW.format(2, "inf"), r"a\.csv:3: a: inf is no number that can be learnt"),
        (
            "date,a\n" + ROW.format(1, 1) + ROW.format(2, "-2e300"),
            r"a\.csv:3: a: -2e300 is too large to be learnt from, beyond 1e\+30; give the column in another unit",
        ),
        (
            "date,a\n" + ROW.format(1, 1) + ROW.format(2, "high"),
            r"a\.csv:3: a: 'high' is no number; leave the cell empty",
        ),
        ("date,a\n" + ROW.format(1, 1) + "2020-01-02,1,2\n", r"a\.csv:3: expected 2 columns, found 3; quote cells"),
        ("date,a\n" + ROW.format(1, 1) + "2020-01-02\n", r"a\.csv:3: expected 2 columns, found 1"),
        ('date,a\n2020-01-01,"1\n', r"a\.csv:2: a quote that begins in this row is never closed"),
        ("date,x,y,a\n2020-01-01,p,q,1\n2020-01-02,p,q,1\n", r"a\.csv:1: x, y holds text; say which columns"),
        ("date,x\n2020-01-01,p\n2020-01-02,q\n2020-01-03,r\n", r"a\.csv:1: no column of numbers beside 'date'"),
        (
            "date,s,a\n2020-01-01,p,1\n2020-01-02,p,2\n2020-01-01,q,1\n2020-01-08,q,2\n",
            r"a\.csv:4: the steps of 'q' are 1 week apart, those of 'p' 1 day",
        ),
    ],
)
def test_faults_have_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        table(tmp_path, text)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(targets=("c",)), r"a\.csv:1: no column 'c'; the columns are date, a, b"),
        (Wanted(targets=("a",), known=("a",)), r"a\.csv:1: 'a' is named twice among targets, past and known"),
        (Wanted(time="b", targets=("a",)), r"a\.csv:2: b: '10' is no time"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, wanted: Wanted, message: str) -> None:
    with pytest.raises(DataError, match=message):
        table(tmp_path, DAYS, wanted)


def test_what_is_known_ahead_has_no_holes(tmp_path: Path) -> None:
    text = "date,a,holiday\n2020-01-01,1,0\n2020-01-02,2,\n"
    with pytest.raises(DataError, match=r"a\.csv:3: holiday: has no value, and is said to be known ahead"):
        table(tmp_path, text, Wanted(targets=("a",), known=("holiday",)))


def test_columns_beside_the_targets(tmp_path: Path) -> None:
    found = table(tmp_path, DAYS, Wanted(targets=("b",), past=("a",)))
    assert found.columns.values == ("b", "a")
    assert found.series[0].values_TC[0].tolist() == [10, 1]
    assert table(tmp_path, DAYS, Wanted(targets=("b",))).columns.unused == ("a",)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.parquet: series are read from CSV or TSV; save the table as one"):
        read_table(str(tmp_path / "a.parquet"), Wanted())
