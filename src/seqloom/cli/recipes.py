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
    """In a terminal long sources are folded; a pipe has a line a recipe."""
    from rich.console import Console

    from seqloom.jobs.recipes import listing

    console = Console()
    if not console.is_terminal:
        typer.echo("\n".join(listing.lines()))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, head in enumerate(listing.HEAD):
        numbers = 0 < at < len(listing.HEAD) - 1
        table.add_column(head, justify="right" if numbers else "left", no_wrap=head != "source", overflow="fold")
    for group in listing.groups():
        for row in group:
            table.add_row(*map(Text, row))
        table.add_section()
    console.print(table)
    console.print(Text("\n".join(listing.BELOW)))
