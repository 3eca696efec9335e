"""`seqloom compare`: systems at equal cost, in one table."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from seqloom.cli.minutes import finite


def compare(
    systems: Annotated[
        list[str],
        typer.Argument(metavar="SYSTEM…", help="Recipes (names or TOML files) to train, and runs that are trained."),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="FILE…", help="What to learn from: as for `seqloom train --data`."),
    ] = None,
    valid: Annotated[
        list[str] | None, typer.Option("--valid", metavar="FILE…", help="What to watch training with.")
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="FILE…", help="What to score on; without it, what is held out of training."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes", metavar="N", min=0.01, callback=finite, help="Each recipe is trained for so many minutes; or"
        ),
    ] = None,
    flops: Annotated[
        float | None,
        typer.Option("--flops", metavar="N", help="… for so many FLOPs, such as 1e15 (padding is not counted); or"),
    ] = None,
    epochs: Annotated[
        float | None, typer.Option("--epochs", metavar="N", help="… for so many times through the data.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where runs, tables and a picture are kept.")
    ] = Path("runs/compare"),
    ensemble: Annotated[
        list[str] | None,
        typer.Option(
            "--ensemble",
            metavar="[NAME…]",
            help="One more row: these systems write together; without names, all that have the same vocabulary.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="NAME", help="Differences are from this system, or `best`; else the first."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", metavar="NAME…", help="As for `seqloom evaluate`; the first is the score."),
    ] = None,
    form: Annotated[
        Literal["text", "markdown", "latex", "json"], typer.Option("--format", help="How the table is written.")
    ] = "text",
    source: Annotated[
        str | None, typer.Option("--source", metavar="COL", help="The column of the source: a name, or a number.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COL", help="The column of the target or label, in the same way.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting of every recipe, or how answers are written."),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, …; auto: a GPU, if there is one.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Start anew where a comparison is already.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out (and count) examples that cannot be used.")
    ] = False,
) -> None:
    """Train systems at equal cost, have each answer the same test, and show them in one table.

    The same command again goes on where it stopped. What fails has a row that says so, and stops no other; the exit
    code is 1 then. Kept in the folder: table.txt, table.md, table.tex, results.json, picture.svg (score against cost).

    \b
    Examples:
      seqloom compare rnn.toml transformer.toml --data pairs.tsv --minutes 5
      seqloom compare a.toml b.toml --data train.en train.de --test test.en test.de --flops 1e15 --ensemble
      seqloom compare runs/small runs/large --test test.tsv --format markdown

    \b
    What comes out, with more columns (p, CER, perplexity, FLOPs, time, memory) and tables:
      system        exact    95 % interval  difference  parameters  tokens/s
      bottleneck    93.50    90.75 – 96.00                     77k       24k
      attention     99.50   98.75 – 100.00   +6.00 ***        102k      6.1k
      transformer   99.75   99.25 – 100.00   +6.25 ***        147k      9.1k

    \b
      exact by source characters
      system           3–6     7–8    9–10   11–12
      bottleneck    100.00   98.75   91.84   81.32
      attention     100.00  100.00  100.00   97.80
      transformer   100.00  100.00  100.00   98.90
    """
    from rich.console import Console

    from seqloom.jobs.compare import compare as job
    from seqloom.jobs.comparing.command import Compare, budget_of
    from seqloom.jobs.comparing.table import show, text

    command = Compare(
        tuple(systems),
        tuple(data or ()),
        tuple(valid or ()),
        tuple(test or ()),
        budget_of(minutes, flops, epochs),
        out,
        tuple(metrics or ()),
        tuple(ensemble or ()),
        baseline,
        tuple(changes or ()),
        device,
        force,
        skip_bad,
        source,
        target,
    )
    try:
        found = job(command, lambda said: typer.echo(said, err=True))
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on where it was", err=True)
        raise typer.Exit(130) from None
    console = Console()
    if form == "text" and console.is_terminal:
        show(found, console)
    else:
        typer.echo(text(found, form), nl=False)
    typer.echo(f"kept in {out}: table.txt, table.md, table.tex, results.json, picture.svg", err=True)
    if found.failed:
        raise typer.Exit(1)
