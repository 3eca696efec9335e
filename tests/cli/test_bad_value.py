"""A value that is none of its option's: what the option takes is said, in no library's words."""

import pytest

from tests.cli.run import run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "x", "--beam", "abc"], "--beam abc: a whole number (at least 1) is needed"),
        (["predict", "x", "--beam", "0"], "--beam 0: a whole number (at least 1) is needed"),
        (["predict", "x", "--n-best=1.5"], "--n-best 1.5: a whole number (at least 1) is needed"),
        (["predict", "x", "--format", "xml"], "--format xml: 'text', 'tsv' or 'jsonl' is needed"),
        (
            ["predict", "x", "--format", "json"],
            "--format json: 'text', 'tsv' or 'jsonl' is needed; did you mean 'jsonl'?",
        ),
        (["train", "--minutes", "abc"], "--minutes abc: a number (at least 0.01) is needed"),
        (["train", "--minutes", "inf"], "--minutes inf: a number with an end is needed, such as 5"),
        (["compare", "x", "--epochs", "two"], "--epochs two: a number is needed"),
        (["serve", "x", "--port", "80000"], "--port 80000: a whole number (at least 0, at most 65535) is needed"),
    ],
)
def test_what_an_option_takes(words: list[str], message: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out, ran.error) == (2, "", f"{message}\n")


def test_what_typer_says_by_itself_stays() -> None:
    ran = run("recipes", "--schema", "gat")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error.endswith("Error: Invalid value: --schema goes alone\n")
