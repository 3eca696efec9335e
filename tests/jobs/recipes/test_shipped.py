"""Recipes by name."""

from pathlib import Path

import pytest

from seqloom.jobs.recipes import shipped
from seqloom.jobs.recipes.shipped import find, folder, from_source
from seqloom.settings import SettingsError


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.toml").write_text('source = "a paper"\n')
    (tmp_path / "broken.toml").write_text("source = \n")
    monkeypatch.setattr(shipped, "folder", lambda: tmp_path)
    return tmp_path


def test_find(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("good") == two / "good.toml"
    assert find("some/where") == Path("some/where")
    assert find("my.toml") == Path("my.toml")
    monkeypatch.chdir(two)
    (two / "plain").write_text("")
    assert find("plain") == Path("plain")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("goood", "no recipe 'goood'; did you mean 'good'?"),
        ("zzz", "no recipe 'zzz'; `seqloom recipes` lists them; a file's name ends in .toml"),
    ],
)
def test_an_unknown_name(two: Path, name: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        find(name)
    assert str(caught.value) == message


def test_which_recipe_says_so() -> None:
    found = [from_source(text) for text in ("rnn-lm (Mikolov et al. 2010), for a few minutes on a CPU", "nothing")]
    assert found == [None, None]
    assert from_source("deep-att (Zhou et al. 2016), for a few minutes on a CPU") == "deep-att-small"


def test_the_folder_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "lib" / "site" / "seqloom"
    monkeypatch.setattr(shipped, "__file__", str(package / "jobs" / "recipes" / "shipped.py"))
    assert folder() == tmp_path / "lib" / "recipes"  # as in a checkout, where the package is in src/
    (package / "recipes").mkdir(parents=True)
    assert folder() == package / "recipes"
