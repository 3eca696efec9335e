"""`seqloom recipes`: list the recipes, check and print one, print the schema."""

import json
import tomllib
from pathlib import Path
from typing import Annotated

import typer


def recipes(
    name: Annotated[
        str | None, typer.Argument(help="A recipe's name or a TOML file. Without it, list them all.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting. May be given many times.")
    ] = None,
    as_schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON schema of recipes, for an editor to complete and check them."),
    ] = False,
) -> None:
    """List the recipes; or check one and print it with every default filled in.

    \b
    Examples:
      seqloom recipes
      seqloom recipes transformer-base --set model.width=256
      seqloom recipes my.toml
      seqloom recipes --schema > recipe.schema.json
    """
    if as_schema and (name or changes):
        raise typer.BadParameter("--schema goes alone")
    if changes and not name:
        raise typer.BadParameter("--set needs a recipe to change")
    from seqloom.jobs import recipe_file

    if not (name or as_schema):
        typer.echo(_listing(recipe_file.folder()))
        return
    file = recipe_file.find(name) if name else None
    from seqloom.jobs.recipe import Recipe
    from seqloom.settings import dump, load, schema

    if file:
        typer.echo(dump(load(file, Recipe, changes or ())), nl=False)
    else:
        typer.echo(json.dumps(schema(Recipe), indent=2, ensure_ascii=False))


def _listing(place: Path) -> str:
    """One line a recipe: its name and its source."""
    files = sorted(place.glob("*.toml"))
    width = max((len(file.stem) for file in files), default=0)
    return "\n".join(f"{file.stem:{width}}  {_source(file)}" for file in files)


def _source(file: Path) -> str:
    try:
        return str(tomllib.loads(file.read_text(encoding="utf-8")).get("source", ""))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return f"(broken: `seqloom recipes {file.stem}` says why)"
