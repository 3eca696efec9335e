"""The command line: one file a verb.

Exit code 0: done; 1: the thing itself failed; 2: the user's mistake. Results go to standard output, talk to standard
error. A verb imports what is heavy (torch, models) inside its function, so that help comes at once.
"""

import errno
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from seqloom.cli import check, compare, demo, evaluate, look, predict, recipes, serve, train
from seqloom.cli.bad_value import Verbs
from seqloom.cli.setting_option import refuse_settings, refuse_verb

HELP = """Models that read one sequence and write another: train them on your own files.

\b
Examples:
  seqloom demo
  seqloom train --data pairs.tsv --minutes 5
  seqloom predict runs/pairs
  seqloom COMMAND --help
"""

app = typer.Typer(
    cls=Verbs,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: the same in a terminal, in a pipe and under NO_COLOR
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from seqloom import __version__

        typer.echo(f"seqloom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None: ...


# The verbs, in the order of the help; what stands beside them there fits into a line of 80.
app.command(short_help="Make data, train a small model on it, and see it work.")(demo.demo)
app.command(short_help="Train a model on your files, or go on where it stopped.")(train.train)
app.command(short_help="Answer lines of text: line in, line out, in their order.")(predict.predict)
app.command(short_help="Score systems, with intervals and signatures.")(evaluate.evaluate)
app.command(short_help="Train systems at equal cost, and show them in one table.")(compare.compare)
app.command(short_help="See every step inside a model while it answers, as a page.")(look.look)
app.command(short_help="Answer over HTTP, and show the studio in a browser.")(serve.serve)
app.command(short_help="Look for faults in data before they spoil a training.")(check.check)
app.command(short_help="List the recipes with sizes and costs, or print one in full.")(recipes.recipes)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MANY = ("--data", "--valid", "--test", "--hypotheses", "--references", "--metrics", "--ensemble")


def spread(words: Sequence[str]) -> list[str]:
    """`--data a b` as `--data a --data b`, which is what typer understands; a recipe's name ends the files."""
    result, option, files = list[str](), "", 0
    for word in [*words, "--"]:
        if word.startswith("-") and word != "-":
            if option and not files:
                # without names an ensemble is of all; of the others typer says that a file is missing
                result += [option, "all"] if option == "--ensemble" else [option]
            option, files = (word, 0) if word in MANY else ("", 0)
            result += [] if option else [word]
        elif option == "--ensemble" and Path(word).suffix == ".toml" and words.count(word) > 1:
            result += [option, Path(word).stem]  # a recipe that is a system already: its name is meant
            files += 1
        elif option and not word.endswith(".toml"):
            result += [option, word]
            files += 1
        else:
            result.append(word)
    return result[:-1]


def main() -> None:
    """Run the command line; a mistake of the user ends in its message alone."""
    try:
        words = spread(sys.argv[1:])
        if words and not words[0].startswith("-"):
            _refuse_foreign(words[0], words[1:])
        app(args=words)
    except Exception as error:
        from seqloom.settings import FailedError, UserError  # here, as help needs none of it

        if isinstance(error, OSError) and error.errno in FULL:
            error = FailedError(f"{_full(error)}: cannot be written: {error.strerror}")
        if not isinstance(error, UserError | FailedError):
            raise
        typer.echo(error, err=True)
        sys.exit(2 if isinstance(error, UserError) else 1)


def _refuse_foreign(verb: str, words: Sequence[str]) -> None:
    """What is no option and no command here, but is known under that name elsewhere."""
    command = typer.main.get_group(app).commands.get(verb)
    if command is None:
        refuse_verb(verb)
    else:
        refuse_settings(verb, ["--help", *(name for each in command.params for name in each.opts)], words)


def _full(error: OSError) -> str:
    """What takes no more. Most files say it themselves, by name; a terminal or a pipe is never full."""
    mode = os.fstat(sys.stdout.fileno()).st_mode
    if error.filename or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdout.isatty():
        return str(error.filename or "a file")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python tries once more at its end
    return "standard output"
