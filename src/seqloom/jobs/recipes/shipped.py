"""The recipes that come along, by name."""

import tomllib
from pathlib import Path

from seqloom.settings import SettingsError
from seqloom.settings.words import nearest


def folder() -> Path:
    """Inside an installed package, or at the top of a checkout."""
    package = Path(__file__).parents[2]
    installed = package / "recipes"
    return installed if installed.is_dir() else package.parents[1] / "recipes"


def names() -> dict[str, Path]:
    """The recipes that come along, and their files."""
    return {file.stem: file for file in folder().glob("*.toml")}


def from_source(source: str) -> str | None:
    """The name of the recipe that says where it comes from in these words."""
    for name, file in sorted(names().items()):
        if tomllib.loads(file.read_text(encoding="utf-8")).get("source") == source:
            return name
    return None


def find(name: str) -> Path:
    """The file of a recipe, from its name or from a path. Raises SettingsError."""
    if name.endswith(".toml") or "/" in name or Path(name).is_file():
        return Path(name)
    files = names()
    if name in files:
        return files[name]
    near = nearest(name, files)
    remedy = f"did you mean {near!r}?" if near else "`seqloom recipes` lists them; a file's name ends in .toml"
    raise SettingsError(f"no recipe {name!r}; {remedy}")
