"""`seqloom check`: what is wrong with data, before training on it."""

from typing import Annotated

import typer


def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="What would be learnt from: as for `seqloom train --data`.")
    ],
    valid: Annotated[list[str] | None, typer.Option("--valid", metavar="FILE…", help="For validation.")] = None,
    test: Annotated[list[str] | None, typer.Option("--test", metavar="FILE…", help="For the test.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="COL", help="The column of the source: a name, or a number."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COL", help="The column of the target or label, in the same way.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", metavar="RECIPE", help="What would be trained: a name or a TOML file.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting. May be given many times.")
    ] = None,
) -> None:
    """Look for faults in data: lines that do not match, empty sides, repeats, leaks, odd lengths, wrong encodings.

    Says also what training on it would take here. Exit code 1: there are faults.

    \b
    Examples:
      seqloom check pairs.tsv
      seqloom check train.en train.de --valid dev.en dev.de --test test.en test.de
      seqloom check corpus.jsonl --recipe transformer-base
      seqloom check sales.csv
    """
    from seqloom.jobs.check import check as job
    from seqloom.jobs.deciding.asked import Command

    parts = tuple(files), tuple(valid or ()), tuple(test or ())
    checked = job(Command(recipe, *parts, changes=tuple(changes or ()), source=source, target=target))
    typer.echo(checked.text(), nl=False)
    if checked.report.faulty:
        raise typer.Exit(1)
