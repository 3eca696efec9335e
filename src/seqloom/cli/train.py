"""`seqloom train`: from files to a trained model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqloom.cli.minutes import finite

if TYPE_CHECKING:
    from seqloom.jobs.trained import Trained


def train(
    recipe: Annotated[
        str | None, typer.Argument(help="A recipe's name or a TOML file. Without it, one is chosen for the data.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="FILE…",
            help="What to learn from; two aligned text files, one with columns, or MIDI files.",
        ),
    ] = None,
    valid: Annotated[
        list[str] | None, typer.Option("--valid", metavar="FILE…", help="What to watch training with.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="FILE…", help="What to score the finished model on.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="COL", help="The column of the source: a name, or a number."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COL", help="The column of the target or label, in the same way.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="RUN", help="The run's folder.")] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="RUN", help="Begin from another run: its weights, as far as they fit, and its vocabulary."
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            metavar="N",
            help="Be done in so many minutes; a test comes on top.",
            min=0.01,
            callback=finite,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting. May be given many times.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew where a run is already.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out (and count) examples that cannot be used.")
    ] = False,
) -> None:
    """Train a model on your files. The same command again goes on where it stopped.

    \b
    Examples:
      seqloom train --data pairs.tsv --minutes 5
      seqloom train --data table.csv --source English --target 3
      seqloom train transformer-base --data train.en train.de --valid dev.en dev.de --out runs/mine
      seqloom train my.toml --data corpus.jsonl.gz --set training.steps=20000
      seqloom train music-transformer --data folder/*.mid
      seqloom train gat --data nodes.tsv edges.tsv
      seqloom train gnmt-rl --from runs/gnmt --data train.en train.de --out runs/gnmt-rl
      seqloom train --data sales.csv --set task.horizon=28 --minutes 3    (a column of times, and numbers: forecast)
      seqloom train --from runs/pretrained --data train.conllu --set 'training.freeze=["embedding"]' --out runs/tagger
    """
    from seqloom.jobs.clock import process_began
    from seqloom.jobs.deciding.asked import Command
    from seqloom.jobs.train import train as job

    command = Command(
        recipe,
        tuple(data or ()),
        tuple(valid or ()),
        tuple(test or ()),
        out,
        minutes,
        tuple(changes or ()),
        force,
        skip_bad,
        source,
        target,
        start,
    )
    try:
        trained = job(command, began=process_began())
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from the last checkpoint", err=True)
        raise typer.Exit(130) from None
    part = "test" if trained.test_scores else "validation"
    for name, score in (trained.test_scores or trained.scores).items():
        typer.echo(f"{part} {name}\t{score:.4f}")
    if "chrf" in trained.scores:
        typer.echo("these scores are of greedy answers; predict and evaluate search with a beam", err=True)
    if trained.recipe.task.kind == "forecast":
        typer.echo("scores are of z-scores, over all windows of that part", err=True)
        typer.echo(f"next: seqloom predict {trained.run.path} FILE --picture next.svg{_ahead(trained)}", err=True)
        return
    more = " --out new.mid" if trained.recipe.task.kind == "music" else ""
    typer.echo(f"next: seqloom predict {trained.run.path}{more}", err=True)


def _ahead(trained: "Trained") -> str:
    """What a file must hold of the steps to come, where something of them is known."""
    scales = trained.corpora.task.codecs.scales
    known = () if scales is None else scales.columns.known
    return f"; FILE goes on with rows in which {', '.join(known)} is filled in alone" if known else ""
