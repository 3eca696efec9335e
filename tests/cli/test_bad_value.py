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
        (["compare", "x", "--epochs", "two"], "--epochs two: a number is needed"),
        (["serve", "x", "--port", "80000"], "--port 80000: a whole number (at least 0, at most 65535) is needed"),
    ],
)
def test_what_an_option_takes(words: list[str], message: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out, ran.error) == (2, "", f"{message}\n")


def test_our_own_checks_of_a_value_keep_their_words() -> None:
    ran = run("train", "--minutes", "inf")
    assert (ran.code, ran.out) == (2, "")
    assert "Invalid value for '--minutes': inf is no number of minutes; give one such as 5" in ran.error
