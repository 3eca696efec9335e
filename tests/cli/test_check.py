"""`seqloom check`: a report to read, an exit code to act on."""

from pathlib import Path

import pytest

from tests.cli.run import run
from tests.jobs.asked_runs import Runs
from tests.jobs.run import write_pairs, write_recipe


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sound_data_and_what_training_would_take(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    write_recipe(place / "recipe.toml")
    ran = run("check", "pairs.tsv", "--recipe", "recipe.toml")
    assert ran.code == 0
    assert "training: 300 examples" in ran.out
    assert "0 faults" in ran.out
    assert "training would be: translate, encoder-decoder, " in ran.out
    assert "memory: about " in ran.out
    assert " for 40 steps on this " in ran.out
    assert "FLOPs: " in ran.out
    assert not (place / "runs").exists()


def test_without_a_recipe(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    ran = run("check", "pairs.tsv")
    assert ran.code == 0
    assert "training would be: translate" in ran.out


def test_how_the_data_is_read_comes_first(place: Path) -> None:
    lines = [f"{n},{'so it was ' * 9}{n},{n} it was so\n" for n in range(40)]
    (place / "a.csv").write_text('id,English,"In ""reverse"""\n' + "".join(lines))
    ran = run("check", "a.csv", "--source", "English", "--target", "3")
    looks, example, *_ = ran.out.splitlines()
    assert looks.startswith("no recipe named: the data looks like translate (")
    assert example == f"the first example: {('so it was ' * 9)[:59] + '…'!r} → '0 it was so'"
    ran = run("check", "a.csv", "--source", "2", "--target", "3")
    assert "a.csv:1: taken as the names of the columns ('id', 'English'," in ran.out


def test_names_in_another_script_are_no_example(place: Path) -> None:
    lines = [f"这是第{n}个句子。\tthis is sentence {n}.\n" for n in range(40)]
    (place / "zh.tsv").write_text("中文\t英文\n" + "".join(lines), encoding="utf-8")
    ran = run("check", "zh.tsv")
    assert "zh.tsv:1: taken as the names of the columns ('中文', '英文')" in ran.out
    assert "the first example: '这是第0个句子。' → 'this is sentence 0.'" in ran.out
    (place / "zh.tsv").write_text("甲方\t乙方\n" + "".join(lines), encoding="utf-8")
    assert "zh.tsv:1: read as an example, but looks like the names of the columns; if it is: --source" in (
        run("check", "zh.tsv").out
    )


def test_running_text_has_lines_of_any_length(place: Path) -> None:
    (place / "long.txt").write_text("to be or not to be " * 200 + "\n" + "that is the question\n" * 2, encoding="utf-8")
    ran = run("check", "long.txt")
    assert ran.code == 0, ran.error
    assert "longer than" not in ran.out, "it is cut into windows, and nothing is left out"
    assert "the same example again" not in ran.out, "its lines are no examples"
    write_recipe(place / "r.toml", text='[model]\nfamily = "decoder-only"\nmixer = { kind = "attention", heads = 2 }\n')
    plain = (
        "check",
        "long.txt",
        "--recipe",
        "r.toml",
        "--set",
        "task.kind=language",
        "--set",
        "text.source.kind=characters",
    )
    assert "the same example again" not in run(*plain).out
    assert "the same example again" in run(*plain, "--set", "task.lines=documents").out


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("a.tsv", bytes(range(256)) * 9, "a.tsv:1: a binary file, as it holds a NUL byte; text in UTF-8 is needed"),
        ("a.tsv", "so\tso\n".encode("utf-16"), "a.tsv: this is UTF-16 text; convert the file, e.g. iconv"),
    ],
)
def test_what_is_no_text_is_a_fault_of_the_data(place: Path, file: str, content: bytes, said: str) -> None:
    (place / file).write_bytes(content)
    write_pairs(place / "pairs.tsv")
    for files in (file,), ("pairs.tsv", "--valid", file):
        ran = run("check", *files)
        assert (ran.code, ran.error) == (1, "")
        assert said in ran.out
    assert run("check", "absent.tsv").code == 2


def test_a_broken_line_is_told_before_what_follows_from_it(place: Path) -> None:
    (place / "bad.jsonl").write_text('{"source": "a"\n{"x": 1}\n')
    ran = run("check", "bad.jsonl")
    assert ran.code == 1
    assert 0 < ran.out.index("FAULT: training: not JSON: 1\n    bad.jsonl:1\n") < ran.out.index("bad.jsonl:2: which")
    ran = run("train", "--data", "bad.jsonl")
    assert (ran.code, ran.error[: len("bad.jsonl:1: not JSON")]) == (2, "bad.jsonl:1: not JSON")


def test_columns_that_nobody_chose(place: Path) -> None:
    lines = [f"{n},so it was {n},{n} it was so\n" for n in range(40)]
    (place / "a.csv").write_text('id,English,"In ""reverse"""\n' + "".join(lines))
    ran = run("check", "a.csv")
    assert ran.code == 1
    assert "a.csv:1: 3 columns (1: 'id', 2: 'English', 3: 'In \"reverse\"'); which is the source and" in ran.out


def test_files_of_unequal_length(place: Path) -> None:
    (place / "a.en").write_text("one\ntwo\nthree\n")
    (place / "a.de").write_text("eins\nzwei\n")
    ran = run("check", "a.en", "a.de")
    assert ran.code == 1
    assert "a.de:3: no such line: a.de has 2 lines, but a.en has 3" in ran.out
    assert "training would be" not in ran.out


def test_a_leak(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    (place / "test.tsv").write_text("\n".join((place / "pairs.tsv").read_text().splitlines()[:20]))
    ran = run("check", "pairs.tsv", "--test", "test.tsv")
    assert ran.code == 1
    assert "FAULT: test: the source is in the training data as well: 20" in ran.out


def test_unknown_tokens_are_counted(place: Path) -> None:
    write_pairs(place / "pairs.tsv")
    (place / "valid.tsv").write_text("zzzz\tzzzz\nabc\tcba\n" * 5)
    ran = run("check", "pairs.tsv", "--valid", "valid.tsv")
    assert "57.14% of the tokens are unknown" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.tsv"], "nothing.tsv: no such file"),
        (["pairs.tsv", "--recipe", "nothing.toml"], "nothing.toml: no such file"),
        (["pairs.tsv", "--set", "training.stepps=3"], "did you mean 'steps'?"),
    ],
)
def test_mistakes(place: Path, words: list[str], message: str) -> None:
    write_pairs(place / "pairs.tsv")
    ran = run("check", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.error


def test_a_run_is_no_data(runs: Runs) -> None:
    run_folder = str(runs["pairs"])
    for words in [run_folder], [str(runs.files["pairs"]), "--valid", run_folder]:
        ran = run("check", *words)
        assert (ran.code, ran.out) == (2, "")
        assert ran.error == (
            f"{run_folder}: is a run, not data; name the files that it learnt from, which its recipe.toml tells, "
            f"or score it: seqloom evaluate {run_folder} --data FILE\n"
        )
