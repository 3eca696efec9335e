"""`seqloom predict`: what a trained model says to lines of text, or to series of numbers."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def predict(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, as `seqloom train` leaves it.")],
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="A text a line, a .csv, or series as in training; .gz, .zst, .xz, .bz2 too. Without it: standard "
            "input. Pictures: a folder, or as many files as you like. "
            "Of music: a MIDI file, or none. Of a graph: ids, or none.",
        ),
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option("--beam", metavar="K", min=1, help="Hypotheses kept; 1: greedy. Else the recipe's, or 4."),
    ] = None,
    sample: Annotated[
        bool,
        typer.Option("--sample", help="Draw answers by chance; the same ones again, unless generation.seed is set."),
    ] = False,
    n_best: Annotated[
        int | None,
        typer.Option("--n-best", metavar="N", min=1, help="So many answers to each line, with the line's number."),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="One column more; in JSON, also of each piece.")] = False,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Which word was written from which: 0-0 1-2, source first.")
    ] = False,
    form: Annotated[
        Literal["text", "tsv", "jsonl"],
        typer.Option("--format", help="tsv: text, score and what else is asked for. jsonl: all of it."),
    ] = "text",
    given: Annotated[
        Literal["text", "jsonl", "csv", "tsv"] | None,
        typer.Option(
            "--input",
            help="Without it, as the file's name says. text: lines. csv, tsv: a table, also from standard input. "
            'jsonl: {"source": …, "prefix": …, "must": [], "must_not": [], "longest": …}. '
            'A prefix should end behind a word. Of series: {"values": [[…], …]}.',
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="COL",
            help="The column to answer: its number between tabs, or a name of a table. Without it: the line; "
            "of a table the run's own, or a usual name.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write there; the same command again goes on, or says that it is done."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Start anew where --out is already.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="A line that cannot be answered gets an empty answer, and is counted.")
    ] = False,
    ensemble: Annotated[
        list[str] | None,
        typer.Option("--ensemble", metavar="RUN", help="Another run that answers too. May be given many times."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting: generation.longest=200. Many times."),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, …; auto: a GPU, if there is one.")] = "auto",
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Of a forecast: draw it, with bands, as SVG.")
    ] = None,
) -> None:
    """Answer lines of text: line in, line out, in their order. In a terminal, each line is answered at once, and what
    is written is shown as it grows.

    Of a model that forecasts, FILE is a table of series, and the answer a table of what comes after its end. Of a model
    of a graph, FILE has a node's id in each line; without it, all nodes are labelled.

    \b
    Examples:
      seqloom predict runs/demo-dates
      seqloom predict runs/pairs new.txt --scores
      seqloom predict runs/reviews new.csv --column text
      head -5 new.csv | seqloom predict runs/reviews --input csv
      seqloom predict runs/pairs new.txt.gz --n-best 5 --format jsonl --out answers.jsonl
      seqloom predict runs/shakespeare --sample --set generation.longest=500
      echo "Paris is the [MASK] of France" | seqloom predict runs/bert --n-best 5 --scores
      echo "3 Mai 2024" | seqloom predict runs/demo-dates --beam 8 --alignment
      seqloom predict runs/cora --scores --out labels.tsv
      seqloom predict runs/cora ids.txt --n-best 3 --format jsonl
      seqloom predict runs/music prompt.mid --sample --out continued.mid
      seqloom predict runs/music --sample --set generation.longest=2000 --out new.mid
      seqloom predict runs/sales sales.csv --out next.csv --picture next.svg
      seqloom predict runs/motions new.csv --n-best 3 --format tsv
      echo '{"values": [[0.1, 2.0], [0.3, 1.9]]}' | seqloom predict runs/motions

    \b
    How answers are found, each with --set:
      generation.sample.temperature=0.8  with --sample: likely pieces more often; also top_k=40, top_p=0.9, min_p=0.05
      generation.seed=3                  other draws; the same seed draws the same
      generation.rerank.kind=mbr         of 16 draws (generation.rerank.candidates) the one most like the others
      generation.groups=4                with --n-best: parts of the beam that avoid each other
      generation.diversity=0.8           how much they do
      generation.no_repeat=3             no three pieces twice in an answer
      generation.shortest=5              pieces at least; generation.longest=200 at most
      generation.length.kind=none        ranked by log-probability alone; generation.length.alpha=1 helps long answers
    """
    from seqloom.data.file_format import STDIN
    from seqloom.jobs.answering.composing import Composing, compose
    from seqloom.jobs.answering.generation import drawn_without_sample, generation_of
    from seqloom.jobs.lines.answer_lines import AnswerLines
    from seqloom.jobs.lines.node_labels import label_nodes
    from seqloom.jobs.model import load
    from seqloom.jobs.opened import still_training
    from seqloom.jobs.predict import Asking, refuse_several, refuse_swapped
    from seqloom.jobs.predict import predict as job
    from seqloom.jobs.predict_series import AskingSeries, predict_series
    from seqloom.settings import UserError
    from seqloom.tasks.music import MusicTask
    from seqloom.tasks.nodes import NodesTask

    file, *more = named or [STDIN]
    refuse_swapped(run, file)
    model = load([run, *(ensemble or ())], device)
    refuse_several(model, [file, *more])
    if model.recipe.task.kind == "forecast":
        options = {
            "--beam": beam, "--sample": sample, "--n-best": n_best, "--scores": scores, "--alignment": alignment,
            f"--input {given}": given not in (None, "text"), "--column": column, "--skip-bad": skip_bad,
            "--set": changes,
        }  # fmt: skip
        unused = [name for name, value in options.items() if value]
        predict_series(model, AskingSeries(file, form, out, force, picture, unused), _note)
        return
    if picture is not None:
        raise UserError(f"--picture: is of forecasts, and {run} does {model.recipe.task.kind}; leave it out")
    settings = generation_of(model.opened[0], changes or (), beam, n_best, sample)
    drawn = None if sample else drawn_without_sample(model.opened[0], settings, changes or ())
    if drawn is not None:
        _note(drawn)
    unread: dict[str, object] = {
        "--alignment": alignment,
        "--column": column,
        "--skip-bad": skip_bad,
        f"--input {given}": given not in (None, "text"),
    }
    if isinstance(model.task, MusicTask):
        _refuse("music is written as a MIDI file", unread | {"--scores": scores, f"--format {form}": form != "text"})
        compose(model, Composing(file, out, settings, force), _note)
        return
    if isinstance(model.task, NodesTask) and not named:
        _refuse("a model of a graph labels all nodes that it was trained with; FILE names some of them", unread)
        label_nodes(model, out, form, scores, settings.n_best, force, _note)
        return
    talk = file == STDIN and sys.stdin.isatty()
    lines = AnswerLines(form, settings.n_best > 1, scores, alignment, model.labels)
    live = out is None and lines.plain and sys.stdout.isatty()
    asking = Asking(file, settings, lines, given, out, force, skip_bad, talk, live, more, _column(column))
    for text in still_training(model.opened):
        _note(text)
    if talk:
        _note(f"{run} ({model.recipe.task.kind}, {model.device.type}): type a line, Ctrl-D ends")
    try:
        job(model, asking, _note)
    except KeyboardInterrupt:
        _note("stopped" if out is None else f"stopped; the same command goes on with {out}.part")
        raise typer.Exit(130) from None
    except BrokenPipeError:  # whoever read the answers has enough of them
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(why: str, words: dict[str, object]) -> None:
    """words: those that mean nothing here, each true where it was typed."""
    from seqloom.settings import UserError

    for name, typed in words.items():
        if typed:
            raise UserError(f"{name}: {why}; leave it out")


def _column(typed: str | None) -> int | str | None:
    return int(typed) if typed is not None and typed.isdecimal() else typed


def _note(text: str) -> None:
    typer.echo(text, err=True)
