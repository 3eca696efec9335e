"""What a demo shows, for answers that are made up."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from seqloom.jobs.demo import Answer, Looked, Shown
from seqloom.jobs.demo_page import digit_picture, show
from seqloom.jobs.demos import Example, Name
from seqloom.jobs.trained import Trained

LANGUAGES = ("en", "de", "fr", "ja", "he", "ru", "fi", "it", "pl", "ko")


def answers(right: int, wrong: int = 0) -> list[Answer]:
    def example(number: int) -> Example:
        return Example(f"day {number}", f"2000-01-{number % 30 + 1:02}", LANGUAGES[number % len(LANGUAGES)])

    said = [Answer(example(number), "1999-01-01", False) for number in range(wrong)]
    return said + [Answer(example(n), example(n).target, True) for n in range(wrong, wrong + right)]


def shown(
    folder: Path, answers: list[Answer], name: Name = "dates", looked: Looked | None = None, new: bool = True
) -> Shown:
    trained = SimpleNamespace(run=SimpleNamespace(path=folder), place=SimpleNamespace(step=1234))
    files = {split: folder / "data" / f"{split}.tsv" for split in ("train", "valid", "test")}
    return Shown(name, cast(Trained, trained), files, answers, looked, new)


def text(what: Shown, width: int = 80, terminal: bool = False, colours: bool = False) -> str:
    file = io.StringIO()
    system = "standard" if colours else None
    show(what, Console(file=file, width=width, force_terminal=terminal, color_system=system))  # type: ignore[arg-type]
    return file.getvalue()


def test_the_result(tmp_path: Path) -> None:
    first = text(shown(tmp_path, answers(39, 1))).split("\n")[0]
    assert first == "97.5 % of 40 dates that it never saw are right (39), after 1,234 steps"
    again = text(shown(tmp_path, answers(39, 1), new=False)).split("\n")[0]
    assert again == first + " (trained before; --force starts anew)"


def test_one_wrong_of_many_is_not_all(tmp_path: Path) -> None:
    assert text(shown(tmp_path, answers(2999, 1))).startswith(
        "99.9 % of 3,000 dates that it never saw are right (2,999)"
    )
    assert text(shown(tmp_path, answers(3000))).startswith("100.0 % of 3,000")


def samples(page: str) -> list[str]:
    return [line for line in page.split("\n") if line.startswith("  ") and " → " in line]


def test_ten_samples_and_the_wrong_ones_say_what_is_right(tmp_path: Path) -> None:
    lines = samples(text(shown(tmp_path, answers(50, 6))))
    assert len(lines) == 10
    assert [line.split("wrong: ")[1] for line in lines if "wrong" in line] == ["2000-01-01", "2000-01-02", "2000-01-03"]
    assert len(samples(text(shown(tmp_path, answers(4))))) == 4


def test_samples_are_of_many_slices(tmp_path: Path) -> None:
    many = [Answer(Example(f"{n}", "x", "en"), "x", True) for n in range(100)]
    one = Answer(Example("the other", "x", "de"), "x", True)
    assert any("the other → x" in line for line in samples(text(shown(tmp_path, [*many, one]))))


def test_answers_stand_below_each_other_in_any_script(tmp_path: Path) -> None:
    sources = ("2026年4月2日", "25 ביוני 1983", "9 mai", "३१/१/४५")
    page = text(shown(tmp_path, [Answer(Example(source, "x", source), "x", True) for source in sources]))
    assert len({cell_len(line.partition(" → ")[0].replace("\u200e", "")) for line in samples(page)}) == 1
    assert "ביוני 1983\u200e" in page


def test_slices_worst_first(tmp_path: Path) -> None:
    said = [*answers(100), Answer(Example("a", "b", "en"), "c", False), Answer(Example("a", "b", "it"), "c", False)]
    said += [Answer(Example("d", "b", "it"), "c", False)]
    lines = text(shown(tmp_path, said)).split("\n")
    place = lines.index("where it errs, worst language first")
    assert [line.split() for line in lines[place + 1 : place + 3]] == [
        ["it", "83.3", "%", "10", "of", "12"],
        ["en", "90.9", "%", "10", "of", "11"],
    ]
    assert lines[place + 3] == "  all right: de, fi, fr, he, ja, ko, pl, ru"


def test_many_slices_are_told_in_short(tmp_path: Path) -> None:
    said = [Answer(Example(f"{number}", "x", f"slice {number}"), "y", False) for number in range(30)]
    page = text(shown(tmp_path, said))
    assert "  and 18 more, each at least 0.0 % right" in page
    assert "all right" not in page


def test_nothing_is_wrong(tmp_path: Path) -> None:
    page = text(shown(tmp_path, answers(100)))
    assert "where it errs" not in page
    assert "all right: de, en" in page


def test_a_terminal_has_a_table_and_colours_and_a_pipe_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    what = shown(tmp_path, answers(30, 3))
    assert "─────" in text(what, terminal=True)
    assert "\x1b[31m" in text(what, terminal=True, colours=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in text(what, terminal=True, colours=True)
    assert not {"─", "\x1b"} & set(text(what))


def test_attention_in_the_terminal_and_as_a_file(tmp_path: Path) -> None:
    answer = answers(1)[0]
    page = text(shown(tmp_path, [answer], looked=Looked(answer, torch.eye(3), ["2", "0", "∎"], ["d", "a", "y"])))
    assert "  d a y\n2 ██\n0   ██\n∎     ██\n" in page
    assert f"the same as a picture: {tmp_path / 'attention.svg'}\n" in page
    ET.parse(tmp_path / "attention.svg")


@pytest.mark.parametrize("name", ["dates", "numbers", "phonemes"])
def test_what_to_type_next(tmp_path: Path, name: Name) -> None:
    page = text(shown(tmp_path, answers(1), name))
    assert f"  seqloom predict {tmp_path} " in page
    assert f"  seqloom recipes demo-{name} " in page
    assert f"  seqloom train demo-{name} --data {tmp_path / 'data' / 'train.tsv'} --out runs/mine" in page
    assert f"seqloom demo {name}" not in page


def test_pictures_of_digits(tmp_path: Path) -> None:
    source = " ".join(["0"] * 8 + ["16", "8", "4"] + ["0"] * 53)
    lines = digit_picture(source)
    assert [len(line) for line in lines] == [16] * 8
    assert lines[1].startswith("██▒▒░░  ")
    said = [Answer(Example(source, "7", "7"), "7", True), Answer(Example(source, "4", "4"), "9", False)]
    page = text(shown(tmp_path, said, "digits"))
    assert "██▒▒░░            ██▒▒░░\n" in page
    assert "→ 7               → 9  wrong: 4\n" in page
