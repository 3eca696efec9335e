"""`seqloom look`: what a model says to a text, and why, as one file."""

from pathlib import Path
from typing import Annotated

import typer


def look(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's folder; lecture: the tiny model that comes along.")
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT…]",
            help="What it is asked; of series, numbers as JSON; of a forecast or of music, a file. Else: a validation "
            "example.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="The page: FILE.html. Else look.html, or look-2.html …"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="TEXT", help="The answer to force, and its loss.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Attention as a heat map with words, for a paper.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="The same as pixels (needs Pillow).")
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option("--layer", metavar="NAME", help="Of the heat map; else the last that looks at the source."),
    ] = None,
    head: Annotated[
        int | None, typer.Option("--head", metavar="N", min=1, help="Of the heat map, from 1 on; else their mean.")
    ] = None,
    font: Annotated[
        Path | None,
        typer.Option("--font", metavar="FILE", help="Of the PNG; else one of this machine that has the letters."),
    ] = None,
    beam: Annotated[int | None, typer.Option("--beam", metavar="K", min=1, help="Hypotheses kept; 1: greedy.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting: generation.length.alpha=1. Many times."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, …; auto: a GPU, if there is one.")] = "auto",
) -> None:
    """Look inside a model while it answers: a page with every step, every matrix, every head, and the search.

    The file needs no server and no network. `seqloom serve RUN` shows the same of any text, and what would be if parts
    of the model were changed.

    \b
    Examples:
      seqloom look runs/demo-dates "3 Mai 2024" -o look.html
      seqloom look runs/demo-dates "3 Mai 2024" "May 5th, 1999" --beam 8
      seqloom look runs/demo-dates "3 Mai 2024" --target 2024-03-05
      seqloom look runs/demo-dates "3 Mai 2024" --svg attention.svg --png attention.png --head 2
      seqloom look runs/demo-dates "3 Mai 2024" --svg self.svg --layer encoder.blocks.0.mixer
      seqloom look lecture "black cat sleeps"
    """
    from seqloom.jobs.looking.command import LookCommand
    from seqloom.jobs.looking.command import look as job

    asked, settings = tuple(texts or ()), tuple(changes or ())
    command = LookCommand(run, asked, target, out, svg, png, layer, head, font, beam, settings, force)
    for file in job(command, device, lambda text: typer.echo(text, err=True)):
        typer.echo(file)
