"""`seqloom demo`: see a model learn, answer, and where it looked."""

from pathlib import Path
from typing import Annotated

import typer

from seqloom.cli.minutes import finite


def demo(
    name: Annotated[
        str,
        typer.Argument(help="dates (→ ISO 8601), numbers (words ↔ digits), phonemes (of words) or digits (images)."),
    ] = "dates",
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes", metavar="N", help="Be done in so many minutes: 2 for dates.", min=0.01, callback=finite
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="The run's folder; its data lies beside it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed: other data, other weights.", min=0)] = 1,
    force: Annotated[bool, typer.Option("--force", help="Start anew where a run is already.")] = False,
) -> None:
    """Make data, train a model on it, and show what it says and where it looked. Nothing is fetched.

    By default it learns to read dates as people write them in 39 languages. The same command again goes on where it
    stopped, or shows the results of a run that is done.

    \b
    Examples:
      seqloom demo
      seqloom demo numbers --minutes 5
      seqloom demo digits --out runs/digits
    """
    from seqloom.jobs.demos import check_name

    known = check_name(name)
    from rich.console import Console

    from seqloom.jobs.demo import demo as job
    from seqloom.jobs.demo_page import show

    try:
        shown = job(known, minutes, out, seed, force)
    except KeyboardInterrupt:
        typer.echo("stopped behind a checkpoint; the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    show(shown, Console())
