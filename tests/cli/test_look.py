"""`seqloom look`: files for people who have no server."""

from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.looking.table import table_input
from tests.cli.run import run
from tests.jobs.asked_runs import Runs
from tests.jobs.series import write_forecaster, write_series


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_its_help_has_an_example() -> None:
    said = run("look", "--help")
    assert said.code == 0
    assert 'seqloom look runs/demo-dates "3 Mai 2024" -o look.html' in said.out


def test_a_page(runs: Runs) -> None:
    said = run("look", str(runs["pairs"]), "abc", "fed", "--device", "cpu")
    assert (said.code, said.out) == (0, "look.html\n"), said.error
    assert "abc" in Path("look.html").read_text(encoding="utf-8")


def test_pictures_alone(runs: Runs) -> None:
    said = run("look", str(runs["pairs"]), "abc", "--svg", "a.svg", "--png", "a.png", "--head", "1")
    assert (said.code, said.out) == (0, "a.svg\na.png\n"), said.error
    assert not Path("look.html").exists()
    assert "head 1" in Path("a.svg").read_text(encoding="utf-8")


def test_nothing_is_written_over_unless_asked(runs: Runs) -> None:
    for name in "a.html", "a.svg", "a.png":
        Path(name).write_text("mine", encoding="utf-8")
        option = "-o" if name == "a.html" else f"--{name[2:]}"
        said = run("look", "lecture", option, name)
        assert said.code == 2
        assert f"{option} {name}: is there already; name another file, or write over it with --force" in said.error
        assert Path(name).read_text(encoding="utf-8") == "mine"
    assert run("look", "lecture", "-o", "a.html", "--force").code == 0
    assert "black cat sleeps" in Path("a.html").read_text(encoding="utf-8")


def test_the_usual_name_goes_on_counting() -> None:
    assert [run("look", "lecture").out for _ in range(3)] == ["look.html\n", "look-2.html\n", "look-3.html\n"]
    assert run("look", "lecture", "--force").out == "look.html\n"


def test_the_lecture_and_an_example_of_its_own(runs: Runs) -> None:
    assert run("look", "lecture", "-o", "a.html").out == "a.html\n"
    assert "black cat sleeps" in Path("a.html").read_text(encoding="utf-8")
    assert run("look", str(runs["tags"]), "-o", "b.html").out == "b.html\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none", "a"], "none: there is no such run"),
        (["lecture", "a", "-o", "a.pdf"], "-o a.pdf: should end in .html"),
        (["lecture", "a", "-o", "a.svg"], "-o a.svg: should end in .html; a heat map: --svg FILE"),
        (["lecture", "a", "--svg", "a.png"], "--svg a.png: should end in .svg"),
        (["lecture", "a", "-o", "no/a.html"], "-o no/a.html: no is no folder that is there"),
        (["lecture", "a", "--head", "1"], "--layer and --head: are of the heat map; name its file: --svg"),
        (["lecture", "a", "--svg", "a.svg", "--head", "5"], "--head 5: that layer has 2, 1 to 2"),
        (
            ["lecture", "a", "--longest", "5"],
            "--longest: is no option of look, but a setting: --set generation.longest=5",
        ),
        (["lecture", "a", "--font", "a.ttf"], "--font: is of a PNG; name its file: --png"),
        (["lecture", "a", "--png", "a.png", "--font", "a.ttf"], "a.ttf: is no font that can be read"),
        (["lecture", ""], "input is empty"),
    ],
)
def test_mistakes(words: list[str], message: str) -> None:
    said = run("look", *words)
    assert said.code == 2
    assert message in said.error
    assert "Traceback" not in said.error
    assert not list(Path().iterdir())


def test_what_is_shown_without_a_text_is_said(runs: Runs) -> None:
    assert (
        run("look", "lecture", "-o", "a.html").error
        == "no TEXT is given; shows an example of the lecture: 'black cat sleeps'\n"
    )
    said = run("look", str(runs["tags"]), "-o", "b.html")
    assert said.error.startswith("no TEXT is given; shows an example of the validation: '")
    assert run("look", str(runs["tags"]), "a b", "-o", "c.html").error == ""


@pytest.mark.parametrize("name", ["pairs", "tags", "classes", "text", "masked"])
def test_a_file_is_no_text(runs: Runs, name: str) -> None:
    Path("sw.csv").write_text("a\n", encoding="utf-8")
    said = run("look", str(runs[name]), "abc", "sw.csv")
    assert said.code == 2
    assert said.error.endswith(
        f'sw.csv: is a file, and look takes a text: quote one line of it, seqloom look {runs[name]} "one line"; '
        f"the whole file: seqloom predict {runs[name]} sw.csv\n"
    )
    assert not Path("look.html").exists()


def test_what_is_no_file_is_a_text(runs: Runs) -> None:
    """Also where it is too long for a file's name."""
    assert run("look", str(runs["pairs"]), "abc.csv", "abc" * 5, "-o", "a.html").code == 0
    assert run("look", str(runs["classes"]), "ab " * 200, "-o", "b.html").code == 0


def test_a_file_to_forecast(tmp_path: Path) -> None:
    data = write_series(tmp_path / "a.csv", shops=("north", "south"))
    recipe = write_forecaster(tmp_path / "recipe.toml")
    seqloom.train(recipe, data=data, out=tmp_path / "run", view="none")
    said = run("look", "run", "a.csv", "--device", "cpu")
    assert (said.code, said.out) == (0, "look.html\n"), said.error
    assert said.error == "a.csv: 2 series; shows the first, 'north'\n"
    model = seqloom.load(tmp_path / "run")
    (looked,) = model.look([table_input(model, "a.csv", lambda text: None)]).answers
    assert looked.forecast is not None
    expected = model.forecast(data)[0]
    assert looked.forecast.times == expected.times
    assert looked.forecast.point == tuple(map(tuple, expected.mean.tolist()))
    said = run("look", "run")
    assert said.error.startswith("no TEXT is given; shows an example of the validation: 24 steps of 'north', 2024-01-")
    said = run("look", "run", "b.csv")
    assert (said.code, said.error) == (2, "b.csv: there is no such file; name one, or give numbers as JSON\n")
