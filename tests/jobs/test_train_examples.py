"""Which examples are learnt from and validated on; few, long and odd ones."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from seqloom.jobs.check import check
from seqloom.jobs.deciding.asked import Command
from seqloom.jobs.train import train
from seqloom.settings import UserError
from tests.jobs.run import write_pairs, write_recipe
from tests.jobs.shapes import write_text
from tests.jobs.whole_run import QUICK, run_again, run_of


def test_learned_positions_bound_examples_and_answers(pairs: Path) -> None:
    changes = {"model.positions": '{ kind = "learned", length = 5 }', "training.steps": 2}
    trained = run_again(set=changes)
    assert any("longer than 4 tokens (model.positions.length)" in note for note in trained.corpora.notes)
    assert trained.corpora.train[0].cache.totals.longest["source"] == 4


@pytest.mark.parametrize(("how", "done"), [("skip", "left out"), ("truncate", "cut")])
def test_too_long_documents_are_counted(place: Path, how: str, done: str) -> None:
    write_text(place / "a.txt")
    changes = {"task.lines": "documents", "task.context": 20, "data.too_long": how, "training.steps": 1}
    trained = run_of("a.txt", set=changes)
    (note,) = trained.corpora.notes
    assert note.endswith(f" {done}: longer than 20 tokens (task.context)")
    assert note in (trained.run.card).read_text()


def test_nothing_left_to_train_or_test_on(pairs: Path) -> None:
    with pytest.raises(UserError, match=r"pairs.tsv: no example is left to train on\n.*300 left out: longer than 1 "):
        run_again(set={"data.longest": 1})
    (pairs / "long.tsv").write_text("abcabcabc\tabcabcabc\n")
    with pytest.raises(UserError, match=r"long.tsv: no example is left to test on\n"):
        run_again(test=("long.tsv",), set={"data.longest": 8})


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"data.longest": 8}, "--set data.longest=210"),
        ({"data.longest_source": 8}, "--set data.longest_source=210"),
        ({"model.positions": '{ kind = "learned", length = 9 }'}, "--set model.positions.length=211"),
        (
            {"model.positions": '{ kind = "learned", length = 9 }', "data.longest": 100},
            "--set data.longest=210 --set model.positions.length=211",
        ),
    ],
)
def test_a_command_keeps_what_is_too_long(place: Path, changes: dict[str, object], fix: str) -> None:
    """For the limit that is the reason; with the command there is something to train on."""
    (place / "long.tsv").write_text("".join(f"{'abcdefg'[n % 7] * (202 - n % 3)}\tab\n" for n in range(60)))
    write_recipe(place / "r.toml")
    changes |= {"training.steps": 1}
    with pytest.raises(UserError, match=f"no example is left to train on\n(.*\n)*to keep them: {fix}$"):
        run_of("long.tsv", recipe="r.toml", set=changes)
    more = dict(change.split("=") for change in fix.removeprefix("--set ").split(" --set "))
    assert run_of("long.tsv", recipe="r.toml", set=changes | more).corpora.examples


@pytest.mark.parametrize("count", [2, 5, 30])
def test_few_examples_are_enough(place: Path, count: int) -> None:
    (place / "few.tsv").write_text("".join(f"{chr(97 + n % 26) * (1 + n // 26)}\tb\n" for n in range(count)))
    write_recipe(place / "r.toml")
    trained = run_of("few.tsv", recipe="r.toml", set={"training.steps": 1})
    assert sum(map(len, trained.corpora.valid)) >= 1
    assert trained.corpora.examples + sum(map(len, trained.corpora.valid)) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", r"few.tsv: too few examples \(1\) to keep some .*: --valid FILE"),
        ("a\tb\n" * 500, "few.tsv: all 500 examples have the same source, .*; give a file of their own: --valid FILE"),
    ],
)
def test_nothing_to_validate_on(place: Path, text: str, message: str) -> None:
    (place / "few.tsv").write_text(text)
    write_recipe(place / "r.toml")
    with pytest.raises(UserError, match=message):
        run_of("few.tsv", recipe="r.toml")
    (found,) = [one.title for one in check(Command("r.toml", ("few.tsv",))).report.findings if one.severity == "fault"]
    assert re.match(message, found)


def test_a_text_of_one_line(place: Path) -> None:
    words = random.Random(1).choices(["to", "be", "or", "not"], k=20_000)
    (place / "a.txt").write_text(" ".join(words))
    trained = run_of("a.txt", set={"training.steps": 1, "training.batch": 500})
    tokens = [sum(cache.totals.tokens["target"] for cache in trained.corpora.valid), trained.corpora.tokens("target")]
    assert tokens[0] == pytest.approx(0.05 * sum(tokens), rel=0.01)


def test_a_text_of_a_few_letters(place: Path) -> None:
    (place / "a.txt").write_text("ab")
    with pytest.raises(UserError, match=r"a.txt: too short a text to keep some of it for validation; give more"):
        run_of("a.txt", set={"training.steps": 1})


def test_a_validation_text_without_a_goal(place: Path) -> None:
    write_text(place / "a.txt")
    (place / "v.txt").write_text("\n")
    with pytest.raises(UserError, match=r"^v.txt: no example is left to validate on$"):
        run_of("a.txt", valid=("v.txt",), set={"training.steps": 1})


def test_labels_that_only_validation_has(place: Path) -> None:
    (place / "a.tsv").write_text("good one\tpos\nbad one\tneg\n" * 20)
    (place / "v.tsv").write_text("good one\tpos\n" + "so so\tother\n" * 3)
    changes = {"task.kind": "classify", "training.steps": 1}
    trained = run_of("a.tsv", valid=("v.tsv",), set=changes)
    assert "v.tsv: 3 labels that training never sees (other): counted as wrong" in trained.corpora.notes
    assert trained.scores["accuracy"] in (0.0, 25.0)
    (place / "w.tsv").write_text("so so\tother\n" * 3)
    with pytest.raises(UserError, match=r"w.tsv: nothing to validate on: training sees none of its labels \(other\)"):
        run_of("a.tsv", valid=("w.tsv",), set=changes, out="other")


def test_labels_that_each_one_example_has(place: Path) -> None:
    (place / "a.tsv").write_text("".join(f"words {n}\tlabel {n}\n" for n in range(100)))
    with pytest.raises(UserError, match=r"a.tsv: nothing to validate on: no label that is held out"):
        run_of("a.tsv", set={"task.kind": "classify", "training.steps": 1})


def test_a_corpus_of_which_nothing_is_left_beside_another(pairs: Path) -> None:
    (pairs / "long.tsv").write_text("abcabcabc\tabcabcabc\n" * 3)
    trained = run_of(
        "pairs.tsv",
        "long.tsv",
        recipe="r.toml",
        set={"data.longest": 8, "training.batch": '"auto"', "training.steps": 1},
    )
    assert [len(part.cache) for part in trained.corpora.train] == [len(trained.corpora.train[0].cache), 0]


def test_few_examples_to_validate_on_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = str(write_recipe(place / "r.toml"))
    write_pairs(place / "few.tsv", count=40)
    write_pairs(place / "many.tsv", count=1000)
    train(Command(recipe=recipe, data=("few.tsv",), out=Path("few"), changes=QUICK), view="lines")
    assert "to validate on: a score of so few says little; give more: --valid FILE, or" in capsys.readouterr().err
    train(Command(recipe=recipe, data=("many.tsv",), out=Path("many"), changes=QUICK), view="lines")
    assert "says little" not in capsys.readouterr().err


@pytest.mark.parametrize("cut", ["two", "zwei", ""])
@pytest.mark.parametrize("aligned", [True, False])
def test_text_that_is_cut_already_is_told(
    place: Path, capsys: pytest.CaptureFixture[str], cut: str, aligned: bool
) -> None:
    """By the file that is cut, on either side; what joins it is told where a line holds nothing else."""
    lines = {side: [f"{side} ma{'@@ ' if side == cut else ''}les {n}\n" for n in range(40)] for side in ("two", "zwei")}
    for side, texts in lines.items():
        (place / f"a.{side}").write_text("".join(texts))
    (place / "a.tsv").write_text("".join(f"{x.strip()}\t{y}" for x, y in zip(*lines.values(), strict=True)))
    data = ("a.two", "a.zwei") if aligned else ("a.tsv",)
    train(Command(data=data, changes=("training.steps=1",)), view="lines")
    told = [line for line in capsys.readouterr().err.splitlines() if "cut into pieces" in line]
    why = "cut into pieces already ('ma@@ les'): give plain text, as seqloom cuts words itself"
    wanted = f"a.{cut}: {why}: sed -E 's/@@( |$)//g'" if aligned else f"a.tsv: {why}"
    assert told == ([wanted] if cut else [])


def test_files_that_are_trained_on_and_scored_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = str(write_recipe(place / "r.toml"))
    write_pairs(place / "a.tsv", count=60)
    write_pairs(place / "b.tsv", count=50)
    (place / "copy.tsv").write_bytes((place / "a.tsv").read_bytes())
    command = Command(recipe=recipe, data=("b.tsv", "a.tsv"), valid=("copy.tsv",), test=("a.tsv",), changes=QUICK)
    train(replace(command, out=Path("one")), view="lines")
    told = capsys.readouterr().err
    assert (
        "copy.tsv: is trained on too, so that validation chooses what was learnt by heart; name another --valid, or "
        "none: then a part is held out\n"
    ) in told
    assert "a.tsv: is trained on too, so that the test says little of others; name another --test\n" in told
    train(replace(command, data=("b.tsv",), out=Path("other")), view="lines")
    told = capsys.readouterr().err
    assert "is trained on too" not in told
    chose = "is validated on too, so that the test is of what chose the model; name another --test\n"
    assert f"a.tsv: {chose}" in told
    write_pairs(place / "c.tsv", count=40)
    train(replace(command, data=("b.tsv",), test=("c.tsv",), out=Path("last")), view="lines")
    assert chose not in capsys.readouterr().err
