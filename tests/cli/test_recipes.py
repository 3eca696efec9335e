"""`seqloom recipes`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom.jobs.recipes import shipped, speed
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import folder
from seqloom.settings import load, loads
from seqloom.training.pace import ROWS, WIDTHS, Pace
from tests.cli.run import in_terminal, run

FILES = sorted(folder().glob("*.toml"))


def test_there_are_recipes() -> None:
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_recipe_is_listed_checked_and_printed(file: Path) -> None:
    recipe = load(file, Recipe)
    (line,) = [line for line in run("recipes").out.splitlines() if line.split()[:1] == [file.stem]]
    assert line.split()[1] == recipe.task.kind
    assert line.endswith(f"  {recipe.source}")
    assert loads(run("recipes", file.stem).out, Recipe) == recipe
    assert run("recipes", str(file)).out == run("recipes", file.stem).out


def test_set_changes_what_is_printed() -> None:
    changed = run("recipes", FILES[0].stem, "--set", "source=elsewhere")
    assert changed.out.startswith('source = "elsewhere"\n')


def test_schema() -> None:
    schema = json.loads(run("recipes", "--schema").out)
    assert {"source", "model"} <= schema["properties"].keys()


def test_speed_is_of_every_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(tuple((1e9,) * len(WIDTHS) for _ in ROWS), {"products": 1.0})
    monkeypatch.setattr(speed, "pace_here", lambda measure: pace)
    said = {line.split()[0]: line.split()[1] for line in run("recipes", "--speed").out.splitlines() if line}
    assert {file.stem for file in FILES} <= said.keys()
    assert said["transformer-base-small"].endswith("k") or float(said["transformer-base-small"]) > 0
    assert said["vit"] == "–"


@pytest.mark.parametrize("other", [["--schema"], ["transformer-base"]])
def test_speed_goes_alone(other: list[str]) -> None:
    ran = run("recipes", "--speed", *other)
    assert ran.code == 2
    assert "goes alone" in ran.error


def test_a_mistake_is_said_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FILES[0].read_text(encoding="utf-8").replace("source", "suorce", 1), encoding="utf-8")
    ran = run("recipes", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert ran.error.startswith(f"{file}:")
    assert "the top level has no setting 'suorce'; did you mean 'source'?" in ran.error


def test_a_mistake_in_set() -> None:
    ran = run("recipes", FILES[0].stem, "--set", "modle.width=3")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error == "--set modle.width=3: the top level has no setting 'modle'; did you mean 'model'?\n"


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two recipes, one of them broken, in place of the real one."""
    (tmp_path / "good.toml").write_text('source = "a paper"\n')
    (tmp_path / "broken.toml").write_text("source = \n")
    monkeypatch.setattr(shipped, "folder", lambda: tmp_path)
    return tmp_path


def test_the_list(two: Path) -> None:
    head, broken, good, *_ = run("recipes").out.splitlines()
    assert head.split() == ["recipe", "task", "parameters", "FLOPs/token", "source"]
    assert broken.split(maxsplit=1) == ["broken", "(broken: `seqloom recipes broken` says why)"]
    assert good.startswith("good")
    assert good.endswith("  a paper")


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_the_list_in_a_terminal(more: dict[str, str]) -> None:
    """Names and numbers are as in a pipe, and what a recipe is of stands below."""
    piped = [line.rsplit("  ", 1) for line in run("recipes").out.splitlines() if "  " in line]
    shown = in_terminal("recipes", columns=80, **more)
    assert max(map(len, shown)) <= 80
    for cells, source in piped[1:]:
        at = shown.index(cells)
        assert source.startswith(shown[at + 1].strip())
    assert ("\x1b[1m" in "".join(in_terminal("recipes", columns=80, escapes=True, **more))) == ("TERM" not in more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--schema", "good"), "--schema goes alone"),
        (("--set", "a=1"), "--set needs a recipe to change"),
    ],
)
def test_arguments_that_do_not_go_together(arguments: tuple[str, ...], message: str) -> None:
    ran = run("recipes", *arguments)
    assert ran.code == 2
    assert message in ran.error


def test_the_list_is_quick() -> None:
    """It loads no torch: all is counted beforehand."""
    program = """import sys; from seqloom.cli import main
sys.argv = ['seqloom', 'recipes']; main()
assert 'torch' not in sys.modules"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "transformer-base" in said
