"""`seqloom evaluate`: a table to read, mistakes with exit code 2."""

from pathlib import Path

import pytest

from seqloom.evaluation.build import LABEL, RATE, SERIES, TEXT
from tests.cli.run import run
from tests.evaluation.corpus import BAD, GOOD, OTHERS, REFERENCES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, texts in ("good.txt", GOOD), ("bad.txt", BAD), ("a.txt", REFERENCES), ("b.txt", OTHERS):
        Path(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return tmp_path


def test_two_systems_and_two_references(place: Path) -> None:
    files = ["--hypotheses", "good.txt", "bad.txt", "--references", "a.txt", "b.txt"]
    ran = run("evaluate", *files, "--metrics", "bleu", "ter")
    assert (ran.code, ran.error) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "16 examples; differences from good.txt"
    assert lines[2].split()[:3] == ["BLEU", "good.txt", "79.11"]
    assert lines[3].split()[:3] == ["BLEU", "bad.txt", "28.09"]
    assert "***" in lines[3]
    assert lines[5].startswith("TER ↓   bad.txt")
    assert "BLEU: nrefs:2|case:mixed|" in ran.out


def test_a_count_that_does_not_match(place: Path) -> None:
    Path("short.txt").write_text("one\n")
    ran = run("evaluate", "--hypotheses", "short.txt", "--references", "a.txt")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error == "a.txt has 16 lines, but short.txt has 1; line n of each file belongs to line n\n"


def test_formats(place: Path) -> None:
    words = ["evaluate", "--hypotheses", "good.txt", "--references", "a.txt", "--metrics", "chrf"]
    assert "| chrF | 86.55 | " in run(*words, "--format", "markdown").out
    assert "chrF & 86.55 & " in run(*words, "--format", "latex").out
    assert '"score": 86.54546987973583' in run(*words, "--format", "jsonl").out
    assert run(*words, "--format", "html").code == 2


def test_examples(place: Path) -> None:
    ran = run("evaluate", "--hypotheses", "bad.txt", "--references", "a.txt", "--sources", "b.txt", "--examples", "1")
    assert ran.code == 0
    assert f"  source     {OTHERS[-1]}\n" in ran.out
    assert "by source words" in ran.out


def test_nothing_named(place: Path) -> None:
    ran = run("evaluate")
    assert ran.code == 2
    assert "nothing to evaluate" in ran.error


def test_help_has_examples() -> None:
    ran = run("evaluate", "--help")
    assert ran.code == 0
    assert "seqloom evaluate runs/pairs --data test.tsv" in ran.out


def test_settings_that_are_no_options(place: Path) -> None:
    for option, setting in (
        ("--resamples", "evaluation.resamples"),
        ("--seed", "evaluation.seed"),
        ("--beam", "generation.beam"),
    ):
        ran = run("evaluate", "--hypotheses", "good", "--references", "ref", option, "9")
        assert (ran.code, ran.out) == (2, "")
        assert ran.error == f"{option}: is no option of evaluate, but a setting: --set {setting}=9\n"
    assert "No such option: --bleu" in run("evaluate", "--hypotheses", "good", "--references", "ref", "--bleu").error


def test_metrics_with_commas(place: Path) -> None:
    ran = run("evaluate", "--hypotheses", "good.txt", "bad.txt", "--references", "a.txt", "--metrics", "chrf,ter")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[2:6]] == ["chrF", "chrF", "TER", "TER"]
    assert ran.out.splitlines()[3].endswith(" <0.001")


def test_the_help_names_all_metrics() -> None:
    said = set(run("evaluate", "--help").out.replace("│", " ").replace(";", " ").replace(".", " ").split())
    assert {*TEXT, *LABEL, *RATE, *SERIES} <= said


def test_runs_together_are_runs(place: Path) -> None:
    ran = run("evaluate", "--hypotheses", "good.txt", "--references", "a.txt", "--ensemble")
    assert (ran.code, ran.error) == (2, "--ensemble is of runs; files hold what was said already\n")
