"""`seqloom evaluate`: how good systems are, and how sure that is."""

from typing import Annotated, Literal

import typer


def evaluate(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN…", help="Runs to evaluate, the first as baseline; NAME=RUN gives a name."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="FILE…", help="What the runs answer: as for `seqloom train --data`."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="COL", help="Its column of the source: a name, or a number."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COL", help="Its column of the target or label, in the same way.")
    ] = None,
    hypotheses: Annotated[
        list[str] | None,
        typer.Option(
            "--hypotheses",
            metavar="FILE…",
            help="Instead of runs: what systems said, a line an answer; NAME=FILE gives a name.",
        ),
    ] = None,
    references: Annotated[
        list[str] | None,
        typer.Option("--references", metavar="FILE…", help="What was wanted; several files: several references each."),
    ] = None,
    sources: Annotated[
        str | None, typer.Option("--sources", metavar="FILE", help="What was asked, for slices and examples.")
    ] = None,
    history: Annotated[
        str | None,
        typer.Option("--history", metavar="FILE", help="What series were before, for mase: line n that of line n."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            metavar="NAME…",
            help="Several, or with commas: "
            "bleu chrf chrf++ ter gleu rouge1 rouge2 rougeL rougeLsum wer per cer ser exact; of labels: accuracy "
            "f1-macro f1-micro span-f1 span-f1-strict; of runs: perplexity bpc pseudo-perplexity; of files of numbers: "
            "mse mae mase crps; of runs that forecast also mse-units mae-units coverage.",
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", min=0, help="Show so many of the worst and of the best examples.")
    ] = 0,
    ensemble: Annotated[
        list[str] | None,
        typer.Option(
            "--ensemble",
            metavar="[NAME…]",
            help="Runs that also answer together, by the mean of their probabilities, as one more; no name: all.",
        ),
    ] = None,
    form: Annotated[
        Literal["text", "markdown", "jsonl", "latex"], typer.Option("--format", help="How the results are written.")
    ] = "text",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting: evaluation.bleu.tokenize=zh. Many times."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out (and count) examples of --data that cannot be used.")
    ] = False,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, …; auto: a GPU, if there is one.")] = "auto",
) -> None:
    """Score systems, with intervals; of several, also whether they differ from the first by more than luck.

    \b
    Examples:
      seqloom evaluate runs/pairs --data test.tsv
      seqloom evaluate runs/small runs/large --data test.en test.de --set generation.beam=8
      seqloom evaluate runs/seed1 runs/seed2 --ensemble --data test.tsv
      seqloom evaluate runs/text --data test.txt --set evaluation.context=512 --set evaluation.stride=128
      seqloom evaluate --hypotheses ours=a.out.txt theirs=b.txt --references ref.txt --sources src.txt --examples 3
      seqloom evaluate --hypotheses said.zh --references a.zh b.zh --metrics bleu --set evaluation.bleu.tokenize=zh
      seqloom evaluate runs/sales --data sales.csv        (of a forecaster: its test part, a window at each step)
      seqloom evaluate --hypotheses forecasts.txt --references came.txt --history before.txt --metrics mae mase

    \b
    Of numbers, a line is a series: 3.1 2.9 3.4, also with commas or tabs; nan: a reference that is missing.
    For crps each step has samples, 2.9|3.1|3.4, or quantiles with their levels, 0.1:2.9|0.5:3.1|0.9:3.4.
    """
    from rich.console import Console

    from seqloom.jobs.evaluate import Evaluate
    from seqloom.jobs.evaluate import evaluate as job
    from seqloom.jobs.evaluating.score_page import page, show

    command = Evaluate(
        tuple(runs or ()),
        tuple(data or ()),
        tuple(hypotheses or ()),
        tuple(references or ()),
        sources,
        tuple(metrics or ()),
        examples,
        tuple(changes or ()),
        device,
        skip_bad,
        source,
        target,
        history,
        tuple(ensemble or ()),
    )
    found, what = job(command, lambda text: typer.echo(text, err=True))
    console = Console()
    if form == "text" and console.is_terminal:
        show(found, what, console)
    else:
        typer.echo(page(found, what, form), nl=False)
