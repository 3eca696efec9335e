"""`seqloom recipes`: list the recipes with what they cost, check and print one, print the schema."""

import json
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
    speed: Annotated[
        bool, typer.Option("--speed", help="How fast each would train here; measures this machine once, for seconds.")
    ] = False,
) -> None:
    """List the recipes with their sizes and costs; or check one and print it with every default filled in.

    \b
    Examples:
      seqloom recipes
      seqloom recipes transformer-base --set model.width=256
      seqloom recipes my.toml
      seqloom recipes --speed
      seqloom recipes --schema > recipe.schema.json
    """
    if as_schema and (name or changes or speed):
        raise typer.BadParameter("--schema goes alone")
    if speed and (name or changes):
        raise typer.BadParameter("--speed is of all recipes, and goes alone")
    if changes and not name:
        raise typer.BadParameter("--set needs a recipe to change")
    from seqloom.jobs.recipes import shipped

    if speed:
        from seqloom.jobs.recipes.speed import lines

        for line in lines():
            typer.echo(line)
        return
    if not (name or as_schema):
        _list()
        return
    file = shipped.find(name) if name else None
    from seqloom.jobs.recipes.recipe import Recipe
    from seqloom.settings import dump, load, schema

    if file:
        made = dump(load(file, Recipe, changes or ()))
        typer.echo(f"every setting of {file}, whose comments tell what is different from its source", err=True)
        typer.echo(made, nl=False)
    else:
        typer.echo(json.dumps(schema(Recipe), indent=2, ensure_ascii=False))


def _list() -> None:
    """A pipe has a line a recipe."""
    from rich.console import Console

    from seqloom.jobs.recipes import listing

    console = Console()
    if console.is_terminal:
        listing.show(console)
    else:
        typer.echo("\n".join(listing.lines()))
