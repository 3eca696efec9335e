"""`seqloom train` as a person calls it: what goes wrong is said in a few lines, and nothing is written over."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seqloom.cli import spread
from seqloom.jobs.deciding import decide
from seqloom.layers.native import library
from seqloom.training import loop as loop_module
from tests.cli.run import Ran, run
from tests.jobs.run import write_pairs, write_recipe
from tests.jobs.shapes import write_text


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "pairs.tsv")
    write_recipe(tmp_path / "r.toml")
    return tmp_path


def _train(*words: str) -> Ran:
    return run("train", *words)


def _refused(place: Path, ran: Ran, *messages: str) -> None:
    """Code 2, a few lines, no traceback, and no run."""
    assert ran.code == 2, ran
    assert ran.out == ""
    assert "Traceback" not in ran.error
    assert len(ran.error.splitlines()) <= 5, ran.error
    for message in messages:
        assert re.search(message, ran.error), ran.error
    assert not list(place.glob("runs/*"))


def test_it_trains_and_prints_its_scores(place: Path) -> None:
    ran = _train("--data", "pairs.tsv", "r.toml", "--out", "runs/x", "--set", "training.steps=2")
    assert ran.code == 0, ran.error
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == [
        f"validation {name}" for name in ("loss", "exact", "chrf")
    ]
    assert "300" not in ran.out
    assert "run folder: runs/x" in ran.error
    assert "\nthese scores are of greedy answers; predict and evaluate search with a beam\n" in ran.error
    assert ran.error.endswith("next: seqloom predict runs/x\n")


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ((), None),
        (("smoothing=0.1",), "the training loss includes label smoothing (0.1); the validation loss does not"),
        (
            ("smoothing=0.1", "r_drop=2"),
            "the training loss includes label smoothing (0.1) and R-Drop (2); the validation",
        ),
    ],
)
def test_losses_that_are_not_alike_are_told(place: Path, terms: tuple[str, ...], told: str | None) -> None:
    changes = [part for term in ("smoothing=0", "steps=1", *terms) for part in ("--set", f"training.{term}")]
    ran = _train("--data", "pairs.tsv", "r.toml", "--out", "runs/x", *changes)
    assert ran.code == 0, ran.error
    assert told in ran.error if told else "training loss includes" not in ran.error


def test_waiting_for_a_compiler_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "wait_for_all", lambda: library._tell("kernels are compiled"))
    ran = _train("--data", "pairs.tsv", "r.toml", "--out", "runs/x", "--set", "training.steps=2")
    assert ran.code == 0, ran.error
    assert ran.error.startswith("kernels are compiled\n")
    assert "compiled" not in ran.out


# name, what it holds, and the message
BAD: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.tsv", b"", r"a\.tsv: no example in it \(empty\)"),
    "not UTF-8": ("a.tsv", b"a\tb\nc\xe9\td\n", r"a\.tsv:2: not UTF-8 text \(byte 0xe9 at column 2\)"),
    "binary": ("a.tsv", b"\x7fELF\x02\x00\x00\n\x00", r"a\.tsv:1: a binary file"),
    "zipped": ("a.tsv", b"PK\x03\x04rest", r"a\.tsv: this is a zip or office file"),
    "one column": ("a.tsv", b"a\tb\nc\n", r"a\.tsv:2: .*"),
    "one empty": ("a.tsv", b"a\tb\n\tc\n", r"a\.tsv:2: the source is empty, but the target is not"),
    "ragged": ("a.csv", b"source,target\na,b\nc\nd,e\n", r"a\.csv:3: "),
    "open quote": ("a.csv", b'source,target\na,"b\nc,d\n', r"a\.csv:2: "),
    "broken JSON": ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n', r"a\.jsonl:2: "),
    "no such key": ("a.jsonl", b'{"x": "a", "y": "b", "z": "c"}\n', r"a\.jsonl:1: which column is the source\?"),
    "a number": ("a.jsonl", b'{"source": 1, "target": "b"}\n', r"a\.jsonl:1: the source should be text"),
    "not Parquet": ("a.parquet", b"nothing of the kind", r"a\.parquet"),
    "spreadsheet": ("a.xlsx", b"PK", r"a\.xlsx: .*save the table as CSV"),
}


@pytest.mark.parametrize("recipe", [True, False], ids=["recipe", "none"])
@pytest.mark.parametrize("case", BAD)
def test_bad_files(place: Path, case: str, recipe: bool) -> None:
    name, content, message = BAD[case]
    (place / name).write_bytes(content)
    words = ["r.toml"] if recipe else []
    _refused(place, _train(*words, "--data", name), message)
    assert (place / name).read_bytes() == content


def test_a_missing_file_makes_no_folder(place: Path) -> None:
    _refused(place, _train("r.toml", "--data", "none.tsv"), r"none\.tsv: .*no such file")
    _refused(place, _train("--data", "none.tsv"), r"none\.tsv: .*no such file")
    _refused(place, _train("r.toml", "--data", "pairs.tsv", "--valid", "none.tsv"), r"none\.tsv: .*no such file")
    _refused(place, _train("r.toml", "--data", "pairs.tsv", "--test", "none.tsv"), r"none\.tsv: .*no such file")
    _refused(place, _train("r.toml", "--data", "."), r"^\.: ")
    assert not (place / "runs").exists()


def test_one_aligned_file_is_longer(place: Path) -> None:
    (place / "a.en").write_text("one\ntwo\nthree\n")
    (place / "a.de").write_text("eins\nzwei\n")
    _refused(place, _train("r.toml", "--data", "a.en", "a.de"), r"a\.de:3: no such line: a\.de has 2 lines")
    _refused(place, _train("--data", "a.de", "a.en"), r"a\.de:3: no such line: a\.de has 2 lines")


def test_an_absent_column(place: Path) -> None:
    (place / "a.csv").write_text("english,german\na,b\n")
    write_recipe(place / "c.toml", '[[data.corpora]]\nfiles = ["a.csv"]\nsource = "englisch"\ntarget = "german"\n')
    _refused(place, _train("c.toml"), r"a\.csv:1: no column 'englisch'; did you mean 'english'\?")


TAG = '[task]\nkind = "tag"\n[model]\nfamily = "encoder-only"\noutput = { kind = "tags" }\n'
LANGUAGE = '[task]\nkind = "language"\n[model]\nfamily = "decoder-only"\n'


def test_columns_of_the_command_line(place: Path) -> None:
    (place / "three.csv").write_text("id,Deutsch,English\n" + "".join(f"{n},hallo {n},hello {n}\n" for n in range(40)))
    ran = _train("--data", "three.csv", "--out", "r")
    assert (ran.code, ran.error) == (
        2,
        "three.csv:1: 3 columns (1: 'id', 2: 'Deutsch', 3: 'English'); which is the source and which the target? Say "
        "--source COL --target COL (a name, or a number from 1), or source = … and target = … in the recipe's "
        "[[data.corpora]]\n",
    )
    ran = _train(
        "--data", "three.csv", "--source", "English", "--target", "2", "--out", "r", "--set", "training.steps=2"
    )
    assert ran.code == 0
    assert "the first example: 'hello 0' → 'hallo 0'" in ran.error


def test_a_recipe_for_another_task(place: Path) -> None:
    write_recipe(place / "tag.toml", text=TAG)
    (place / "s.tsv").write_text("one word\tand three more\n")
    _refused(place, _train("tag.toml", "--data", "s.tsv"), r"s\.tsv:1: 2 words but 3 tags")
    write_text(place / "plain.txt")
    _refused(place, _train("r.toml", "--data", "plain.txt"), r"^plain\.txt: looks like plain text ")
    (place / "mixed.toml").write_text('[task]\nkind = "tag"\n[model]\nfamily = "decoder-only"\n')
    _refused(place, _train("mixed.toml", "--data", "s.tsv"), r"mixed\.toml:4: .*it needs an encoder-only model")


def test_no_data(place: Path) -> None:
    for words in ([], ["r.toml"]):
        _refused(place, _train(*words), "nothing to train on: name a file with --data")
    for words in (["--data"], ["r.toml", "--data"]):
        _refused(place, _train(*words), "Option '--data' requires an argument")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.stepps=3", r"--set training\.stepps=3: .*did you mean 'steps'\?"),
        ("training.steps=many", r"--set training\.steps=many: "),
        ("training.steps=-1", r"--set training\.steps=-1: "),
        (f"training.steps={10**20 - 1}", r"should be a whole number \(at least 0, at most 1000000000000\), not 9{20}"),
        ("nonsense", r"--set nonsense: should be name=value"),
        ("training.best=rouge", r"--set training\.best=rouge: .*has no score 'rouge'; it has loss, exact, bleu, chrf"),
    ],
)
@pytest.mark.parametrize("recipe", [["r.toml"], []], ids=["recipe", "none"])
def test_bad_settings(place: Path, change: str, message: str, recipe: list[str]) -> None:
    _refused(place, _train(*recipe, "--data", "pairs.tsv", "--set", change), message)


def test_an_example_that_is_longer_than_the_model_allows(place: Path) -> None:
    (place / "r.toml").write_text(
        (place / "r.toml").read_text().replace('"sinusoidal"', '"learned", length = 6').replace("40", "1")
    )
    ran = _train("r.toml", "--data", "pairs.tsv")
    assert ran.code == 0, ran.error
    assert re.search(r"pairs\.tsv: \d+ left out: longer than 5 tokens \(model\.positions\.length\)", ran.error)


def test_out(place: Path) -> None:
    (place / "file").write_text("mine")
    words = ("r.toml", "--data", "pairs.tsv", "--set", "training.steps=1", "--out")
    _refused(place, _train(*words, "file"), "file: is a file; --out names a folder")
    (place / "folder").mkdir()
    (place / "folder" / "thesis.tex").write_text("mine")
    for force in ([], ["--force"]):
        _refused(place, _train(*words, "folder", *force), r"folder: holds other things than a run \(thesis\.tex\)")
    assert [file.name for file in (place / "folder").iterdir()] == ["thesis.tex"]
    assert (place / "file").read_text() == "mine"


def test_a_failure_is_code_1_without_a_traceback(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that are none: the step, the place, the lines; what was saved stays."""
    real = loop_module.Loop.step

    def spoil(self: loop_module.Loop, batches: list[Any]) -> None:
        if self.place.step == 10:
            self.model.get_parameter("source.embedding.weight_VD").data.fill_(float("nan"))
        real(self, batches)

    monkeypatch.setattr(loop_module.Loop, "step", spoil)
    ran = _train("r.toml", "--data", "pairs.tsv", "--out", "runs/x")
    assert (ran.code, ran.out) == (1, "")
    assert "Traceback" not in ran.error
    told = ran.error[ran.error.index("step 11: ") :]
    assert told.startswith("step 11: the loss is no number; the weights source.embedding.weight_VD were not finite")
    assert re.search(r"The batch: pairs\.tsv:\d+, \d+, .* and \d+ more", told)
    assert [folder.name for folder in (place / "runs" / "x" / "state").iterdir()] == ["step-00000008"]
    assert (place / "runs" / "x" / "model.safetensors").exists()


def test_ctrl_c_before_the_first_step(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: loop_module.Loop) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop_module.Loop, "_begin", stop)
    ran = _train("r.toml", "--data", "pairs.tsv")
    assert ran.code == 130
    assert "stopped; the same command goes on from the last checkpoint" in ran.error


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("train --data a b", "train --data a --data b"),
        ("train --data x.tsv recipe.toml", "train --data x.tsv recipe.toml"),
        ("train --data=x recipe.toml", "train --data=x recipe.toml"),
        ("train r.toml --data a b --valid c d --out o", "train r.toml --data a --data b --valid c --valid d --out o"),
        ("train --data a --data b", "train --data a --data b"),
        ("train --data -", "train --data -"),
        ("train --data", "train --data"),
        ("train --data --force", "train --data --force"),
        ("train --test a --force", "train --test a --force"),
        ("train r.toml --set a.b=c", "train r.toml --set a.b=c"),
    ],
)
def test_several_files_behind_one_option(given: str, wanted: str) -> None:
    assert " ".join(spread(given.split())) == wanted


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"]])
def test_help_needs_no_torch(words: list[str]) -> None:
    code = (
        f"import sys; sys.argv[1:] = {words!r}\n"
        "from seqloom.cli import main\n"
        "try: main()\n"
        "finally: assert not {'torch', 'numpy', 'pyarrow'} & set(sys.modules), 'something heavy was imported'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("minutes", ["inf", "nan"])
@pytest.mark.parametrize("verb", [("train", "--data", "pairs.tsv"), ("demo",)])
def test_minutes_that_never_end(place: Path, verb: tuple[str, ...], minutes: str) -> None:
    ran = run(*verb, "--minutes", minutes)
    _refused(place, ran, f"^--minutes {minutes}: a number .* is needed")


def test_mistakes_in_the_words(place: Path) -> None:
    _refused(place, _train("--data", "pairs.tsv", "transformer-base"), "put the recipe before --data")
    _refused(place, _train("--data", os.fsdecode(b"caf\xe9.tsv")), "name is not UTF-8; rename the file")
    _refused(place, _train("r.toml", "--data", "pairs.tsv", "--set", f"training.seed={2**63}"), "training.seed")


def test_another_way_to_write_the_path_goes_on(place: Path) -> None:
    once = ("--out", "run", "--set", "training.steps=1")
    assert _train("r.toml", "--data", "pairs.tsv", *once).code == 0
    again = _train("r.toml", "--data", "./pairs.tsv", *once)
    assert again.code == 0, again.error


def test_from_another_run(place: Path) -> None:
    _refused(
        place, _train("r.toml", "--data", "pairs.tsv", "--from", "nowhere"), "--from nowhere: holds no run; name a"
    )
    steps = "--set", "training.steps=1"
    assert _train("r.toml", "--data", "pairs.tsv", "--out", "one", *steps).code == 0
    ran = _train("--data", "pairs.tsv", "--from", "one", "--out", "two", *steps)
    assert ran.code == 0, ran
    assert "begins from one, with its vocabulary" in ran.error
