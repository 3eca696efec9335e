"""`seqloom predict` as a person calls it."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs import predict as job
from seqloom.jobs.answering.generation import generation_of
from seqloom.store import RunFolder
from tests.cli.run import Ran, run
from tests.jobs.asked_runs import RECIPES, Runs
from tests.jobs.run import write_recipe


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("abc\n\nhgf\n")
    return tmp_path


class Typed(io.BytesIO):
    """Standard input of these bytes, typed at a terminal or not."""

    def __init__(self, content: str, terminal: bool = False) -> None:
        super().__init__(content.encode())
        self.buffer, self.terminal = self, terminal

    def isatty(self) -> bool:
        return self.terminal


def typed(monkeypatch: pytest.MonkeyPatch, content: str, terminal: bool = False) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(content, terminal))


def refused(ran: Ran, message: str) -> None:
    assert (ran.code, ran.out) == (2, ""), ran
    assert "Traceback" not in ran.error
    assert re.search(message, ran.error), ran.error


def test_line_in_line_out(place: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    from_file = run("predict", str(runs["pairs"]), "in.txt")
    assert (from_file.code, from_file.error) == (0, "")
    lines = from_file.out.split("\n")
    assert len(lines) == 4
    assert lines[0]
    assert lines[1] == ""
    typed(monkeypatch, "abc\n\nhgf")
    assert run("predict", str(runs["pairs"])).out == from_file.out
    typed(monkeypatch, "abc\n\nhgf")
    assert run("predict", str(runs["pairs"]), "-").out == from_file.out
    assert run("predict", str(runs["pairs"]), "in.txt", "--out", "out.txt").out == ""
    assert Path("out.txt").read_text() == from_file.out


def test_columns_and_json(place: Path, runs: Runs) -> None:
    tsv = run("predict", str(runs["pairs"]), "in.txt", "--format", "tsv", "--alignment").out.splitlines()
    assert [len(line.split("\t")) for line in tsv] == [3, 3, 3]
    assert re.fullmatch(r"\w+\t-\d+\.\d{6}\t0-0", tsv[0])
    best = run("predict", str(runs["pairs"]), "in.txt", "--n-best", "5", "--scores").out.splitlines()
    assert [line.split("\t")[0] for line in best] == ["1"] * 5 + ["2"] + ["3"] * 5
    found = run("predict", str(runs["pairs"]), "in.txt", "--format", "jsonl", "--scores", "--n-best", "2").out
    first, empty, _ = (json.loads(line) for line in found.splitlines())
    assert first["text"] == best[0].split("\t")[1]
    assert len(first["n_best"]) == 2
    assert sum(score for _, score in first["pieces"]) == pytest.approx(first["log_prob"])
    assert (empty["text"], empty["score"]) == ("", 0.0)


def test_labels(place: Path, runs: Runs) -> None:
    Path("in.txt").write_text("good film\nso so nice\n")
    tags = run("predict", str(runs["tags"]), "in.txt").out.splitlines()
    assert [len(line.split(" ")) for line in tags] == [2, 3]
    classes = run("predict", str(runs["classes"]), "in.txt", "--n-best", "2", "--scores").out.splitlines()
    assert sum(float(line.split("\t")[2]) for line in classes[:2]) == pytest.approx(1.0, abs=1e-5)


def test_the_score_of_a_label_is_its_probability_in_every_format(place: Path, runs: Runs) -> None:
    Path("in.txt").write_text("good film\n\n")
    for name in "tags", "classes":
        columns = run("predict", str(runs[name]), "in.txt", "--format", "tsv").out.splitlines()
        objects = [
            json.loads(one) for one in run("predict", str(runs[name]), "in.txt", "--format", "jsonl").out.splitlines()
        ]
        assert [one["score"] for one in objects] == pytest.approx(
            [float(line.split("\t")[1]) for line in columns], abs=1e-6
        )
        assert [one["probability"] for one in objects] == [one["score"] for one in objects]
        assert objects[1]["score"] == 1


def test_how_it_writes(place: Path, runs: Runs) -> None:
    words = ("predict", str(runs["pairs"]), "in.txt", "--set", "generation.shortest=5")
    first = run(*words, "--sample").out
    assert first == run(*words, "--sample").out
    assert first != run(*words, "--sample", "--set", "generation.seed=3").out
    assert all(len(line) >= 5 or not line for line in run(*words, "--beam", "2").out.splitlines())
    both = run(
        "predict", str(runs["pairs"]), "in.txt", "--ensemble", str(runs["other"]), "--set", "generation.longest=9"
    )
    assert both.code == 0, both.error
    assert len(both.out.splitlines()) == 3


def test_wishes_of_json_lines(place: Path, runs: Runs) -> None:
    lines = [{"source": "abc", "prefix": "ee", "id": "x"}, {"source": "abc", "must": ["hh"]}, {"source": "abc"}]
    Path("in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = run("predict", str(runs["pairs"]), "in.jsonl", "--input", "jsonl", "--format", "jsonl")
    first, second, _ = (json.loads(line) for line in ran.out.splitlines())
    assert first["text"].startswith("ee")
    assert first["id"] == "x"
    assert "hh" in second["text"]
    Path("in.jsonl").write_text('{"source": "abc"}\n{"source": "abc", "prefix": "Ж"}\n{"source": "abc"}\n')
    ran = run("predict", str(runs["pairs"]), "in.jsonl", "--input", "jsonl")
    assert ran.code == 2
    assert re.search(r"in\.jsonl:2: prefix 'Ж': the model cannot write it, .*; leave it out \(--skip-bad", ran.error)
    assert len(ran.out.splitlines()) == 1  # what comes before it
    ran = run("predict", str(runs["pairs"]), "in.jsonl", "--input", "jsonl", "--skip-bad")
    assert ran.code == 0
    first_line, bad, last_line = ran.out.splitlines()
    assert bad == ""
    assert first_line == last_line != ""
    assert "1 line could not be answered" in ran.error


def test_mistakes(place: Path, runs: Runs) -> None:
    pairs = str(runs["pairs"])
    refused(run("predict", "runs/none"), r"runs/none: there is no such run")
    refused(run("predict", "."), r"holds no run")
    refused(run("predict", pairs, "in.tx"), r"in\.tx: no such file; did you mean in\.txt\?")
    refused(run("predict", pairs, "."), r"\.: a folder; name the files in it")
    refused(run("predict", pairs, "in.txt", "--set", "model.width=3"), r"--set model\.width=3: a run is what it is")
    refused(run("predict", pairs, "in.txt", "--set", "generation.beem=3"), r"did you mean 'beam'\?")
    refused(run("predict", pairs, "in.txt", "--beam", "0"), r"--beam 0: a whole number .at least 1. is needed")
    refused(run("predict", pairs, "in.txt", "--format", "xml"), r"--format xml: 'text', 'tsv' or 'jsonl' is needed")
    refused(
        run("predict", pairs, "in.txt", "--device", "moon"),
        r"--device = 'moon' cannot be used: there is no such device; take auto\b[^;]{0,20}$",
    )
    refused(run("predict", pairs, "in.txt", "--ensemble", str(runs["sentences"])), r"has another vocabulary")
    refused(run("predict", str(runs["tags"]), "in.txt", "--alignment"), r"--alignment: no layer of this model looks")
    refused(run("predict", pairs, "in.txt", "--out", "in.txt"), r"in\.txt: is what is read")
    Path("there.txt").write_text("mine")
    refused(run("predict", pairs, "in.txt", "--out", "there.txt"), r"there\.txt: exists already")
    assert Path("there.txt").read_text() == "mine"
    assert run("predict", pairs, "in.txt", "--out", "there.txt", "--force").code == 0
    assert Path("there.txt").read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seed", "3"], "--seed: is no option of predict, but a setting: --set generation.seed=3"),
        (["--no-repeat=2"], "--no-repeat: is no option of predict, but a setting: --set generation.no_repeat=2"),
        (["--temperature", "--sample"], "a setting: --set generation.sample.temperature=…"),
        (["--rerank", "mbr"], "a setting: --set generation.rerank.kind=mbr"),
        (["--length=mean"], "a setting: --set generation.length.kind=mean"),
        (["--candidates"], "a setting: --set generation.rerank.candidates=…"),
        (["--nonsense"], "No such option: --nonsense"),
        (["--set", "generation.sample.seed=3"], "has no setting 'seed'; did you mean generation.seed?"),
    ],
)
def test_settings_that_are_no_options(place: Path, runs: Runs, words: list[str], message: str) -> None:
    refused(run("predict", str(runs["pairs"]), "in.txt", *words), re.escape(message))


def test_who_sets_how_to_draw_is_told_that_it_draws(place: Path, runs: Runs) -> None:
    words = "predict", str(runs["pairs"]), "in.txt", "--set", "generation.sample.temperature=0.8"
    told = "--set generation.sample.temperature=0.8: answers are drawn by chance, as with --sample; "
    ran, asked_for = run(*words), run(*words, "--sample")
    assert (ran.code, ran.out) == (0, asked_for.out)
    assert told in ran.error
    assert told not in asked_for.error


def test_who_knows_of_a_recipe_that_draws_is_told_nothing(
    place: Path, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = tmp_path / "drawing"
    shutil.copytree(runs["pairs"], drawing)
    recipe = drawing / "recipe.toml"
    recipe.write_text(recipe.read_text() + "\n[generation.sample]\ntemperature = 0.9\n")
    ran = run("predict", str(drawing), "in.txt", "--set", "generation.sample.temperature=0.8")
    assert ran.code == 0
    assert "drawn by chance" not in ran.error


def test_the_same_again(place: Path, runs: Runs) -> None:
    words = "predict", str(runs["pairs"]), "in.txt", "--out", "out.txt"
    assert run(*words).code == 0
    again = run(*words)
    assert (again.code, again.out) == (0, "")
    assert "already done: " in again.error
    refused(run(*words, "--beam", "2"), r"out\.txt: was written with another generation\.beam; name another --out")


def test_somebody_types(place: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is answered at once; one that cannot be is told, and the next one awaited."""
    typed(monkeypatch, '{"source": "abc"}\nnonsense\n{"source": "hgf"}\n', terminal=True)
    ran = run("predict", str(runs["pairs"]), "--input", "jsonl")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 2
    assert "type a line, Ctrl-D ends" in ran.error
    assert "not JSON" in ran.error


def test_ctrl_c(place: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: job._Job, window: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(job._Job, "answer", stop)
        ran = run("predict", str(runs["pairs"]), "in.txt", "--out", "out.txt")
    assert (ran.code, ran.out) == (130, "")
    assert "stopped; the same command goes on with out.txt.part" in ran.error
    assert run("predict", str(runs["pairs"]), "in.txt", "--out", "out.txt").code == 0
    assert len(Path("out.txt").read_text().splitlines()) == 3


@pytest.mark.slow
def test_who_reads_the_answers_goes_away(place: Path, runs: Runs) -> None:
    Path("in.txt").write_text("abc\n" * 20_000)
    code = "from seqloom.cli import main; main()"
    words = [sys.executable, "-c", code, "predict", str(runs["classes"]), "in.txt"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_the_run_comes_first(place: Path, runs: Runs) -> None:
    name = runs["pairs"]
    refused(
        run("predict", "in.txt", str(name)),
        rf"{name}: is a run, and the run comes first: seqloom predict {name} in.txt",
    )
    refused(run("predict", "it's", str(name)), rf"the run comes first: echo .* \| seqloom predict {name}")
    refused(run("predict", "nothing", "in.txt"), "nothing: there is no such run")
    refused(run("predict", 300 * "long ", "in.txt"), "cannot be read: File name too long")


def test_a_file_instead_of_its_run(place: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    name = runs["pairs"]
    for file in (name / "model.safetensors", next((name / "vocabulary").iterdir())):
        refused(run("predict", str(file), "in.txt"), rf"{file}: is a file; name the folder of a run: {name}\n")
    refused(run("predict", "in.txt"), r"in\.txt: is a file; name the folder of a run, as `seqloom train` leaves it\n")
    monkeypatch.chdir(name.parent.parent)
    Path("pairs.test.tsv").write_text("")
    refused(run("predict", "pairs.test.tsv"), r"pairs\.test\.tsv: is a file; name the folder of a run: runs/pairs\n")


def test_a_run_that_is_still_training(place: Path, runs: Runs) -> None:
    with RunFolder(runs["pairs"]).locked():
        ran = run("predict", str(runs["pairs"]), "in.txt")
    assert ran.code == 0
    assert ran.error == f"{runs['pairs']}: still training: the best model so far\n"


def test_the_beam_that_is_not_named(place: Path, runs: Runs) -> None:
    assert "Else the recipe's, or 4." in " ".join(run("predict", "--help").out.split())
    refused(
        run("predict", str(runs["pairs"]), "in.txt", "--n-best", "3", "--beam", "2"), "^--n-best 3: 3 answers cannot"
    )


def test_the_settings_that_help_shows(place: Path, runs: Runs) -> None:
    """Each can be set as it stands there."""
    text = run("predict", "--help").out
    text = text[text.index("How answers are found") : text.index("Arguments:")]
    shown = re.findall(r"\bgeneration\.[\w.]+=[\w.]+", text)
    shown += [f"generation.sample.{each}" for each in re.findall(r"\b(?:top_k|top_p|min_p)=[\d.]+", text)]
    names = {each.split(".")[1].partition("=")[0] for each in shown}
    assert names == {"sample", "seed", "rerank", "groups", "diversity", "no_repeat", "shortest", "longest", "length"}
    opened = seqloom.load(runs["pairs"]).opened[0]
    for each in shown:
        assert generation_of(opened, [each]) != generation_of(opened), each


def test_a_column(place: Path, runs: Runs) -> None:
    Path("tabs.txt").write_text("abc\tx\n\nhgf\ty\n")
    whole, first = (run("predict", str(runs["pairs"]), "tabs.txt", *more) for more in ([], ["--column", "1"]))
    assert (first.out, first.error) == (run("predict", str(runs["pairs"]), "in.txt").out, "")
    assert "tabs.txt: has tabs" in whole.error


def test_a_table(place: Path, runs: Runs) -> None:
    """Of the run's own column, or another; one answer a row, though rows go over lines."""
    rows = ["good film", "dull, so\ndull", 'a "nice" plot'] * 10
    with Path("table.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerows([("id", "body", "gold"), *((at, row, "abc"[at % 2]) for at, row in enumerate(rows))])
    recipe = write_recipe(Path("r.toml"), text=RECIPES["classes"][0].replace("steps = 60", "steps = 2"))
    columns = "--source", "body", "--target", "gold"
    ran = run("train", str(recipe), "--data", "table.csv", *columns, "--out", "runs/own")
    assert ran.code == 0, ran.error
    said = "".join(f"{answer}\n" for answer in seqloom.load("runs/own").predict(rows))
    for more in [], ["--column", "body"], ["--column", "2"]:
        ran = run("predict", "runs/own", "table.csv", *more)
        assert (ran.code, ran.out) == (0, said), ran.error
    assert len(run("predict", "runs/own", "table.csv", "--column", "gold").out.splitlines()) == len(rows)
    refused(
        run("predict", str(runs["classes"]), "table.csv"),
        r"^table\.csv:1: 3 columns \(1: 'id', 2: 'body', 3: 'gold'\); which is answered\? Say --column COL",
    )
    refused(run("predict", str(runs["pairs"]), "in.txt", "--column", "body"), "^--column body: a number from 1 is need")
    refused(run("predict", str(runs["pairs"]), "in.txt", "--column", "0"), "^--column 0: a number from 1 is needed")


def test_the_columns_that_training_took(place: Path) -> None:
    """Names that say nothing: the first two columns are read, and so they are when it is asked."""
    rows = [f"{'good' if at % 2 else 'dull'} film {'so ' * (at // 2)}" for at in range(20)]
    Path("table.csv").write_text("body,gold\n" + "".join(f"{row},{at % 2}\n" for at, row in enumerate(rows)))
    recipe = write_recipe(Path("r.toml"), text=RECIPES["classes"][0].replace("steps = 60", "steps = 2"))
    ran = run("train", str(recipe), "--data", "table.csv", "--out", "runs/own")
    assert ran.code == 0, ran.error
    wanted = run("predict", "runs/own", "table.csv", "--column", "body").out
    ran = run("predict", "runs/own", "table.csv")
    told = "table.csv:1: 2 columns (1: 'body', 2: 'gold'): 1 is answered, as in training; another: --column COL\n"
    assert (ran.code, ran.out, ran.error) == (0, wanted, told)
    assert len(wanted.splitlines()) == len(rows)


def test_a_table_through_a_pipe(place: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a file: it is hinted at, and what the hint says answers it."""
    table, classes = 'label,text\nx,"good, so\ngood"\ny,dull\n', str(runs["classes"])
    Path("in.csv").write_text(table)
    wanted = run("predict", classes, "in.csv").out
    assert len(wanted.splitlines()) == 2
    typed(monkeypatch, table)
    hint = "standard input: looks like CSV, and lines are read whole; one column alone"
    assert f"{hint}: seqloom predict {classes} - --input csv\n" in run("predict", classes).error
    for more in [], ["--column", "text"], ["--column", "2"]:
        typed(monkeypatch, table)
        ran = run("predict", classes, "-", "--input", "csv", *more)
        assert (ran.code, ran.out) == (0, wanted)
        assert "CSV" not in ran.error
    typed(monkeypatch, "label\ttext\nx\tgood film\ny\tdull film\n")
    ran = run("predict", classes, "--input", "tsv")
    assert (ran.code, len(ran.out.splitlines()), ran.error) == (0, 2, "")
    assert len(run("predict", classes, "in.csv", "--input", "text").out.splitlines()) == 4


def test_words_with_tags(place: Path, runs: Runs) -> None:
    Path("in.conll").write_text("good A\nfilm N\n\nnot A\n")
    ran = run("predict", str(runs["tags"]), "in.conll")
    assert [len(line.split()) for line in ran.out.splitlines()] == [2, 1]
    refused(run("predict", str(runs["pairs"]), "in.conll"), r"^in\.conll: words with tags, which a tagger reads; for")


def test_settings_that_change_nothing(place: Path, runs: Runs) -> None:
    for name, options, message in (
        ("classes", ["--sample"], "^--sample: a classifier chooses among its labels; leave it out"),
        ("tags", ["--n-best", "2"], "^--n-best 2: a tagger gives each word its likeliest tag; leave it out"),
        ("pairs", ["--sample", "--beam", "8"], "^--beam 8: answers are drawn by chance, and there is no beam"),
    ):
        refused(run("predict", str(runs[name]), "in.txt", *options), message)


def test_json_that_is_read_as_text(place: Path, runs: Runs) -> None:
    command = f"seqloom predict {runs['pairs']} in.txt --input jsonl"
    hint = f"in.txt: has JSON, and lines are read as text; its sources alone: {command}"
    short = "--set", "generation.longest=3"
    for key in "source", "text":
        Path("in.txt").write_text(f'{{"{key}": "abc"}}\n' * 3)
        ran = run("predict", str(runs["pairs"]), "in.txt", *short)
        assert (ran.code, len(ran.out.splitlines()), ran.error.count(hint)) == (0, 3, 1)
        assert hint not in run("predict", str(runs["pairs"]), "in.txt", "--input", "jsonl").error
    Path("in.txt").write_text('{"abc": 3}\n{a}\n{"source"\n[1]\n')
    assert hint not in run("predict", str(runs["pairs"]), "in.txt", *short).error


def test_json_that_one_trains_on(place: Path, runs: Runs) -> None:
    """By the file's name; as text only where that is said."""
    wanted = run("predict", str(runs["pairs"]), "in.txt").out
    Path("in.jsonl").write_text('{"source": "abc", "target": "x"}\n\n{"target": "y", "source": "hgf"}\n')
    for more in [], ["--input", "jsonl"], ["--column", "source"]:
        ran = run("predict", str(runs["pairs"]), "in.jsonl", *more)
        told = "in.jsonl: the source is 'source'; other keys are not read: 'target'\n"
        assert (ran.code, ran.out, ran.error) == (0, wanted, told)
    assert "has JSON" in run("predict", str(runs["pairs"]), "in.jsonl", "--input", "text").error


def test_a_nul_that_json_spells(place: Path, runs: Runs) -> None:
    Path("in.jsonl").write_text('{"source": "a\\u0000b"}\n')
    words = "predict", str(runs["pairs"]), "in.jsonl", "--input", "jsonl"
    refused(run(*words), r"in\.jsonl:1: a NUL byte at column 2; remove it \(--skip-bad leaves such answers empty\)")
