"""What holds for every verb."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom import __version__
from seqloom.cli import app
from tests.cli.run import run

VERBS = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_shows_an_example(verb: str) -> None:
    ran = run(verb, "--help")
    assert ran.code == 0
    assert f"\n    seqloom {verb}" in ran.out.partition("Example")[2]


def test_help_lists_the_verbs_and_needs_no_torch() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from seqloom.cli import main\n"
        "try: main()\n"
        "finally: assert 'torch' not in sys.modules, 'torch was imported'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"\n  {verb} " in done.stdout for verb in VERBS)
    assert "..." not in done.stdout.partition("Commands:")[2], "what a verb does is cut off"
    assert "\n    seqloom train --data pairs.tsv --minutes 5\n" in done.stdout


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_no_colours_in_a_pipe(environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", "from seqloom.cli import main; main()", "recipes", "--help"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=True)
    assert b"\x1b" not in done.stdout + done.stderr


def test_version() -> None:
    assert run("--version").out == f"seqloom {__version__}\n"


def test_an_unknown_verb() -> None:
    ran = run("recipee")
    assert (ran.code, ran.out) == (2, "")
    assert "No such command 'recipee'" in ran.error


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "seqloom", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert __version__ in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["recipes"], ["recipes", "gat"], ["--help"]])
def test_no_room_for_what_is_printed(words: list[str]) -> None:
    command = [sys.executable, "-m", "seqloom", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "standard output: cannot be written: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("file", "told"), [("", "a file"), (", 'runs/x/log'", "runs/x/log")])
def test_no_room_for_a_file_is_not_said_of_what_is_printed(file: str, told: str) -> None:
    """A pipe is never full."""
    code = f"""
from seqloom import cli
def full(**_): raise OSError(28, "No space left on device"{file})
cli.app = full
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{told}: cannot be written: No space left on device\n")
