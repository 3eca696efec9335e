"""A file is forecast without being asked only where it is clearly a series in time."""

from pathlib import Path

import pytest

from seqloom.data.settings import Corpus
from seqloom.jobs.deciding.series_choice import looks_like_series, suited
from tests.jobs.series import write_series


def corpus(path: Path, text: str, **how: object) -> Corpus:
    path.write_text(text, encoding="utf-8")
    return Corpus.model_validate({"files": (str(path),), **how})


DAYS = "".join(f"2024-01-{day:02},{day},{day * day}\n" for day in range(1, 29))


def test_times_and_numbers_are_a_series(tmp_path: Path) -> None:
    assert looks_like_series(corpus(tmp_path / "a.csv", "date,a,b\n" + DAYS))
    assert looks_like_series(corpus(tmp_path / "b.tsv", ("when,a,b\n" + DAYS).replace(",", "\t")))
    names = "".join(f"2024-01-{day:02},{'north' if day % 2 else 'south'},{day}\n" for day in range(1, 29))
    assert looks_like_series(corpus(tmp_path / "c.csv", "date,shop,a\n" + names))
    seconds = "".join(f"{1700000000 + 60 * minute},{minute}\n" for minute in range(20))
    assert looks_like_series(corpus(tmp_path / "d.csv", "timestamp,a\n" + seconds))


@pytest.mark.parametrize(
    "text",
    [
        "date,a,b\n" + DAYS.replace("2024-01-07", "2024-13-41"),
        "date,a\n",
        "date,a\n2024-01-01,1\n",
        "Date,a\n" + "".join(f"{day}th May 24,1\n" for day in range(4, 21)),
        'date,a\n2024-01-01,"1,234.5"\n',
    ],
    ids=["a bad date", "a header alone", "one row", "times that nobody reads", "parted thousands"],
)
def test_a_series_with_a_fault_is_one(tmp_path: Path, text: str) -> None:
    """So that the fault is told, and not taken for pairs."""
    assert looks_like_series(corpus(tmp_path / "a.csv", text))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("source,target\n" + "the cat,die Katze\n" * 20, {}),
        ("date,spoken\n" + "2024-01-01,the first of January\n" * 20, {}),  # pairs of dates
        ("date,text,label\n" + "2024-01-01,good film,pos\n" * 20, {}),
        ("date,label,x\n" + "2024-01-01,walk,1.5\n" * 20, {}),  # what a whole series is
        ("a,b\n" + "1,2\n" * 20, {}),
        ("2024-01-01,1\n2024-01-02,2\n2024-01-03,2\n2024-01-04,2\n2024-01-05,2\n2024-01-06,1\n", {}),
        ("date,a,b\n" + DAYS, {"source": "a", "target": "b"}),
        ("when,a\n2024-01-01,1\n", {}),  # too few to tell
        ("day,Tag\nmonth,Monat\n", {}),  # a dictionary
        ("time,stars\n" + "".join(f"text about thing {i},{i % 5}\n" for i in range(20)), {}),  # prose
        ("day,number\n" + "Montag,0\nDienstag,1\n" * 20, {}),
        ("day,number\n" + "".join(f"Tag{chr(97 + i)},{i}\n" for i in range(20)), {}),  # no digit
        ("week,number\n" + "w1,0\nw2,1\n" * 20, {}),  # the same again and again
        ("", {}),
    ],
)
def test_other_files_are_not(tmp_path: Path, text: str, how: dict[str, object]) -> None:
    assert not looks_like_series(corpus(tmp_path / "a.csv", text, **how))


def test_look_back_and_horizon_suit_the_steps(tmp_path: Path) -> None:
    hours = Corpus(files=(str(write_series(tmp_path / "h.csv", steps=2000)),))
    assert dict(suited(hours)) == {"horizon": 24, "look_back": 336}
    few = Corpus(files=(str(write_series(tmp_path / "f.csv", steps=100)),))
    assert dict(suited(few)) == {"horizon": 5, "look_back": 25}
    shops = Corpus(files=(str(write_series(tmp_path / "s.csv", steps=100, shops=("a", "bb", "ccc"))),))
    assert dict(suited(shops)) == {"horizon": 5, "look_back": 25}  # of one series, not of all together
